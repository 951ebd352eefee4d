package state

import (
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// copied is an index that has copied so many of its vectors out of its file.
type copied struct {
	index.Index
	unmapped int
}

func (copied) Len() int        { return 100_000 }
func (x copied) Unmapped() int { return x.unmapped }

// An index is saved for the memory of its vectors once a quarter of them lies in memory, if it could read them from a file.
func TestSaveFreesCopiedVectors(t *testing.T) {
	if !snapshot.Maps {
		t.Skip("nothing is mapped here")
	}
	st, err := store.Open(t.TempDir(), store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	view, err := st.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	words, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind              string
		pending, unmapped int
		due               bool
	}{
		"a quarter is copied":      {index.KindHNSWInt8, replacedAfter, 25_000, true},
		"less":                     {index.KindHNSWInt8, replacedAfter, 24_999, false},
		"of few changes":           {index.KindHNSWInt8, replacedAfter - 1, 100_000, false},
		"searches need the memory": {index.KindHNSW, replacedAfter, 100_000, false},
		"it has no file":           {index.KindFlatInt8, replacedAfter, 100_000, false},
	} {
		d := &DB{pending: c.pending, now: &State{Words: words, Vectors: &Vectors{Index: copied{unmapped: c.unmapped}, Kind: c.kind}}}
		if due, err := d.saveDue(view); err != nil || due != c.due {
			t.Errorf("%s: due %v, error %v", name, due, err)
		}
	}
}
