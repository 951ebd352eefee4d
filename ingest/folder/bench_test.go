package folder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// BenchmarkSync: 20,000 files, of which 10 have changed since the last sync.
func BenchmarkSync(b *testing.B) {
	dir := b.TempDir()
	root := filepath.Join(dir, "notes")
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	write := func(i, version int) {
		name := filepath.Join(root, fmt.Sprint(i%200), fmt.Sprintf("%d.md", i))
		text := fmt.Sprintf("# Note %d\n\nIt speaks of number%d in version %d, of colour%d and of words%d that few others have.\n", i, i, version, i%7, i%911)
		check(os.WriteFile(name, []byte(text), 0o644))
		at := past.Add(time.Duration(version) * time.Minute)
		check(os.Chtimes(name, at, at))
	}
	const n = 20_000
	for i := range n {
		if i < 200 {
			check(os.MkdirAll(filepath.Join(root, fmt.Sprint(i)), 0o755))
		}
		write(i, 0)
	}
	e, err := engine.Open(b.Context(), filepath.Join(dir, "db"), encoder.NewHash(384), engine.Options{})
	check(err)
	defer e.Close()
	sync := func(added, replaced int) {
		f, err := folder.Open(b.Context(), e, root, folder.Options{})
		check(err)
		r, err := f.Sync(b.Context())
		check(err)
		if r.Added != added || r.Replaced != replaced || r.Added+r.Replaced+r.Unchanged != n || r.Read != added+replaced {
			b.Fatalf("sync did %+v", r)
		}
	}
	sync(n, 0)
	check(e.Flush(b.Context()))
	version := 0
	for b.Loop() {
		b.StopTimer()
		version++
		for i := range 10 {
			write(i*1999, version)
		}
		b.StartTimer()
		sync(0, 10)
	}
}
