package command

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// foreignFile is a line of testdata/foreign.py.
type foreignFile struct {
	File  string
	Words []string // of its text, for a search
	Named string   // part of the reason why it has none, or "left out"
	May   string   // part of a warning that is no fault
}

// TestForeignFiles: of more than 200 files of more than 20 kinds, which other programs make now, a search finds each word that
// was put in, or the database says why not: none is lost, none is unnamed. LEXSEM_FILES_PYTHON is an interpreter with nbformat,
// openpyxl, python-docx, python-pptx, reportlab and pyarrow. Files of what is not installed are not made, which is logged.
func TestForeignFiles(t *testing.T) {
	if !trial.Long() {
		t.Skip("other programs make its files for a minute; LEXSEM_LONG=1 runs it")
	}
	python, err := exec.LookPath(cmp.Or(os.Getenv("LEXSEM_FILES_PYTHON"), "python3"))
	if err != nil {
		t.Skip("NOT TESTED: no python3 makes its files")
	}
	dir, db := t.TempDir(), filepath.Join(t.TempDir(), "db")
	maker := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "foreign.py"), dir)
	var lacks strings.Builder
	maker.Stderr = &lacks
	list, err := maker.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, lacks.String())
	}
	all, kinds := map[string]foreignFile{}, map[string]bool{}
	for line := range strings.Lines(string(list)) {
		var f foreignFile
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[f.File], kinds[path.Ext(f.File)] = f, true
	}
	if t.Logf("%d files with %d endings\n%s", len(all), len(kinds), lacks.String()); lacks.Len() == 0 && (len(all) < 200 || len(kinds) < 20) {
		t.Error("these are too few")
	}

	printed(t, "", "index", "--db", db, "--model", "hash-8", "--skip-bad", dir)
	var now problemsSummary
	if err := json.Unmarshal([]byte(printed(t, "", "index", "--db", db, "--problems", "--json")), &now); err != nil {
		t.Fatal(err)
	}
	named := map[string][]string{}
	for _, p := range now.Problems {
		named[p.Path] = append(named[p.Path], p.Reason)
	}
	e, err := engine.Open(t.Context(), db, encoder.NewHash(8), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	leftOut := 0
	for _, f := range all {
		switch reasons := strings.Join(named[f.File], "; "); {
		case f.Named == "left out":
			leftOut++
			continue
		case f.Named != "" && !strings.Contains(reasons, f.Named):
			t.Errorf("%s: named %q, want %q", f.File, reasons, f.Named)
		case f.Named == "" && reasons != "" && !strings.Contains(reasons, cmp.Or(f.May, reasons+"?")):
			t.Errorf("%s is sound, but named %q", f.File, reasons)
		}
		var lost []string
		for _, w := range f.Words {
			r, err := e.Search(t.Context(), engine.Query{Text: w, Mode: engine.ModeLexical, Exact: true, K: 1, Filter: filter.Eq("path", f.File)})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Hits) == 0 {
				lost = append(lost, w)
			}
		}
		if len(lost) > 0 {
			t.Errorf("%s: %d of its %d words are lost: %q", f.File, len(lost), len(f.Words), lost)
		}
	}
	if got := now.LeftOut.Other + now.LeftOut.Binary; got != leftOut { // of a kind that is not read, or of another kind than it seems
		t.Errorf("%d files are left out, want %d: %+v", got, leftOut, now.LeftOut)
	}
}
