package engine_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// TestManyHitsOfOneDocument: a search reads a large document once, however many hits it has in it, and hits do not hold
// the whole document. The order of the hits and where they are stay those of searches for each alone.
func TestManyHitsOfOneDocument(t *testing.T) {
	const size, most = 1 << 19, 100
	for kind, path := range map[string]string{"markdown": "a.md", "code": "a.go", "docx": "a.docx", "text": "a.txt"} {
		t.Run(kind, func(t *testing.T) {
			e := open(t, t.TempDir(), engine.Options{NoSync: true})
			var b strings.Builder
			for i := 0; b.Len() < size; i++ {
				head := map[string]string{"markdown": "# part%[1]d\n", "docx": "\fpart%[1]d\n", "code": "func part%[1]d() {\n", "text": "part%[1]d\n"}[kind]
				fmt.Fprintf(&b, head+"\tapples of kind %[2]d are red\n}\n\n", i, i%977)
			}
			text := b.String()
			_, err := e.Upsert(t.Context(), []engine.Document{{ID: path, Text: text, Metadata: map[string]any{
				"_file": map[string]any{"path": path, "kind": kind}, "language": "go"}}})
			if err == nil {
				err = e.Flush(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			search := func(k, offset int) []engine.Hit {
				t.Helper()
				r, err := e.Search(t.Context(), engine.Query{Text: "apples of kind 7", K: k, Offset: offset, PerChunk: true, Spans: true})
				if err != nil || len(r.Hits) != k {
					t.Fatalf("%d of %d hits, %v", len(r.Hits), k, err)
				}
				return r.Hits
			}
			search(1, 0)
			var hits []engine.Hit
			if took := allocated(func() { hits = search(most, 0) }); took > most/4*size {
				t.Errorf("%d KB were allocated for %d hits", took>>10, most)
			}
			for i, h := range hits {
				if want := 1 + strings.Count(text[:h.Start], "\n"); h.Rank != i+1 || h.Lines[0] != want || text[h.Start:h.End] != h.Text {
					t.Fatalf("hit %d has rank %d and begins on line %d, want %d", i+1, h.Rank, h.Lines[0], want)
				}
				if of := strings.LastIndex(text[:h.Span[0]], "part"); kind != "text" && !strings.HasPrefix(text[of:], h.Symbol) {
					t.Fatalf("hit %d is in %q, want %.12q", i+1, h.Symbol, text[of:])
				}
			}
			for _, i := range []int{1, 50, 98} {
				if one := search(1, i)[0]; one.Start != hits[i].Start || one.Symbol != hits[i].Symbol || one.Score != hits[i].Score {
					t.Errorf("alone, hit %d is %d in %q, among %d it is %d in %q", i+1, one.Start, one.Symbol, most, hits[i].Start, hits[i].Symbol)
				}
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC() // pools are emptied by the second
			runtime.ReadMemStats(&before)
			runtime.KeepAlive(hits)
			hits = nil
			runtime.GC()
			runtime.ReadMemStats(&after)
			if held := int64(before.HeapAlloc) - int64(after.HeapAlloc); held > size {
				t.Errorf("the hits hold %d KB", held>>10)
			}
		})
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestFewLargeDocuments: a search for more hits than there are documents ends when it has all of them. It does not rank
// all of their chunks.
func TestFewLargeDocuments(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	for i := range 4 {
		var b strings.Builder
		for n := 0; b.Len() < 1<<19; n++ {
			fmt.Fprintf(&b, "Apples of kind %d and %d are red.\n\n", n%977, i)
		}
		add(t, e, []engine.Document{{ID: fmt.Sprint("book", i), Text: b.String(), Metadata: map[string]any{"n": i}}})
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
		for documents, f := range map[int]engine.Filter{4: {}, 2: filter.Range("n", 1, 2)} {
			find := func(k int) (hits []engine.Hit, took uint64) {
				took = math.MaxUint64
				for range 3 { // since others may be at work
					took = min(took, allocated(func() {
						hits = search(t, e, engine.Query{Text: "apples of kind 7", K: k, Mode: mode, Filter: f}).Hits
					}))
				}
				return hits, took
			}
			want, least := find(documents)
			got, took := find(documents + 1)
			if len(got) != documents || !reflect.DeepEqual(got, want) || took > least+least/4 {
				t.Errorf("%s, %d documents: %d hits and %d KB, of one hit more %d and %d KB", mode, documents, len(want), least>>10, len(got), took>>10)
			}
		}
	}
}
