package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestPreparedWhileStaged: what is prepared while documents are staged answers as what one
// core makes of them, staged first; by Add, by Upsert of new ones, and in a database whose
// tokens are terms.
func TestPreparedWhileStaged(t *testing.T) {
	docs := madeDocs(rand.New(rand.NewPCG(5, 6)), 0, 300)
	hash := encoder.NewHash(madeDim)
	wordless := encoder.Func("wordless", madeDim, func(ctx context.Context, texts []string) (vectors [][]float32, err error) {
		in := make([]encoder.Input, len(texts))
		for i, text := range texts {
			in[i].Text = text
		}
		out, err := hash.Encode(ctx, encoder.Passage, in, encoder.NeedDense)
		for _, o := range out {
			vectors = append(vectors, o.Dense)
		}
		return vectors, err
	})
	made := func(cores int, add func(e *Engine) error, enc encoder.Encoder) [][]score {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		e, err := open(t.Context(), t.TempDir(), enc, Options{NoSync: true}, autoHNSW)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, e)
		if err := add(e); err != nil {
			t.Fatal(err)
		}
		flushed(t, e)
		whole(t, e, fmt.Sprint(cores, " cores"))
		return answers(t, e, closedForms())
	}
	for name, add := range map[string]func(e *Engine) error{
		"Add":    func(e *Engine) error { _, err := e.Add(t.Context(), docs); return err },
		"Upsert": func(e *Engine) error { _, err := e.Upsert(t.Context(), docs); return err },
	} {
		for source, enc := range map[string]encoder.Encoder{"tokens": hash, "terms": wordless} {
			sameAnswers(t, name+" with "+source, made(2, add, enc), made(1, add, enc), closedForms())
		}
	}
}

// interposed is an encoder that calls a function once, while it encodes.
type interposed struct {
	encoder.Encoder
	call atomic.Pointer[func()]
}

func (i *interposed) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if f := i.call.Swap(nil); f != nil {
		(*f)()
	}
	return i.Encoder.Encode(ctx, role, in, need)
}

// TestStoredMeanwhile: a document that another call stores while its own is being encoded
// is replaced by Upsert, and makes Add fail as a whole, behind chunks that were prepared.
func TestStoredMeanwhile(t *testing.T) {
	t.Parallel()
	enc := &interposed{Encoder: encoder.NewHash(madeDim)}
	e, err := open(t.Context(), t.TempDir(), enc, Options{NoSync: true}, autoHNSW)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, e)
	docs := madeDocs(rand.New(rand.NewPCG(7, 8)), 0, 300)
	last := docs[len(docs)-1]
	meanwhile := func(id string) {
		f := func() { put(t, e, Document{ID: id, Text: "what another call stored"}) }
		enc.call.Store(&f)
	}
	meanwhile(last.ID)
	var refused *DocumentError
	if _, err := e.Add(t.Context(), docs); !errors.Is(err, ErrExists) || !errors.As(err, &refused) || refused.ID != last.ID {
		t.Fatal(err)
	}
	whole(t, e, "after an Add that failed")
	if ids := idsOf(t, e); len(ids) != 1 {
		t.Fatalf("%d documents behind an Add that failed", len(ids))
	}
	meanwhile(docs[150].ID)
	r, err := e.Upsert(t.Context(), docs[:299])
	if err != nil || r.Added != 298 || r.Replaced != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	flushed(t, e)
	whole(t, e, "after an Upsert beside another")
	if d, err := e.Get(t.Context(), docs[150].ID); err != nil || d.Text != docs[150].Text {
		t.Fatalf("%+v, %v", d, err)
	}
	want := make(map[string]Document)
	for _, d := range docs[:299] {
		want[d.ID] = d
	}
	want[last.ID] = Document{ID: last.ID, Text: "what another call stored"}
	likeFresh(t, "after an Upsert beside another", e, Options{NoSync: true}, want)
}

// TestProgressPanics: a panic of the caller's own function leaves the database as it was,
// and usable.
func TestProgressPanics(t *testing.T) {
	t.Parallel()
	var calm atomic.Bool
	e := opened(t, t.TempDir(), Options{NoSync: true, Progress: func(p Progress) {
		if p.Stage == "store" && !calm.Load() {
			panic("of the caller's own")
		}
	}}, autoHNSW)
	defer closed(t, e)
	docs := madeDocs(rand.New(rand.NewPCG(9, 10)), 0, 1100)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = e.Add(t.Context(), docs)
	}()
	calm.Store(true)
	if ids := idsOf(t, e); len(ids) != 0 {
		t.Fatalf("%d documents", len(ids))
	}
	put(t, e, docs...)
	whole(t, e, "after a panic")
}

func idsOf(t *testing.T, e *Engine) (ids []string) {
	t.Helper()
	for d, err := range e.All(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	return ids
}
