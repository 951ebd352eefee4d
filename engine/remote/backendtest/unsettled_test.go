package backendtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

// halfway is a Backend that reads some passages, but does not find them.
type halfway struct {
	*backendtest.Memory
	left []remote.PassageID
	err  error
	put  []string
}

func (b *halfway) Unsettled(_ context.Context, ids []remote.PassageID) (out []remote.PassageID, err error) {
	for _, id := range ids {
		if slices.Contains(b.left, id) {
			out = append(out, id)
		}
	}
	return out, b.err
}

func (b *halfway) Put(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	for _, ps := range docs {
		b.put = append(b.put, ps[0].ID)
	}
	return b.Memory.Put(ctx, docs, fresh)
}

// TestUnsettled: Upsert puts documents again that a Backend has as they are, but does not find.
func TestUnsettled(t *testing.T) {
	b := &halfway{Memory: &backendtest.Memory{}}
	r, err := remote.Over(t.Context(), b, encoder.NewHash(16), remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	docs := make([]engine.Document, 5)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("text %d", i)}
	}
	upsert := func(want engine.AddResult, put ...string) {
		t.Helper()
		b.put = nil
		res, err := r.Upsert(t.Context(), docs)
		if err != nil || res.Added != want.Added || res.Replaced != want.Replaced || res.Unchanged != want.Unchanged || !slices.Equal(b.put, put) {
			t.Errorf("%+v, %v; put %v", res, err, b.put)
		}
	}
	upsert(engine.AddResult{Added: 5}, "0", "1", "2", "3", "4")
	upsert(engine.AddResult{Unchanged: 5})
	b.left = []remote.PassageID{{ID: "2"}, {ID: "4"}}
	upsert(engine.AddResult{Unchanged: 3, Replaced: 2}, "2", "4")
	b.err = engine.ErrBackend
	if _, err := r.Upsert(t.Context(), docs); !errors.Is(err, engine.ErrBackend) {
		t.Error(err)
	}
}
