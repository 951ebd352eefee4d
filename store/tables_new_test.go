package store

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestVerifyReadsNewTables: damage in a table that was written since the database
// was opened is found as well.
func TestVerifyReadsNewTables(t *testing.T) {
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1), doc("b", 5))
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.records(), "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d tables, %v: the test shows nothing", len(files), err)
	}
	flip(t, files[0], 40)
	if r, err := s.Verify(ctx, nil); !errors.Is(err, ErrCorrupt) || len(r.Problems) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
