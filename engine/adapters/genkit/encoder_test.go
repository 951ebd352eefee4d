package lexsem_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/genkit"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapttest"
)

// letters counts letters. It remembers the options of each call.
type letters struct {
	mu      sync.Mutex
	options []any
	fail    func(*ai.EmbedResponse) (*ai.EmbedResponse, error)
}

func (l *letters) embed(_ context.Context, req *ai.EmbedRequest) (*ai.EmbedResponse, error) {
	l.mu.Lock()
	l.options = append(l.options, req.Options)
	l.mu.Unlock()
	res := &ai.EmbedResponse{}
	for _, d := range req.Input {
		text := ""
		for _, p := range d.Content {
			text += p.Text
		}
		res.Embeddings = append(res.Embeddings, &ai.Embedding{Embedding: adapttest.Letters[float32](text)})
	}
	if l.fail != nil {
		return l.fail(res)
	}
	return res, nil
}

func (l *letters) define(t *testing.T) ai.Embedder {
	return genkit.DefineEmbedder(genkit.Init(t.Context()), "test/letters", &ai.EmbedderOptions{Dimensions: 32}, l.embed)
}

func TestEncoder(t *testing.T) {
	encodertest.Run(t, func(t *testing.T) encoder.Encoder {
		return lexsem.Encoder((&letters{}).define(t), 32, lexsem.EncoderOptions{})
	})
	if name := lexsem.Encoder((&letters{}).define(t), 32, lexsem.EncoderOptions{}).Fingerprint().Model; name != "test/letters" {
		t.Errorf("the encoder is called %q", name)
	}
	if _, err := lexsem.Encoder(nil, 32, lexsem.EncoderOptions{Name: "x"}).Encode(t.Context(), encoder.Query, encoder.Texts("x"), encoder.NeedDense); !errors.Is(err, encoder.ErrContract) {
		t.Errorf("no embedder: %v", err)
	}
}

func TestEncoderInDatabase(t *testing.T) {
	l := &letters{}
	enc := lexsem.Encoder(l.define(t), 32, lexsem.EncoderOptions{Passage: map[string]any{"task": "document"}, Query: map[string]any{"task": "query"}})
	_, ds, r := define(t, lexsem.Config{DB: adapttest.Open(t, t.TempDir(), enc, engine.Options{})})
	index(t, ds, notes()...)
	before := len(l.options)
	if found := retrieve(t, r, "goodbye whale of the sea", &lexsem.RetrieverOptions{K: 1}); found[0].Metadata["lang"] != "de" {
		t.Errorf("found %v", found[0])
	}
	for i, o := range l.options {
		want := "document"
		if i >= before {
			want = "query"
		}
		if o.(map[string]any)["task"] != want {
			t.Errorf("call %d has the options %v, want %s", i, o, want)
		}
	}
	if before == 0 || len(l.options) != before+1 {
		t.Errorf("%d calls to index, %d in all", before, len(l.options))
	}
}

// TestEmbedder: a database of vectors alone is filled and searched by the embedder
// of the configuration.
func TestEmbedder(t *testing.T) {
	l := &letters{}
	db := adapttest.Open(t, t.TempDir(), nil, engine.Options{Dim: 32})
	_, ds, r := define(t, lexsem.Config{DB: db, Embedder: l.define(t), PassageOptions: "document", QueryOptions: "query"})
	index(t, ds, notes()...)
	if found := retrieve(t, r, "goodbye whale of the sea", &lexsem.RetrieverOptions{K: 1}); found[0].Metadata["lang"] != "de" {
		t.Errorf("found %v", found[0])
	}
	if len(l.options) != 2 || l.options[0] != "document" || l.options[1] != "query" {
		t.Errorf("the embedder was asked with %v", l.options)
	}
	if found := retrieve(t, r, "whale", &lexsem.RetrieverOptions{Mode: engine.ModeLexical}); len(found) != 1 || len(l.options) != 2 {
		t.Errorf("a lexical search found %d, after %d calls", len(found), len(l.options))
	}
	down := errors.New("it is down")
	for name, c := range map[string]struct {
		fail func(*ai.EmbedResponse) (*ai.EmbedResponse, error)
		want error
	}{
		"error":     {func(*ai.EmbedResponse) (*ai.EmbedResponse, error) { return nil, down }, down},
		"short":     {func(r *ai.EmbedResponse) (*ai.EmbedResponse, error) { r.Embeddings = r.Embeddings[1:]; return r, nil }, encoder.ErrContract},
		"no vector": {func(r *ai.EmbedResponse) (*ai.EmbedResponse, error) { r.Embeddings[0].Embedding = nil; return r, nil }, encoder.ErrContract},
		"dimension": {func(r *ai.EmbedResponse) (*ai.EmbedResponse, error) {
			r.Embeddings[0].Embedding = []float32{1}
			return r, nil
		}, engine.ErrInvalid},
	} {
		l.fail = c.fail
		if _, err := ds.Index(t.Context(), notes()); !errors.Is(err, c.want) {
			t.Errorf("%s: Index: %v", name, err)
		}
		if _, err := ds.Retrieve(t.Context(), &ai.RetrieverRequest{Query: notes()[0]}); !errors.Is(err, c.want) {
			t.Errorf("%s: Retrieve: %v", name, err)
		}
	}
}
