package inverted_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// words is the newest value of an index: each change is an edit of its own.
type words struct{ *inverted.Words }

func newWords(t testing.TB, o inverted.Options) *words {
	t.Helper()
	x, err := inverted.NewWords(o)
	if err != nil {
		t.Fatal(err)
	}
	return &words{x}
}

func (w *words) Add(id uint64, terms []text.Term) error {
	e := w.Edit()
	err := e.Add(id, terms)
	w.Words = e.Done()
	return err
}

func (w *words) Remove(t testing.TB, ids ...uint64) int {
	t.Helper()
	e := w.Edit()
	n, err := e.Remove(ids)
	if err != nil {
		t.Fatal(err)
	}
	w.Words = e.Done()
	return n
}

// compact compacts where it is due, and says whether it was.
func (w *words) compact(t testing.TB) bool {
	t.Helper()
	if !w.Wasteful() {
		return false
	}
	var err error
	if w.Words, err = w.Compacted(context.Background()); err != nil {
		t.Fatal(err)
	}
	return true
}

// saved is a snapshot of x.
func saved(t testing.TB, x *inverted.Words) []byte {
	t.Helper()
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, snapshot.Header{Kind: "words", Version: 1})
	if err := x.Save(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(o inverted.Options, data []byte) (*inverted.Words, error) {
	f, err := snapshot.Parse(data)
	if err != nil {
		return nil, err
	}
	return inverted.OpenWords(o, f)
}

// reopened is x by way of a snapshot.
func reopened(t testing.TB, o inverted.Options, x *inverted.Words) *inverted.Words {
	t.Helper()
	x, err := open(o, saved(t, x))
	if err != nil {
		t.Fatal(err)
	}
	return x
}
