package backendtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// backend tests what only a Backend shows.
func backend(t *testing.T, b remote.Backend) {
	ctx := t.Context()
	info := remote.Info{Dim: 4, Language: "en", Analysis: "a test"}
	if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
		t.Fatalf("nothing created: %v", err)
	}
	if err := b.Create(ctx, info); err != nil {
		t.Fatal(err)
	}
	if err := b.Create(ctx, info); !errors.Is(err, engine.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	if got, err := b.Info(ctx); err != nil || got.Dim != 4 || got.Analysis != "a test" {
		t.Errorf("%+v, %v", got, err)
	}
	if s, err := b.Status(ctx); err != nil || s.Documents+s.Passages != 0 {
		t.Errorf("an empty one: %+v, %v", s, err)
	}
	vectors := [][]float32{{1, 0, 0, 0}, {0, 1, 0, 0}, {.6, .8, 0, 0}, {0, 0, -1, 0}}
	doc := func(id string, terms ...string) []remote.Passage {
		var ps []remote.Passage
		for i, s := range terms {
			ps = append(ps, remote.Passage{PassageID: remote.PassageID{ID: id, Chunk: i}, Chunks: len(terms), Text: s, Line: 1, Vector: vectors[(len(id)+i)%4],
				Terms: s, Length: len(strings.Fields(s)), Metadata: `{"id": "` + id + `"}`})
		}
		return ps
	}
	const spaced = "  x  z     y   " // as inverted.Spell may write terms
	docs := [][]remote.Passage{doc("a", "x y", spaced), doc("bb", "x"), doc("ccc", "z z z"), doc("dddd", "")}
	if err := b.Put(ctx, docs, true); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(ctx, docs[1:2], true); !errors.Is(err, engine.ErrExists) {
		t.Errorf("put again as fresh: %v", err)
	}
	s, err := b.Status(ctx)
	if err != nil || s.Documents != 4 || s.Passages != 5 || s.Terms != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	if n, err := b.Having(ctx, []string{"x", "y", "z", "nobody"}); err != nil || !slices.Equal(n, []int{3, 2, 2, 0}) {
		t.Errorf("having: %v, %v", n, err)
	}
	got, err := b.Cosines(ctx, []float32{.6, .8, 0, 0}, []remote.PassageID{{ID: "a"}, {ID: "a", Chunk: 1}, {ID: "a", Chunk: 2}, {ID: "nobody"}, {ID: "bb"}})
	if err != nil || len(got) != 5 || math.Abs(got[0]-.8) > 1e-6 || math.Abs(got[1]-1) > 1e-6 || !math.IsNaN(got[2]) || !math.IsNaN(got[3]) || math.Abs(got[4]-1) > 1e-6 {
		t.Errorf("cosines: %v, %v", got, err)
	}
	ps, err := b.Fetch(ctx, []remote.PassageID{{ID: "nobody"}, {ID: "a", Chunk: 1}}, true)
	if err != nil || len(ps) != 2 || ps[0] != nil || ps[1].Text != spaced || ps[1].Terms != spaced || !slices.Equal(ps[1].Vector, vectors[2]) || ps[1].Metadata != `{"id": "a"}` || ps[1].Chunks != 2 {
		t.Errorf("fetch: %+v, %v", ps, err)
	}
	// All scans go through documents in one order, and through chunks in theirs.
	scan := func(o remote.ScanOptions) (seen []string) {
		for p, err := range b.Scan(ctx, engine.Filter{}, o) {
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Vector) != 4 {
				t.Errorf("%s: vector %v", p.ID, p.Vector)
			}
			seen = append(seen, fmt.Sprintf("%s#%d", p.ID, p.Chunk))
		}
		return seen
	}
	all := scan(remote.ScanOptions{})
	if sorted := slices.Sorted(slices.Values(all)); !slices.Equal(sorted, []string{"a#0", "a#1", "bb#0", "ccc#0", "dddd#0"}) || slices.Index(all, "a#0")+1 != slices.Index(all, "a#1") {
		t.Errorf("a scan: %v", all)
	}
	for _, parts := range []int{1, 3} {
		var seen []string
		for part := range parts {
			some := scan(remote.ScanOptions{Part: part, Parts: parts})
			if !slices.IsSortedFunc(some, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) }) {
				t.Errorf("part %d of %d: %v, of %v", part, parts, some, all)
			}
			seen = append(seen, some...)
		}
		if slices.Sort(seen); !slices.Equal(seen, slices.Sorted(slices.Values(all))) {
			t.Errorf("%d parts: %v", parts, seen)
		}
	}
	for i, at := range all {
		if id, _, _ := strings.Cut(at, "#"); id != "a" || at == "a#1" {
			if rest := scan(remote.ScanOptions{After: id}); !slices.Equal(rest, all[i+1:]) {
				t.Errorf("behind %s: %v, want %v", id, rest, all[i+1:])
			}
		}
	}
	before := s.Writes
	if n, err := b.Delete(ctx, []string{"a", "nobody"}); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	s, err = b.Status(ctx)
	if err != nil || s.Documents != 3 || s.Passages != 3 || s.Terms != 4 || s.Writes != before+2 {
		t.Errorf("after a delete: %+v, %v; want 2 writes more than %d", s, err, before)
	}
	if n, err := b.Having(ctx, []string{"x"}); err != nil || n[0] != 1 {
		t.Errorf("having after a delete: %v, %v", n, err)
	}
}
