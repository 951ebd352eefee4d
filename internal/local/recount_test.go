package local

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/modulate"
)

// TestRecount plants one wrong number after the other in a cell: Recount or Verify
// finds it, and nothing without it.
func TestRecount(t *testing.T) {
	c := newSet(4, 300)
	b := c.build(t, Options{Cells: 5})
	tokens := func(id uint64) ([]int32, bool, error) { return c.tokens[id], true, nil }
	check := func() error {
		n, err := b.Recount(t.Context(), tokens)
		if err == nil && n != b.Cells() {
			t.Fatalf("%d of %d cells are recounted", n, b.Cells())
		}
		return errors.Join(err, b.Verify(t.Context()))
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	at, _ := b.cell(2)
	if len(at.rowScale) == 0 || len(at.tokens) < 2 {
		t.Fatal("the cell has no rows: the test shows nothing")
	}
	twice := func(codes []int8) func() { // moves the largest code far away
		i := 0
		for j, x := range codes[:testDim] {
			if x == 127 || x == -127 {
				i = j
			}
		}
		old := codes[i]
		codes[i] /= 2
		return func() { codes[i] = old }
	}
	for name, plant := range map[string]func() (undo func()){
		"code":   func() func() { return twice(at.codes) },
		"shift":  func() func() { return twice(at.h) },
		"sum":    func() func() { return twice(at.rows) },
		"scale":  func() func() { old := at.hScale[0]; at.hScale[0] *= 2; return func() { at.hScale[0] = old } },
		"bound":  func() func() { old := at.lost; at.lost /= 2; return func() { at.lost = old } },
		"token":  func() func() { old := at.slots[0]; at.slots[0]++; return func() { at.slots[0] = old } },
		"df":     func() func() { b.words.heads[2*at.tokens[1]]++; return func() { b.words.heads[2*at.tokens[1]]-- } },
		"listed": func() func() { b.words.lists[3] ^= 1; return func() { b.words.lists[3] ^= 1 } },
		"corpus": func() func() {
			old := c.tokens[at.ids[0]]
			c.tokens[at.ids[0]] = old[1:]
			return func() { c.tokens[at.ids[0]] = old }
		},
	} {
		undo := plant()
		if err := check(); !errors.Is(err, modulate.ErrCorrupt) {
			t.Errorf("a wrong %s: %v", name, err)
		}
		undo()
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	gone := at.ids[3]
	n, err := b.Recount(t.Context(), func(id uint64) ([]int32, bool, error) { return c.tokens[id], id != gone, nil })
	if err != nil || n != b.Cells()-1 {
		t.Errorf("with a passage gone %d cells are recounted, %v", n, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	ending, stop := context.WithCancel(t.Context())
	if n, err := b.Recount(ending, func(id uint64) ([]int32, bool, error) { stop(); return tokens(id) }); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d cells are fitted behind the end of the context, %v", n, err)
	}
	if _, err := b.Recount(ended, tokens); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
	if !slices.IsSorted(at.ids) {
		t.Fatal("the cell was changed")
	}
}
