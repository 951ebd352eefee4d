package inverted

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/text"
)

// TestImpacts: stored impacts have the weights in steps, and the score of a passage is its inner product with the query
// as a share of the query's with itself, within the saturation of BM25 and the steps.
func TestImpacts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	draw := func(n int) (ws []Weighted) {
		for term := range int32(300) {
			if r.IntN(300) < n {
				ws = append(ws, Weighted{term, float32(r.IntN(20)+1) / impactSteps})
			}
		}
		return ws
	}
	x, err := NewWords(ImpactOptions("a model"))
	if err != nil {
		t.Fatal(err)
	}
	e := x.Edit()
	docs := make([][]Weighted, 200)
	ids := make([]uint64, len(docs))
	for i := range docs {
		docs[i], ids[i] = draw(30), uint64(i)
		terms, err := ImpactTerms(nil, AppendImpacts(nil, docs[i]))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Add(ids[i], terms); err != nil {
			t.Fatal(err)
		}
		docs[i] = kept(t, docs[i], terms)
	}
	x = e.Done()
	scores := make([]float64, len(docs))
	for range 20 {
		query := draw(10)
		dot := func(a, b []Weighted) (sum float64) {
			for _, p := range a {
				if i := slices.IndexFunc(b, func(q Weighted) bool { return q.Term == p.Term }); i >= 0 {
					sum += float64(p.Weight) * float64(b[i].Weight)
				}
			}
			return sum
		}
		terms := x.ImpactQuery(query)
		if err := x.ScoresOf(t.Context(), scores, terms, ids); err != nil {
			t.Fatal(err)
		}
		for i, d := range docs {
			if want := dot(query, d) / dot(query, query); math.Abs(scores[i]-want) > .02*want {
				t.Fatalf("passage %d has %v, want %v", i, scores[i], want)
			}
		}
		best, err := x.Search(t.Context(), nil, terms, 10, nil)
		if err != nil || len(best) != 10 {
			t.Fatalf("%d found, %v", len(best), err)
		}
		for _, b := range best {
			if b.Score != scores[b.ID] || slices.IndexFunc(scores, func(s float64) bool { return s > best[0].Score }) >= 0 {
				t.Fatalf("passage %d is found with %v and scored with %v", b.ID, b.Score, scores[b.ID])
			}
		}
	}
	if err := x.ScoresOf(t.Context(), scores[:1], x.ImpactQuery(docs[3]), []uint64{999}); err != nil || scores[0] != 0 {
		t.Errorf("an absent passage has %v, %v", scores[0], err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.ScoresOf(ctx, scores, nil, ids); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if x.ImpactQuery(nil) != nil {
		t.Error("terms of nothing")
	}
}

// kept returns the weights of the terms, which are those of all but some that are the smallest and have together at most
// 1/sparedShare.
func kept(t *testing.T, all []Weighted, terms []text.Term) (ws []Weighted) {
	t.Helper()
	has := map[text.Term]int{}
	for _, term := range terms {
		has[term]++
	}
	sum, spared, most, least := 0, 0, 0, mostSteps
	for _, w := range all {
		n := steps(w)
		sum += n
		switch has[impactTerm(int64(w.Term))] {
		case n:
			ws, least = append(ws, w), min(least, n)
		case 0:
			spared, most = spared+n, max(most, n)
		default:
			t.Fatalf("term %d of %d steps has %d", w.Term, n, has[impactTerm(int64(w.Term))])
		}
	}
	if spared > sum/sparedShare || sum/sparedShare-spared >= least && most > 0 || most > least {
		t.Fatalf("%d of %d steps are left out, at most %d of a word, where %d are kept", spared, sum, most, least)
	}
	return ws
}

// TestImpactTerms: weights below half a step are left out, and small ones, large ones bounded, and other bytes are refused.
func TestImpactTerms(t *testing.T) {
	b := AppendImpacts(nil, []Weighted{{0, .01}, {1, 1.5}, {2, 99}, {1 << 20, 1}, {1<<20 + 1, .25}, {1<<20 + 2, .125}})
	got, err := ImpactTerms(nil, b)
	var want []text.Term
	for _, w := range []struct{ id, n int }{{1, 12}, {2, mostSteps}, {1 << 20, 8}} {
		for range w.n {
			want = append(want, impactTerm(int64(w.id)))
		}
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d terms, %v", len(got), err)
	}
	for _, bad := range [][]byte{{1}, {1, 0}, {1, 128}, {0x80}, b[:len(b)-1], {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}, {0xff, 0xff, 0xff, 0xff, 0x07, 1, 1, 1}} {
		if _, err := ImpactTerms(nil, bad); !errors.Is(err, ErrTerm) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
