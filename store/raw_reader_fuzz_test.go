package store

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRawReader reads any bytes as a table and as a log: nothing panics, and what is
// shown lies in the file.
func FuzzRawReader(f *testing.F) {
	dir := f.TempDir()
	s := open(f, dir, small)
	add(f, s, doc("a", 1), doc("b", 5))
	add(f, s, doc("a", 2))
	logs, err := filepath.Glob(filepath.Join(s.records(), "*.mem"))
	if err != nil || len(logs) == 0 {
		f.Fatal(logs, err)
	}
	raw, err := os.ReadFile(logs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw[:4096])
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, recordsName, "*.sst"))
	if err != nil || len(tables) == 0 {
		f.Fatal(tables, err)
	}
	if raw, err = os.ReadFile(tables[0]); err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		bad := append([]byte(nil), raw...)
		for range 1 + r.IntN(8) {
			bad[r.IntN(len(bad))] = byte(r.IntN(256))
		}
		f.Add(bad[r.IntN(20):])
	}
	note := func(string, ...any) {}
	f.Fuzz(func(t *testing.T, data []byte) {
		see := func(s sighting) {
			if s.from < 0 || s.n != len(s.value) || s.from+int64(s.n) > int64(len(data)) || string(data[s.from:s.from+int64(s.n)]) != string(s.value) {
				t.Fatalf("%+v of %d bytes", s.found, len(data))
			}
		}
		for _, walk := range []func() error{
			func() error { return walkTable(ctx, data, nil, see, note) },
			func() error { return walkLog(ctx, data, see, note) },
		} {
			if err := walk(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestSeedOf finds the seed that a value was stored with.
func TestSeedOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		key, payload, seed := make([]byte, 1+r.IntN(40)), make([]byte, r.IntN(300)), r.Uint32()
		for i := range payload {
			payload[i] = byte(r.IntN(256))
		}
		for i := range key {
			key[i] = byte(r.IntN(256))
		}
		if got := seedOf(key, addChecksum(seed, key, payload)); got != seed {
			t.Fatalf("%x, want %x", got, seed)
		}
	}
}
