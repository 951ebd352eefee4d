package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// TestForgetting: a task in the background leaves no vectors of a file in memory that it has read, neither while it
// goes on nor behind it.
func TestForgetting(t *testing.T) {
	const size = 8 << 20
	path := filepath.Join(t.TempDir(), "rows")
	f, err := snapshot.WriteOpen(path, snapshot.Header{Kind: "rows"}, func(w *snapshot.Writer) error {
		w.Begin("ROWS")
		w.Write(make([]byte, size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := f.Section("ROWS")
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir(), store.Options{MemoryMiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := &DB{st: st, rows: []*snapshot.File{f}}
	read := func() {
		if err := rows.Check(0, size); err != nil {
			t.Fatal(err)
		}
		sum := byte(0)
		for i := 0; i < size; i += 4096 {
			sum |= rows.Raw()[i]
		}
		if sum != 0 || resident(t, path) < size/2 {
			t.Fatalf("%d bytes are resident behind reading", resident(t, path))
		}
	}
	d.cell.Publish(&State{}, func() {})
	_, err = d.run(t.Context(), task{name: "reads", do: func(context.Context, *State) (bool, error) {
		read()
		for start := time.Now(); resident(t, path) > size/8; time.Sleep(forgetEvery / 4) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("%d bytes are resident while the task goes on", resident(t, path))
			}
		}
		read()
		return true, nil
	}})
	if err != nil || resident(t, path) > size/8 {
		t.Errorf("%d bytes are resident behind the task: %v", resident(t, path), err)
	}
	if _, err := d.run(t.Context(), task{name: "is short", do: func(context.Context, *State) (bool, error) { read(); return true, nil }}); err != nil {
		t.Error(err)
	}
}

// resident is how many bytes of a mapped file are in this process's memory.
func resident(t *testing.T, path string) (bytes int) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(raw)) {
		if kib := 0; strings.Contains(strings.Fields(line)[0], "-") {
			found = strings.HasSuffix(strings.TrimSpace(line), path)
		} else if _, err := fmt.Sscanf(line, "Rss: %d kB", &kib); found && err == nil {
			bytes += kib << 10
		}
	}
	return bytes
}
