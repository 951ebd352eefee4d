package problems

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteAndRead(t *testing.T) {
	db := t.TempDir()
	if s, err := Summarize(db); err != nil || s.Total() != 0 || s.First == nil {
		t.Fatalf("nothing: %+v, %v", s, err)
	}
	old := "2020-01-02T03:04:05Z"
	list := []Problem{
		{State: Warned, Path: "w.md", Line: 2, Reason: "a title"},
		{State: Failed, Path: "f.md", Reason: strings.Repeat("é", 600) + "\xff", Time: old},
		{State: Stale, Path: "s.md", Documents: 3, Reason: "no text"},
	}
	left := LeftOut{Hidden: 1, Other: 5, Kinds: []Extension{{".a", 4, "x.a"}, {".b", 1, "x.b"}}}
	for source, l := range map[string]LeftOut{"/notes": left, "stdin": {}} {
		if err := Write(db, source, l, list); err != nil {
			t.Fatal(err)
		}
	}
	more := LeftOut{Other: 9, Kinds: []Extension{{".b", 6, "y.b"}, {".c", 2, "y.c"}, {".d", 1, "y.d"}}}
	if err := Write(db, "/more", more, nil); err != nil {
		t.Fatal(err)
	}
	s, err := Summarize(db)
	if err != nil || s.Failed != 2 || s.Stale != 2 || s.Warned != 2 || len(s.First) != 6 {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := fmt.Sprintf("%+v", s.LeftOut); got != "{Hidden:1 Ignored:0 Binary:0 Empty:0 Other:14 BinaryExample: Kinds:[{Extension:.b Files:7 Example:y.b} {Extension:.a Files:4 Example:x.a} {Extension:.c Files:2 Example:y.c}]}" &&
		!strings.Contains(got, "Kinds:[{Extension:.b Files:7 Example:x.b}") {
		t.Error(got)
	}
	p := s.First[0]
	if p.State != Failed || p.Time != old || len(p.Reason) > maxReason+4 || !strings.HasSuffix(p.Reason, "é…") || p.Source == "" || s.First[5].State != Warned {
		t.Errorf("%+v", s.First)
	}
	// What was known before keeps its time; what is gone is gone.
	if err := Write(db, "/notes", LeftOut{}, []Problem{{State: Failed, Path: "f.md", Reason: list[1].Reason}}); err != nil {
		t.Fatal(err)
	}
	again, _, err := Read(db, "/notes")
	if err != nil || len(again) != 1 || again[0].Time != old {
		t.Errorf("%+v, %v", again, err)
	}
	for _, source := range []string{"/notes", "/more", "stdin", "never"} {
		if err := Write(db, source, LeftOut{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(db, Folder, "*")); len(names) > 0 {
		t.Errorf("left are %q", names)
	}
}

// TestMany: the counts are of all problems, though not all are kept.
func TestMany(t *testing.T) {
	db := t.TempDir()
	list := make([]Problem, most+5)
	for i := range list {
		list[i] = Problem{State: Warned, Path: fmt.Sprint(i), Reason: "r"}
	}
	list[most+1].State = Failed
	if err := Write(db, "/notes", LeftOut{}, list); err != nil {
		t.Fatal(err)
	}
	s, err := Summarize(db)
	if err != nil || s.Warned != most+4 || s.Failed != 1 || len(s.First) != first || s.First[0].State != Failed {
		t.Errorf("%d warned, %d failed, %d told, %v", s.Warned, s.Failed, len(s.First), err)
	}
	if all, _, err := All(db); err != nil || len(all) != most {
		t.Errorf("%d kept, %v", len(all), err)
	}
}

// TestDamage: a damaged file counts as none, and is replaced.
func TestDamage(t *testing.T) {
	db := t.TempDir()
	write := func() {
		t.Helper()
		if err := Write(db, "/notes", LeftOut{Hidden: 1}, []Problem{{State: Failed, Path: "f.md", Reason: "r"}}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	path := file(db, "/notes")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{", "x\n" + string(good), string(good[:len(good)-9]), string(good[:strings.Index(string(good), "\n")+1]), strings.Replace(string(good), `"lexsem_problems":1`, `"lexsem_problems":2`, 1)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Summarize(db); err != nil || s.Total() > 0 {
			t.Errorf("%.40q: %+v, %v", bad, s, err)
		}
		write()
		if now, err := os.ReadFile(path); err != nil || len(now) != len(good) {
			t.Errorf("%.40q is not replaced: %.200q, %v", bad, now, err)
		}
	}
}
