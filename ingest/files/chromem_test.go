package files_test

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// These are what chromem-go v0.7.0 gives to package gob.
type (
	chromemDocument struct {
		ID        string
		Metadata  map[string]string
		Embedding []float32
		Content   string
	}
	chromemCollection struct {
		Name      string
		Metadata  map[string]string
		Documents map[string]*chromemDocument
	}
	chromemDB struct {
		Collections map[string]*chromemCollection
	}
	chromemName struct {
		Name     string
		Metadata map[string]string
	}
)

func gobFile(t testing.TB, v any, zipped bool) string {
	t.Helper()
	var b, z bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	if !zipped {
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	w := gzip.NewWriter(&z)
	_, werr := w.Write(b.Bytes())
	if err := errors.Join(err, werr, w.Close()); err != nil {
		t.Fatal(err)
	}
	return z.String()
}

func chromemExport() chromemDB {
	docs := map[string]*chromemDocument{}
	for i := range 50 {
		id := fmt.Sprint("d", i)
		docs[id] = &chromemDocument{id, map[string]string{"k": id, "": "empty"}, []float32{float32(i), -1.5, 1e-30}, strings.Repeat("words ", i*400+1)}
	}
	return chromemDB{map[string]*chromemCollection{
		"one":   {"one", map[string]string{"m": "x"}, docs},
		"two":   {"two", nil, map[string]*chromemDocument{"e": {ID: "e", Embedding: []float32{1}}, "t": {ID: "t", Content: "text"}}},
		"three": {Name: "three"},
	}}
}

func TestChromem(t *testing.T) {
	for _, zipped := range []bool{false, true} {
		db := chromemExport()
		recs, bad, err := filestest.ReadAll(t, "a.gob", gobFile(t, db, zipped), Options{})
		if err != nil || len(bad) > 0 || len(recs) != 52 {
			t.Fatalf("%d documents, %q, %v", len(recs), bad, err)
		}
		for _, r := range recs {
			collection := r.Metadata["collection"].(string)
			want := db.Collections[collection].Documents[r.ID]
			if r.Text != want.Content || !slices.Equal(r.Vector, want.Embedding) || len(r.Metadata) != len(want.Metadata)+1 || want.Metadata != nil && r.Metadata["k"] != want.Metadata["k"] {
				t.Errorf("%s: %.200v", r.ID, r)
			}
		}
		one := chromemDocument{"x", nil, []float32{1, 2}, "text"}
		recs, bad, err = filestest.ReadAll(t, "a.gob.gz", gobFile(t, one, zipped), Options{})
		if err != nil || len(bad) > 0 || len(recs) != 1 || recs[0].ID != "x" || recs[0].Metadata != nil || len(recs[0].Vector) != 2 {
			t.Errorf("a document: %+v, %q, %v", recs, bad, err)
		}
		recs, bad, err = filestest.ReadAll(t, "a.gob", gobFile(t, chromemName{"one", map[string]string{"a": "b"}}, zipped), Options{})
		if err != nil || len(bad)+len(recs) > 0 {
			t.Errorf("the name of a collection: %+v, %q, %v", recs, bad, err)
		}
	}
	// Fields that a later version may add are read over.
	type later struct {
		Version int
		ID      string
		More    map[string][]struct{ A, B any }
		Deep    struct{ X []map[int]float64 }
		Raw     []byte
		Content string
	}
	l := later{Version: 2, ID: "x", Content: "text", Raw: []byte{1}}
	l.Deep.X = []map[int]float64{{1: 2.5}}
	recs, _, err := filestest.ReadAll(t, "a.gob", gobFile(t, l, false), Options{})
	if err != nil || len(recs) != 1 || recs[0].Text != "text" {
		t.Errorf("a later version: %v, %v", recs, err)
	}
}

func TestBadChromem(t *testing.T) {
	good := gobFile(t, chromemExport(), false)
	for name, in := range map[string]string{"text": "hello world, this is no gob", "cut": good[:len(good)/2], "gzip": "\x1f\x8b\x08rest", "cut gzip": gobFile(t, chromemExport(), true)[:500], "string": gobFile(t, "x", false)} {
		if _, _, err := filestest.ReadAll(t, "a.gob", in, Options{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := filestest.ReadAll(t, "a.gob", good, Options{MaxBytes: 1000}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long text: %v", err)
	}
	// A map that claims to have 2^40 elements.
	small := gobFile(t, chromemDocument{ID: "x", Metadata: map[string]string{"a": "b"}}, false)
	at := strings.LastIndex(small, "\x01\x01a\x01b")
	huge := small[:at] + "\xfa\x01\x00\x00\x00\x00\x00" + small[at+1:]
	if _, _, err := filestest.ReadAll(t, "a.gob", huge, Options{}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a huge map: %v", err)
	}
}

func FuzzChromem(f *testing.F) {
	filestest.Fuzz(f, "chromem", gobFile(f, chromemDB{map[string]*chromemCollection{"c": {"c", nil, map[string]*chromemDocument{"x": {ID: "x", Content: "y", Embedding: []float32{1}}}}}}, false),
		gobFile(f, chromemDocument{ID: "x", Metadata: map[string]string{"a": "b"}}, false))
}
