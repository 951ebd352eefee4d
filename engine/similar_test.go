package engine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/index"
)

// TestLike: whatever the index and the metric, and in each call, examples are the vector that Rocchio's formula makes of
// their stored vectors, and are no hits themselves.
func TestLike(t *testing.T) {
	t.Parallel()
	var docs []engine.Document
	for i := range 40 {
		docs = append(docs, worded(5, i))
	}
	for _, kind := range index.Kinds() {
		for _, metric := range index.Metrics() {
			t.Run(kind+"/"+metric, func(t *testing.T) {
				t.Parallel()
				e := open(t, t.TempDir(), engine.Options{Index: kind, Metric: metric, NoSync: true})
				add(t, e, docs)
				vector := func(at int) []float32 {
					d, err := e.Get(t.Context(), docs[at].ID)
					if err != nil {
						t.Fatal(err)
					}
					return d.Vector
				}
				own := make([]float32, dim)
				for i := range own {
					p := (vector(3)[i] + vector(5)[i]) / 2
					own[i] = p + (p-vector(9)[i])/2
				}
				id := func(at ...int) (ids []any) {
					for _, at := range at {
						ids = append(ids, docs[at].ID)
					}
					return ids
				}
				like := engine.Query{Like: []string{docs[3].ID, docs[5].ID}, Unlike: []string{docs[9].ID}, Filter: filter.Not(filter.Eq("id", docs[1].ID)), Ef: 200}
				want := engine.Query{Vector: own, Filter: filter.Not(filter.In("id", id(1, 3, 5, 9)...)), Ef: 200}
				for _, text := range []string{"", docs[3].Text} {
					like.Text, want.Text = text, text
					batch, err := e.SearchBatch(t.Context(), []engine.Query{want, like})
					if err != nil {
						t.Fatal(err)
					}
					hits := search(t, e, want).Hits
					for _, r := range []engine.Result{search(t, e, like), batch[1]} {
						sameHits(t, r.Hits, hits)
						if r.Trace.Filtered != len(docs)-4 {
							t.Errorf("%d of %d documents may be found", r.Trace.Filtered, len(docs))
						}
					}
					x, err := e.Explain(t.Context(), like, hits[2].ID)
					if err != nil || math.Abs(float64(x.Score-hits[2].Score)) > 1e-4 || x.Rank != 3 {
						t.Errorf("explained: rank %d, score %v, %v; found with %v", x.Rank, x.Score, err, hits[2].Score)
					}
					if _, err := e.Explain(t.Context(), like, docs[3].ID); !errors.Is(err, engine.ErrNotFound) {
						t.Errorf("an example is explained: %v", err)
					}
					got, _, err := e.Vector(t.Context(), like)
					made, _, err2 := e.Vector(t.Context(), want)
					if err := errors.Join(err, err2); err != nil {
						t.Fatal(err)
					}
					for i := range made {
						if math.Abs(float64(got[i]-made[i])) > 1e-4 {
							t.Fatalf("component %d of the vector is %v, want %v", i, got[i], made[i])
						}
					}
				}
			})
		}
	}
}

func sameHits(t *testing.T, got, want []engine.Hit) {
	t.Helper()
	if len(got) != len(want) || len(want) != 10 {
		t.Fatalf("%d hits, want %d", len(got), len(want))
	}
	for i, h := range got {
		if h.ID != want[i].ID || math.Abs(float64(h.Score-want[i].Score)) > 1e-4 {
			t.Errorf("hit %d is %s at %v, want %s at %v", i+1, h.ID, h.Score, want[i].ID, want[i].Score)
		}
	}
}

// TestLikeALine: ID:LINE names the chunk at a line, ID the document as a whole, and an id that ends like a line itself.
func TestLikeALine(t *testing.T) {
	t.Parallel()
	for _, states := range []string{engine.TokenStatesOff, engine.TokenStatesOn} {
		e := open(t, t.TempDir(), engine.Options{ChunkTokens: 24, TokenStates: states, NoSync: true})
		lines := slices.Concat(slices.Repeat([]string{"Apples grow on trees in the garden."}, 8), slices.Repeat([]string{"Rotate the signing keys with keyctl."}, 2))
		add(t, e, []engine.Document{
			{ID: "a.md", Text: strings.Join(lines, "\n")},
			{ID: "apples", Text: "Apples grow on trees in the garden."},
			{ID: "keys", Text: "Rotate the signing keys with keyctl."},
			{ID: "b:10", Text: "Rotate the signing keys with keyctl."},
			{ID: "b", Text: "Apples grow on trees in the garden."},
		})
		for name, want := range map[string]string{"a.md:1": "apples", "a.md:10": "keys", "a.md": "apples", "b:10": "keys", "b:1": "apples"} {
			for _, h := range search(t, e, engine.Query{Like: []string{name}, K: 5}).Hits[:1] {
				if strings.HasPrefix(h.ID, "b") || h.ID == "a.md" { // as near as the other
					h.ID = map[bool]string{true: "keys", false: "apples"}[strings.Contains(h.Text, "keyctl")]
				}
				if h.ID != want {
					t.Errorf("like %s: %s is first, want %s", name, h.ID, want)
				}
			}
		}
		far := fmt.Sprint("a.md:", len(lines)+1)
		for _, c := range []struct {
			q    engine.Query
			is   error
			says string
		}{
			{engine.Query{Like: []string{"nope"}}, engine.ErrNotFound, `"nope"`},
			{engine.Query{Like: []string{"nope:3"}}, engine.ErrNotFound, `"nope:3"`},
			{engine.Query{Like: []string{"a.md:x"}}, engine.ErrNotFound, `ID:LINE`},
			{engine.Query{Like: []string{""}}, engine.ErrNotFound, `""`},
			{engine.Query{Like: []string{strings.Repeat("n", engine.MaxID+1)}}, engine.ErrNotFound, "by its id"},
			{engine.Query{Like: []string{"keys"}, Unlike: []string{"nope"}}, engine.ErrNotFound, `"nope"`},
			{engine.Query{Like: []string{far}}, engine.ErrInvalid, "no text on line"},
			{engine.Query{Like: []string{"a.md:0"}}, engine.ErrInvalid, "no text on line 0"},
			{engine.Query{Unlike: []string{"keys"}}, engine.ErrInvalid, "unlike without like"},
			{engine.Query{Like: []string{"keys"}, Vector: make([]float32, dim)}, engine.ErrInvalid, "give one of them"},
			{engine.Query{Like: []string{"keys"}, Image: []byte("x")}, engine.ErrInvalid, "give one of them"},
			{engine.Query{Like: slices.Repeat([]string{"keys"}, 65)}, engine.ErrInvalid, "at most 64"},
			{engine.Query{Like: []string{"keys"}, Mode: engine.ModeLexical}, engine.ErrInvalid, "needs a text"},
		} {
			if _, err := e.Search(t.Context(), c.q); !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v, %v: %v, want %v that says %q", c.q.Like, c.q.Unlike, err, c.is, c.says)
			}
		}
	}
}
