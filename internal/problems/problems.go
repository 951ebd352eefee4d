// Package problems records, in the folder of a database, which files failed, which documents are stale, which
// warnings there were and what was left out. Start with [Write], which replaces the problems of one source, and
// [Summarize], which counts those of all sources.
//
// A source is a folder, a file that was named directly, or standard input. Each has its own file, so that processes
// with different sources do not wait for each other.
package problems

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
)

// Folder is the folder of these files, below the folder of the database.
const Folder = "sync"

// States of a problem.
const (
	Failed = "failed" // nothing of it is stored
	Stale  = "stale"  // what was stored of it before stays as it was
	Warned = "warned" // its text is stored, and something else of it could not be read; or it holds no text, as a scan
)

// Problem is a failure, a stale file or a warning.
type Problem struct {
	State     string `json:"state"`
	Source    string `json:"source,omitempty"`    // the folder, the file or "stdin"; Read and Summarize fill it in
	Path      string `json:"path"`                // below a folder, with slashes; "" is the source itself
	Line      int    `json:"line,omitempty"`      // of the file, from 1; 0 for the whole file
	Documents int    `json:"documents,omitempty"` // that are stale
	Reason    string `json:"reason"`
	Time      string `json:"time"` // when it was first seen: RFC 3339, UTC, in seconds
}

// MaxFailures is how many failures of one file are listed: a file of some megabytes may have millions.
const MaxFailures = 10_000

// More counts those that are not listed, of n.
func More(n int) error {
	return fmt.Errorf("%d more records of this file were not taken over", n-MaxFailures)
}

// LeftOut counts the files of folders that hold no documents.
type LeftOut struct {
	Hidden  int `json:"hidden"`  // files and folders whose name starts with a dot
	Ignored int `json:"ignored"` // what an ignore file or an option names
	Binary  int `json:"binary"`  // files of a known kind that hold no text
	Empty   int `json:"empty"`   // files of a known kind with nothing in them
	Other   int `json:"other"`   // files of other kinds, links and devices, folders of databases
	// BinaryExample is the path, below the folder, of one of the Binary files; "" if there is none.
	BinaryExample string `json:"binary_example,omitempty"`
	// Usual are paths of the first of Ignored that the defaults name, at most MostUsual a folder.
	Usual []string `json:"usual,omitempty"`
	// Kinds are the three most frequent extensions of Other.
	Kinds []Extension `json:"kinds"`
}

// Extension counts files of a kind that is not read.
type Extension struct {
	Extension string `json:"extension"` // with the dot; "" for names without one
	Files     int    `json:"files"`
	Example   string `json:"example"` // path of one of them below its folder
}

// Zero reports whether nothing was left out.
func (l LeftOut) Zero() bool { return l.Hidden+l.Ignored+l.Binary+l.Empty+l.Other == 0 }

// Add adds the counts of another folder.
func (l *LeftOut) Add(o LeftOut) {
	l.Hidden += o.Hidden
	l.Ignored += o.Ignored
	l.Binary += o.Binary
	l.Empty += o.Empty
	l.Other += o.Other
	l.Usual = append(slices.Clone(l.Usual), o.Usual...)
	l.Usual = l.Usual[:min(len(l.Usual), MostUsual)]
	l.BinaryExample = cmp.Or(l.BinaryExample, o.BinaryExample)
	kinds := slices.Clone(l.Kinds)
	for _, k := range o.Kinds {
		if i := slices.IndexFunc(kinds, func(x Extension) bool { return x.Extension == k.Extension }); i >= 0 {
			kinds[i].Files += k.Files
		} else {
			kinds = append(kinds, k)
		}
	}
	l.Kinds = MostFrequent(kinds)
}

// MostUsual is the maximum number of listed paths that the defaults leave out.
const MostUsual = 5

// Now is the present time in the format of problems.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }

// MostFrequent returns the three kinds with the most files.
func MostFrequent(kinds []Extension) []Extension {
	slices.SortFunc(kinds, func(a, b Extension) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Extension, b.Extension))
	})
	return kinds[:min(len(kinds), 3)]
}

// Summary counts what a database lacks.
type Summary struct {
	Failed  int     `json:"failed"`   // problems of state Failed
	Stale   int     `json:"stale"`    // problems of state Stale
	Warned  int     `json:"warned"`   // problems of state Warned
	LeftOut LeftOut `json:"left_out"` // of all folders
	// First are some of the problems: failures, then stale documents, then warnings, each newest first.
	First []Problem `json:"first"`
}

// Total is the number of problems.
func (s Summary) Total() int { return s.Failed + s.Stale + s.Warned }

const (
	version   = 1
	suffix    = ".problems"
	most      = 10_000   // problems that are kept of a source; the counts are of all
	maxFile   = 64 << 20 // bytes
	maxReason = 1_000    // bytes of a reason
	first     = 20       // problems in a summary
)

