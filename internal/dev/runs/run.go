// Package runs reads recorded measurements, one file of docs/runs each, and compares the figures of documents
// with them. Start with [Load]. [Check] returns the figures that do not agree, and [Rewrite] writes the
// recorded values into tables. docs/runs/README.md describes the format of both.
package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Ways in which the values of a run were recorded.
const (
	ByCommand = "by its commands" // .ci/figures all ran them and wrote the values
	ByHand    = "by hand"         // a person ran them and wrote the table
)

// Run is a measurement that can be repeated.
type Run struct {
	Name     string    `json:"-"`     // of the file, without .json
	About    string    `json:"about"` // what is measured, in a line
	Recorded string    `json:"recorded"`
	Sample   bool      `json:"sample,omitempty"` // .ci/figures sample repeats it
	Seeds    []int     `json:"seeds,omitempty"`  // each command runs once with each; none: as it stands
	Commands []Command `json:"commands"`
	// Values are scores by the words that name one: set, task, system, metric and,
	// with Seeds, seed=N. Shares are in hundredths.
	Values map[string]float64 `json:"values,omitempty"`
	// Cells are tables that no program reads, by "row | column", and Said the
	// figures of paragraphs, in order.
	Cells map[string]string `json:"cells,omitempty"`
	Said  []string          `json:"said,omitempty"`
}

// Command is one command of a run, with the time and conditions of its measurement.
type Command struct {
	As      string `json:"as,omitempty"` // words that its keys begin with in place of the name of the set
	Run     string `json:"run"`
	Commit  string `json:"commit"` // the last that changed what was measured
	Date    string `json:"date"`
	Machine string `json:"machine"`
	Sum     string `json:"sum,omitempty"` // of Run, As and the seeds, when it was measured by .ci/figures
}

// SumOf is the value that Command.Sum must have if c need not be measured again.
func (r *Run) SumOf(c Command) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q %q %v", c.As, c.Run, r.Seeds))
	return fmt.Sprintf("%x", h[:4])
}

// Load reads the files of a folder, by name.
func Load(dir string) (map[string]*Run, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]*Run{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		r := &Run{Name: strings.TrimSuffix(filepath.Base(f), ".json")}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(r); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(f), err)
		}
		all[r.Name] = r
	}
	return all, nil
}

// Save writes the file of r in a folder.
func (r *Run) Save(dir string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("run %s: %w", r.Name, err)
	}
	return os.WriteFile(filepath.Join(dir, r.Name+".json"), b.Bytes(), 0o644)
}

// Problems lists what is missing for repeating a run.
func (r *Run) Problems() []string {
	var bad []string
	add := func(format string, args ...any) {
		bad = append(bad, "docs/runs/"+r.Name+".json: "+fmt.Sprintf(format, args...))
	}
	if r.About == "" {
		add("about is empty; say in a line what is measured")
	}
	switch r.Recorded {
	case ByCommand, ByHand:
	default:
		add("recorded is %q; it is %q or %q", r.Recorded, ByCommand, ByHand)
	}
	if len(r.Commands) == 0 {
		add("it has no command, so nobody can repeat it")
	}
	for _, c := range r.Commands {
		switch {
		case c.Run == "":
			add("a command is empty")
		case c.Commit == "" || c.Date == "" || c.Machine == "":
			add("no commit, date or machine for %q; .ci/figures all %s measures it", c.Run, r.Name)
		case r.Recorded == ByCommand && c.Sum != r.SumOf(c):
			add("%q was changed since it was measured; .ci/figures all %s measures it again", c.Run, r.Name)
		}
	}
	if len(r.Values) == 0 && len(r.Cells) == 0 && len(r.Said) == 0 {
		add("it holds no figure")
	}
	if r.Recorded == ByCommand && len(r.Cells)+len(r.Said) > 0 {
		add("cells and said are written by hand; a run that its commands record has values alone")
	}
	return bad
}
