package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAside: what is read aside is what the mapping has, checked as well, and leaves nothing of the file in memory.
func TestAside(t *testing.T) {
	v := make([]float32, 1<<20)
	for i := range v {
		v[i] = float32(i)
	}
	path := filepath.Join(t.TempDir(), "x.snap")
	f, s := mapped(t, path, memory(v))
	dst := make([]float32, 100)
	if s.IsAside() || s.ReadAside(dst, 0) {
		t.Fatal("read aside, unasked")
	}
	f.Aside(true)
	f.Aside(true)
	s.Forget(0, s.Len())
	before := residentOf(t, path)
	for from := 0; from+100 <= len(v); from += 1000 {
		if err := s.Check(4*from, 400); err != nil {
			t.Fatal(err)
		}
		if !s.IsAside() || !s.ReadAside(dst, 4*from) || !slices.Equal(dst, v[from:from+100]) {
			t.Fatalf("other numbers from %d on", from)
		}
	}
	if s.ReadAside(dst, s.Len()+1<<20) {
		t.Error("more than the file has")
	}
	if after := residentOf(t, path); after > before {
		t.Errorf("%d bytes of the file are in memory, and were %d", after, before)
	}
	f.Aside(false)
	if s.IsAside() || s.ReadAside(dst, 0) {
		t.Error("still aside")
	}
	if err := os.WriteFile(path+"2", memory(v), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if f.Aside(true); s.IsAside() {
		t.Error("another file is at the path")
	}
}

// TestAsideDamage: damage is found aside, too.
func TestAsideDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.snap")
	f, s := mapped(t, path, make([]byte, 64<<10))
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{1}, int64(s.from)+5000); err != nil {
		t.Fatal(err)
	}
	f.Aside(true)
	if s.Check(0, 4096) != nil || s.Check(4096, 4096) == nil {
		t.Error("damage is elsewhere")
	}
}
