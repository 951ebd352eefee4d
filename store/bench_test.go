package store

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// benchDoc is a passage as they are: 384 dimensions, 1 KiB of text, 60 tokens.
func benchDoc(r *rand.Rand, id string) *Document {
	d := &Document{ID: id, Title: "a title", Text: strings.Repeat("some words ", 93), Metadata: []byte(`{"source":"bench"}`)}
	var row Row
	for range 384 {
		row.Vector = append(row.Vector, r.Float32()-0.5)
	}
	for range 60 {
		row.Tokens = append(row.Tokens, r.Int32N(30522))
	}
	d.Rows = []Row{row}
	return d
}

func benchStore(b *testing.B, n int) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if err := s.SetManifest(ctx, func(m *Manifest) error { m.Dim = 384; return nil }); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < n; i += 1000 {
		benchBatch(b, s, r, i)
	}
	return s
}

func benchBatch(b *testing.B, s *Store, r *rand.Rand, first int) {
	batch, err := s.Begin(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		if _, err := batch.Put(ctx, benchDoc(r, fmt.Sprint(first+i))); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := batch.Commit(ctx); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPut1000 writes synced batches of 1,000 passages.
func BenchmarkPut1000(b *testing.B) {
	s := benchStore(b, 0)
	r := rand.New(rand.NewPCG(2, 2))
	b.ReportAllocs()
	n := 0
	var peak uint64
	for b.Loop() {
		benchBatch(b, s, r, n)
		n += 1000
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
	b.ReportMetric(float64(peak>>20), "peak-heap-MiB")
}

// BenchmarkPut1 writes synced batches of one passage.
func BenchmarkPut1(b *testing.B) {
	s := benchStore(b, 0)
	d := benchDoc(rand.New(rand.NewPCG(2, 2)), "x")
	n := 0
	for b.Loop() {
		n++
		d.ID = fmt.Sprint(n)
		batch, err := s.Begin(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := batch.Put(ctx, d); err != nil {
			b.Fatal(err)
		}
		if _, err := batch.Commit(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScan reads the rows of 20,000 passages.
func BenchmarkScan(b *testing.B) {
	s := benchStore(b, 20_000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := s.Scan(ctx, 0, func(uint64, []Row) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkText looks up an id and reads its text, out of 20,000.
func BenchmarkText(b *testing.B) {
	s := benchStore(b, 20_000)
	r := rand.New(rand.NewPCG(3, 3))
	b.ReportAllocs()
	for b.Loop() {
		ord, ok, err := s.Lookup(fmt.Sprint(r.IntN(20_000)))
		if err != nil || !ok {
			b.Fatal(ok, err)
		}
		if _, err := s.Text(b.Context(), ord); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads whole records, out of 20,000.
func BenchmarkGet(b *testing.B) {
	s := benchStore(b, 20_000)
	r := rand.New(rand.NewPCG(3, 3))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), 1+r.Uint64N(20_000)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReopen closes and opens a store of 20,000 passages: the check of
// all tables is most of it.
func BenchmarkReopen(b *testing.B) {
	s := benchStore(b, 20_000)
	dir := s.dir
	s.Close()
	for b.Loop() {
		s, err := Open(dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBackup writes 20,000 passages into a backup, and then, each time one has
// changed, a further part.
func BenchmarkBackup(b *testing.B) {
	s := benchStore(b, 20_000)
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			r, err := s.Backup(ctx, io.Discard, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(r.Bytes)
		}
	})
	b.Run("next", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "backup")
		backedUp(b, s, file)
		for i := 0; b.Loop(); i++ {
			add(b, s, benchDoc(rand.New(rand.NewPCG(1, uint64(i))), "0"))
			if r := backedUp(b, s, file); r.Written != 1 {
				b.Fatalf("%+v", r)
			}
		}
	})
}

// BenchmarkRestore makes a database of 20,000 passages, and tells the most memory
// that Go had from the system.
func BenchmarkRestore(b *testing.B) {
	s := benchStore(b, 20_000)
	file := filepath.Join(b.TempDir(), "backup")
	r := backedUp(b, s, file)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(r.Bytes)
	for b.Loop() {
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Restore(ctx, filepath.Join(b.TempDir(), "db"), f, RestoreOptions{}); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "sysMiB")
}
