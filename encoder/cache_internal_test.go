package encoder

import (
	"fmt"
	"slices"
	"testing"
)

// TestCacheReplacedWhileRead: a file whose newer half takes its place between two reads of a
// record is read again, and one that is closed then says so.
func TestCacheReplacedWhileRead(t *testing.T) {
	c, err := NewCache(NewHash(8), t.TempDir(), CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range 10 {
		texts = append(texts, fmt.Sprint("text ", i))
	}
	out, err := c.Encode(t.Context(), Passage, Texts(texts...), NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	between := func() {}
	size := c.states.size
	c.states.size = func(head []byte) int64 {
		now := between
		between = func() {}
		now()
		return size(head)
	}
	between = func() {
		if err := c.shrink(c.states); err != nil {
			t.Error(err)
		}
	}
	for _, i := range []int{9, 0} {
		x, err := c.find(c.states, keyOf(Passage, texts[i]))
		if want := i == 9; err != nil || (x != nil) != want || want && !slices.Equal(x, out[i].Hidden) {
			t.Errorf("text %d: %d numbers, %v", i, len(x), err)
		}
	}
	if n := c.Stats(); n.States != 5 || n.Damaged != 0 {
		t.Errorf("%+v", n)
	}
	between = func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.find(c.states, keyOf(Passage, texts[9])); err != ErrClosed {
		t.Errorf("%v, want %v", err, ErrClosed)
	}
}