// head is the first line of a file; a line for each problem follows.
type head struct {
	Version int     `json:"lexsem_problems"`
	Source  string  `json:"source"`
	Failed  int     `json:"failed"`
	Stale   int     `json:"stale"`
	Warned  int     `json:"warned"`
	LeftOut LeftOut `json:"left_out"`
}

func file(db, source string) string {
	sum := sha256.Sum256([]byte(source))
	return filepath.Join(db, Folder, hex.EncodeToString(sum[:12])+suffix)
}

// Write replaces the problems of a source. A source needs no file if it has no problems and left nothing out.
func Write(db, source string, left LeftOut, list []Problem) error {
	path := file(db, source)
	if len(list) == 0 && left.Zero() {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	old, err := load(path)
	if err != nil {
		return err
	}
	was, _ := of(source, old)
	if left.Kinds == nil {
		left.Kinds = []Extension{}
	}
	type key struct {
		path, state, reason string
		line                int
	}
	since := make(map[key]string, len(was))
	for _, p := range was {
		since[key{p.Path, p.State, p.Reason, p.Line}] = p.Time
	}
	list = slices.Clone(list)
	h := head{Version: version, Source: source, LeftOut: left}
	now := Now()
	for i := range list {
		p := &list[i]
		p.Source, p.Reason = "", clip(p.Reason)
		p.Time = cmp.Or(p.Time, now)
		if t, known := since[key{p.Path, p.State, p.Reason, p.Line}]; known {
			p.Time = t
		}
		switch p.State {
		case Failed:
			h.Failed++
		case Stale:
			h.Stale++
		default:
			h.Warned++
		}
	}
	inOrder(list)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return err
	}
	for _, p := range list[:min(len(list), most)] {
		if err := enc.Encode(p); err != nil {
			return err
		}
	}
	if bytes.Equal(old, b.Bytes()) {
		return nil // most syncs change nothing
	}
	if err := private.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, func(f *os.File) error {
		_, err := f.Write(b.Bytes())
		return err
	})
}

// clip cuts a reason at the end of a character.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// inOrder sorts problems by gravity, then newest first.
func inOrder(list []Problem) {
	grave := map[string]int{Failed: 0, Stale: 1, Warned: 2}
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(grave[a.State], grave[b.State]), cmp.Compare(b.Time, a.Time), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}

// Read returns the problems of a source. A missing or damaged file counts as empty, since the next sync writes it
// again.
func Read(db, source string) ([]Problem, LeftOut, error) {
	data, err := load(file(db, source))
	if err != nil {
		return nil, LeftOut{}, err
	}
	list, left := of(source, data)
	return list, left, nil
}

// load is the content of a file, nil if it does not exist.
func load(path string) ([]byte, error) {
	data, err := regular.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; remove the file; it will be made again", err)
	}
	return data, nil
}

// of returns what a file reports about a source.
func of(source string, data []byte) ([]Problem, LeftOut) {
	h, list := parse(data, most)
	if h.Source != source {
		return nil, LeftOut{}
	}
	return list, h.LeftOut
}

// parse reads the head of a file and its first n problems; nothing from a damaged file.
func parse(data []byte, n int) (h head, list []Problem) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxFile)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil || h.Version != version {
		return head{}, nil
	}
	for len(list) < n && lines.Scan() {
		var p Problem
		if json.Unmarshal(lines.Bytes(), &p) != nil {
			return head{}, nil
		}
		p.Source = h.Source
		list = append(list, p)
	}
	if len(list) < min(n, most, h.Failed+h.Stale+h.Warned) {
		return head{}, nil
	}
	return h, list
}

// All returns the problems of all sources of a database.
func All(db string) (list []Problem, left LeftOut, err error) {
	s, list, err := all(db, most)
	return list, s.LeftOut, err
}

// Summarize counts the problems of all sources of a database.
func Summarize(db string) (Summary, error) {
	s, list, err := all(db, first)
	s.First = append([]Problem{}, list[:min(len(list), first)]...)
	return s, err
}

func all(db string, n int) (s Summary, list []Problem, err error) {
	s.LeftOut.Kinds = []Extension{}
	entries, err := os.ReadDir(filepath.Join(db, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return s, nil, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		data, err := load(filepath.Join(db, Folder, e.Name()))
		if err != nil {
			return s, nil, err
		}
		h, some := parse(data, n)
		s.Failed, s.Stale, s.Warned = s.Failed+h.Failed, s.Stale+h.Stale, s.Warned+h.Warned
		s.LeftOut.Add(h.LeftOut)
		list = append(list, some...)
	}
	inOrder(list)
	return s, list, nil
}
