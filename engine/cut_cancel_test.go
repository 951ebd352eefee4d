package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

// ending is an encoder that ends a context while it reads a text, and counts what it is asked from then on.
type ending struct {
	encoder.Encoder
	end   func() // nil: it ends none
	calls int    // before the end
	after int
}

func (e *ending) Tokenize(role encoder.Role, text string) encoder.Tokens {
	if e.end != nil {
		if e.calls--; e.calls == 0 {
			e.end()
		}
		if e.calls < 0 {
			e.after++
		}
	}
	return e.Encoder.Tokenize(role, text)
}

func (e *ending) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if e.end != nil {
		e.after += len(in)
	}
	return e.Encoder.Encode(ctx, role, in, need)
}

// TestCuttingIsCancelled: whichever call brings a long text, the end of its context ends its cutting at once, as the error
// of the context and not of the document, and nothing is stored.
func TestCuttingIsCancelled(t *testing.T) {
	t.Parallel()
	enc := &ending{Encoder: hash(t)}
	e, err := engine.Open(t.Context(), t.TempDir(), enc, sparing(engine.Options{NoSync: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	over, err := remote.Over(t.Context(), &backendtest.Memory{}, enc, remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	doc := engine.Document{ID: "long", Text: strings.Repeat("a-", 20_000)}
	stored := engine.Document{ID: "stored", Text: strings.Repeat("b-", 20_000), Metadata: map[string]any{"n": 1}}
	other := stored
	other.Metadata = map[string]any{"n": 2}
	parted := doc
	parted.Breaks = []int{0, 2, 30_000}
	for _, db := range []engine.Database{e, over} {
		if _, err := db.Add(t.Context(), []engine.Document{stored}); err != nil {
			t.Fatal(err)
		}
	}
	imported := func(ctx context.Context, db engine.Database) error {
		x, err := archive.NewExported(strings.NewReader(`{"_id":"long","text":"` + doc.Text + `"}` + "\n"))
		if err != nil {
			return err
		}
		_, err = db.Import(ctx, x)
		return err
	}
	put := func(d engine.Document, replace bool) func(context.Context, engine.Database) error {
		return func(ctx context.Context, db engine.Database) error {
			var err error
			if replace {
				_, err = db.Upsert(ctx, []engine.Document{d})
			} else {
				_, err = db.Add(ctx, []engine.Document{d})
			}
			return err
		}
	}
	for name, call := range map[string]func(context.Context, engine.Database) error{
		"add": put(doc, false), "upsert": put(doc, true), "upsert of one that is stored": put(other, true), "breaks": put(parted, true), "import": imported,
	} {
		for kind, db := range map[string]engine.Database{"engine": e, "over": over} {
			if name == "import" && kind == "over" { // takes none
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			enc.end, enc.calls, enc.after = cancel, 6, 0
			err := call(ctx, db)
			cancel()
			enc.end = nil
			var one *engine.DocumentError
			var line *archive.LineError
			if !errors.Is(err, context.Canceled) || errors.As(err, &one) || errors.As(err, &line) {
				t.Errorf("%s, %s: %v; want the context's error", kind, name, err)
			}
			if enc.after > 3 {
				t.Errorf("%s, %s: texts were read %d times after the end", kind, name, enc.after)
			}
			if d, err := db.Get(t.Context(), "stored"); err != nil || fmt.Sprint(d.Metadata["n"]) != "1" {
				t.Errorf("%s, %s: %v, %v", kind, name, d.Metadata, err)
			}
			if n, err := db.Count(t.Context(), engine.Filter{}); err != nil || n != 1 {
				t.Errorf("%s, %s: %d documents, %v", kind, name, n, err)
			}
		}
	}
}
