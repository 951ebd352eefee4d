package index

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/internal/smaps"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// TestLargePagesOfAFile: large pages are asked for where searches walk, in codes and links, and nowhere else: a
// few rows that are read of many must not bring 2 MiB each.
func TestLargePagesOfAFile(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no large pages to ask for")
	}
	const n, dim = 17000, 512
	o := Options{Dim: dim, M: 64, EfConstruction: 64, Workers: 2}
	x, err := New(KindHNSWInt8, o)
	if err != nil {
		t.Fatal(err)
	}
	ids, v := make([]uint64, n), make([]float32, n*dim)
	for i := range ids {
		ids[i], v[i*dim+i%dim], v[i*dim+i/dim] = uint64(i), 1, .5
	}
	if err := x.Add(ids, v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "graph")
	if err := snapshot.Write(path, snapshot.Header{Kind: "vectors", Version: 1}, x.Save); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Open(KindHNSWInt8, o, f); err != nil {
		t.Fatal(err)
	}
	asked, err := smaps.Huge(func(mapped string) bool { return mapped == path })
	if err != nil {
		t.Fatal(err)
	}
	pieces := int(asked) / pageHuge
	if codes, links := n*dim/pageHuge, n*2*o.M*4/pageHuge; pieces < codes-1+links-1 || pieces > codes+links {
		t.Errorf("%d large pages asked for, of %d in codes and %d in links", pieces, codes, links)
	}
}
