package location_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/location"
)

// TestStale: a file is stale if its time is another, or if it is gone while its folder is there. A folder of another machine
// says nothing, nor does a document that came from no file.
func TestStale(t *testing.T) {
	root := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	name := filepath.Join(root, "a.txt")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
	of := func(root, path, time string) map[string]any {
		m := map[string]any{"path": path, "kind": "text", "time": time}
		if root != "" {
			m["root"] = root
		}
		return m
	}
	for _, c := range []struct {
		m    map[string]any
		want string
	}{
		{of(root, "a.txt", "2026-01-02T03:04:05Z"), ""},
		{of(root, "a.txt", "2026-01-02T03:04:04Z"), location.Changed},
		{of(root, "b.txt", "2026-01-02T03:04:05Z"), location.Gone},
		{of("", name, "2026-01-02T03:04:06Z"), location.Changed},
		{of("", name+"x", "2026-01-02T03:04:05Z"), location.Gone},
		{of(filepath.Join(root, "elsewhere"), "a.txt", "2026-01-02T03:04:05Z"), ""},
		{of("", filepath.Join(root, "elsewhere", "a.txt"), "2026-01-02T03:04:05Z"), ""},
		{of(root, "../a.txt", "2026-01-02T03:04:04Z"), ""},
		{of(root, "a.txt", "yesterday"), ""},
		{nil, ""},
	} {
		for what, m := range map[string]map[string]any{"of an earlier build": c.m, "in the reserved field": {location.File: c.m, "time": "noon"}} {
			if got := location.Stale(m); got != c.want {
				t.Errorf("%s, %v: %q, want %q", what, c.m, got, c.want)
			}
		}
	}
}
