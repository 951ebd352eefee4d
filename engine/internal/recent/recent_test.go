package recent

import (
	"bytes"
	"testing"
)

// TestCache: it keeps what was read lately, unchanged, and no more bytes than it may.
func TestCache(t *testing.T) {
	c := New[[]byte](1000)
	codes := bytes.Repeat([]byte{7}, 100)
	for id := range uint64(50) {
		c.Put(id, bytes.Clone(codes), len(codes))
		c.Get(0)
		n := 0
		for _, m := range []map[uint64]entry[[]byte]{c.young, c.old} {
			for _, b := range m {
				n += len(b.value)
			}
		}
		if n > c.Most() {
			t.Fatalf("%d bytes", n)
		}
	}
	codes[0] = 8
	if c.Get(0) == nil || c.Get(49) == nil || c.Get(49)[0] != 7 || c.Get(1) != nil {
		t.Error("not what was read lately, as it was read")
	}
	if c.Put(99, make([]byte, 501), 501); c.Get(99) != nil {
		t.Error("codes of more than half of the bytes are kept")
	}
	if c.Clear(); c.Get(0) != nil || c.Get(49) != nil {
		t.Error("not cleared")
	}
}
