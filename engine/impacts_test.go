package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/fusion"
)

// concepts is a model of words: its vocabulary are concepts, and of these a text has those of its words.
type concepts struct{ encoder.Encoder }

var synonyms = map[string]int{"motorcar": 1, "automobile": 1, "physician": 2, "doctor": 2, "vessel": 3, "boat": 3}

func (c concepts) Encode(ctx context.Context, _ encoder.Role, in []encoder.Input, _ encoder.Need) ([]encoder.Output, error) {
	out := make([]encoder.Output, len(in))
	for i, x := range in {
		out[i].Logits = make([]float32, 40)
		for _, w := range strings.Fields(x.Text) {
			if n, ok := synonyms[w]; ok {
				out[i].Logits[n] = 6
			} else if strings.HasPrefix(w, "topic") {
				out[i].Logits[10+int(w[len(w)-1]-'0')] = 2
			}
		}
	}
	return out, ctx.Err()
}

func (c concepts) Fingerprint() encoder.Fingerprint {
	return encoder.Fingerprint{Model: "concepts", Dim: 40, VocabSize: 40}
}

// weighing is the hash encoder with concepts beside it.
func weighing(t *testing.T) encoder.Encoder {
	t.Helper()
	enc, err := encoder.WithSparse(hash(t), concepts{hash(t)})
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

func openWeighing(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, weighing(t), sparing(engine.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// parking is about an automobile, and shares no word with the query "motorcar".
func parking(id, text string) engine.Document { return engine.Document{ID: id, Text: text} }

// sparseTerm is the summand of impacts in the score of a document.
func sparseTerm(t *testing.T, e engine.Database, q engine.Query, id string) (x fusion.Term) {
	t.Helper()
	why, err := e.Explain(t.Context(), q, id)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, s := range why.Terms {
		if sum += s.Weight * s.Value; s.Name == "sparse" {
			x = s
		}
	}
	if d := sum - float64(why.Score); len(why.Terms) > 0 && (d < -1e-4 || d > 1e-4) {
		t.Errorf("%s: terms add up to %v of %v", id, sum, why.Score)
	}
	return x
}

// TestImpacts: a database of a model with a model of words beside it finds by the weights of words, what no word and no
// vector finds; and keeps doing so whatever happens to documents and files.
func TestImpacts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	e := openWeighing(t, dir)
	add(t, e, append(docs(0, 60), parking("car", "the automobile stands in front of a house"), parking("sea", "a vessel from afar")))
	car, sea := engine.Query{Text: "motorcar", K: 5}, engine.Query{Text: "boat", K: 5}
	check := func(when string, e *engine.Engine, q engine.Query, want string) {
		t.Helper()
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(when, err)
		}
		r := search(t, e, q)
		if r.Hits[0].ID != want {
			t.Errorf("%s: %q finds %v, want %s", when, q.Text, ids(r), want)
		}
		if all, err := e.SearchBatch(t.Context(), []engine.Query{q, q}); err != nil || !reflect.DeepEqual(all[1].Hits, r.Hits) {
			t.Errorf("%s: a batch finds otherwise, %v", when, err)
		}
		if x := sparseTerm(t, e, q, want); x.Weight <= 0 || x.Value < .95 || x.Value > 1.05 {
			t.Errorf("%s: %q has %+v of %s", when, q.Text, x, want)
		}
		if rep, err := e.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
			t.Errorf("%s: %v, %v", when, rep.Problems, err)
		}
	}
	close := func(e *engine.Engine) {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check("added", e, car, "car")
	check("added", e, sea, "sea")
	if r := search(t, e, engine.Query{Text: "motorcar", K: 5, Filter: engine.Filter{}, Mode: engine.ModeLexical}); len(r.Hits) > 0 {
		t.Errorf("words alone find %v", ids(r))
	}
	for _, q := range []engine.Query{{Text: "motorcar", Mode: engine.ModeDense}, {Text: "motorcar", Fusion: fusion.Options{Kind: fusion.RRF}}} {
		if x := sparseTerm(t, e, q, "car"); x.Weight != 0 {
			t.Errorf("%+v has %+v", q, x)
		}
	}
	plain := open(t, t.TempDir(), engine.Options{})
	add(t, plain, append(docs(0, 60), parking("car", "the automobile stands in front of a house")))
	if x := sparseTerm(t, plain, car, "car"); x.Weight != 0 {
		t.Errorf("a database without a model of words has %+v", x)
	}

	if _, err := e.Upsert(t.Context(), []engine.Document{parking("car", "a house without anything in front"), parking("new", "an automobile for sale")}); err != nil {
		t.Fatal(err)
	}
	check("replaced", e, car, "new")
	if _, err := e.Patch(t.Context(), []engine.Patch{{ID: "sea", Metadata: map[string]any{"n": 1}}}); err != nil {
		t.Fatal(err)
	}
	check("patched", e, sea, "sea")
	if n, err := e.Delete(t.Context(), []string{"new"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if x := sparseTerm(t, e, car, "car"); x.Value != 0 {
		t.Errorf("deleted and replaced: %+v", x)
	}
	later := parking("later", "automobile and physician")
	later.WordsFirst = true
	add(t, e, []engine.Document{later})
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("made later", e, car, "later")
	close(e)

	e = openWeighing(t, dir)
	check("opened", e, car, "later")
	snap := filepath.Join(dir, "derived", "impacts.snap")
	old, err := os.ReadFile(snap)
	if err != nil {
		t.Fatal(err)
	}
	add(t, e, []engine.Document{parking("more", "physician and doctor of a vessel")})
	if _, err := e.Delete(t.Context(), []string{"sea"}); err != nil {
		t.Fatal(err)
	}
	close(e)
	for name, harm := range map[string]func() error{
		"replayed":         func() error { return os.WriteFile(snap, old, 0o600) },
		"without its file": func() error { return os.Remove(snap) },
		"damaged": func() error {
			return os.WriteFile(snap, append(bytes.Clone(old[:len(old)/2]), make([]byte, len(old)/2)...), 0o600)
		},
		"as it is": func() error { return nil },
	} {
		if err := harm(); err != nil {
			t.Fatal(name, err)
		}
		e = openWeighing(t, dir)
		check(name, e, car, "later")
		check(name, e, engine.Query{Text: "boat", K: 5}, "more")
		close(e)
	}

	e = openWeighing(t, dir)
	defer close(e)
	var backup, export bytes.Buffer
	if _, err := e.BackupTo(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Export(t.Context(), &export, archive.ExportOptions{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := archive.Restore(t.Context(), restored, &backup, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	r := openWeighing(t, restored)
	check("restored", r, car, "later")
	close(r)
	bring := func(dir string, enc encoder.Encoder, text string) (*engine.Engine, error) {
		e, err := engine.Open(t.Context(), dir, enc, sparing(engine.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		x, err := archive.NewExported(strings.NewReader(text))
		if err == nil {
			_, err = e.Import(t.Context(), x)
		}
		return e, err
	}
	i, err := bring(t.TempDir(), weighing(t), export.String())
	if err != nil {
		t.Fatal(err)
	}
	check("imported", i, car, "later")
	close(i)
	if i, err = bring(t.TempDir(), hash(t), export.String()); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("imported into a database of another model: %v", err)
	}
	close(i)
	spoilt := strings.Replace(export.String(), `"impacts":"`, `"impacts":"gIC`, 1)
	if i, err = bring(t.TempDir(), weighing(t), spoilt); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("impacts of nothing are imported: %v", err)
	}
	close(i)
}

// TestReembedImpacts: a database gets a model of words, and loses it, by Reembed; another model than its own is refused.
func TestReembedImpacts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	e := openWith(t, dir, hash(t), sparing(engine.Options{}))
	add(t, e, append(docs(0, 20), parking("car", "the automobile stands in front of a house")))
	closeIt(t, e)
	for i, enc := range []encoder.Encoder{weighing(t), hash(t)} {
		if _, err := engine.Open(t.Context(), dir, enc, sparing(engine.Options{})); !errors.Is(err, encoder.ErrMismatch) {
			t.Errorf("opened with another model: %v", err)
		}
		if _, err := engine.Reembed(t.Context(), dir, enc, sparing(engine.Options{})); err != nil {
			t.Fatal(err)
		}
		e := openWith(t, dir, enc, sparing(engine.Options{}))
		x := sparseTerm(t, e, engine.Query{Text: "motorcar"}, "car")
		if weighed := x.Value > .9; weighed != (i == 0) {
			t.Errorf("after change %d: %+v", i, x)
		}
		if rep, err := e.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
			t.Errorf("%v, %v", rep.Problems, err)
		}
		closeIt(t, e)
	}
	_, err := engine.Open(t.Context(), t.TempDir(), weighing(t), sparing(engine.Options{Metric: "dot"}))
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "model of words") {
		t.Errorf("in a database of lengths: %v", err)
	}
}

// TestImpactsOfPassages: passages of an edited text that are not encoded again keep their impacts.
func TestImpactsOfPassages(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(t.Context(), t.TempDir(), weighing(t), sparing(engine.Options{ChunkTokens: 32, ChunkOverlap: -1}))
	if err != nil {
		t.Fatal(err)
	}
	defer closeIt(t, e)
	body := strings.Repeat("One sentence after the other stands here. ", 20) + "At last a vessel comes."
	for i, start := range []string{"It begins here. ", "It began there. "} {
		if _, err := e.Upsert(t.Context(), append(docs(0, 20), parking("long", strings.Repeat(start, 8)+body))); err != nil {
			t.Fatal(err)
		}
		if x := sparseTerm(t, e, engine.Query{Text: "boat"}, "long"); x.Value < .9 {
			t.Errorf("version %d: %+v", i, x)
		}
	}
}
