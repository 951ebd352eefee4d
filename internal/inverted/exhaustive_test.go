package inverted_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// byScore ranks documents as a search should.
func byScore(a, b inverted.Scored) int {
	if a.Score > b.Score || a.Score == b.Score && a.ID < b.ID {
		return -1
	}
	return 1
}

// many fills an index with n documents over several windows and blocks: with
// words from the most frequent to those of one document, copies, long and short
// documents, regions where a word is dense, and ids that do not ascend.
func many(t testing.TB, r *rand.Rand, n int) (*words, []uint64) {
	t.Helper()
	e := newWords(t, inverted.Options{}).Edit()
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i) + 1
	}
	if r.IntN(2) == 0 {
		r.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	var doc []text.Term
	for i, id := range ids {
		if r.IntN(6) > 0 || doc == nil {
			doc = doc[:0]
			for range 1 + r.IntN(12)*(1+r.IntN(3)) {
				doc = append(doc, text.Term{Text: zipf(r, 3000)})
			}
			if i/2500%3 == 1 {
				doc = append(doc, terms("region", "region")[:1+r.IntN(2)]...)
			}
		}
		if err := e.Add(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	return &words{e.Done()}, ids
}

// holdSearch holds a search, with matches and without, to the answers that want
// begins with.
func holdSearch(t *testing.T, x *words, query []text.Term, want []inverted.Scored, k int, allow func(uint64) bool) {
	t.Helper()
	want = want[:min(k, len(want))]
	got, err := x.Search(t.Context(), nil, query, k, allow)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("top %d of %v:\n got %v\nwant %v", k, query, got, want)
	}
	ids, found, err := x.SearchMatches(t.Context(), query, k, allow)
	if err != nil {
		t.Fatal(err)
	}
	matches := make([]inverted.Match, len(ids))
	if err := x.Match(t.Context(), matches, query, ids); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, matches) {
		t.Fatalf("matches of the top %d of %v:\n got %v\nwant %v", k, query, found, matches)
	}
	for i, w := range want {
		if len(ids) != len(want) || ids[i] != w.ID || found[i].BM25 != w.Score {
			t.Fatalf("top %d of %v with matches: %v %v, want %v", k, query, ids, found, want)
		}
	}
}

// TestSearchTies: of thousands of equal scores those with the lowest ids are kept.
func TestSearchTies(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	e := newWords(t, inverted.Options{}).Edit()
	ids := make([]uint64, 12_000)
	for i, n := range r.Perm(len(ids)) {
		ids[i] = uint64(n) + 1
		if err := e.Add(ids[i], terms(zipf(r, 9), zipf(r, 9), zipf(r, 9))); err != nil {
			t.Fatal(err)
		}
	}
	x := &words{e.Done()}
	scores := make([]float64, len(ids))
	for n := range 40 {
		var query []text.Term
		for range 1 + n%4 {
			query = append(query, text.Term{Text: zipf(r, 9), Weight: 1 + float32(r.IntN(2))})
		}
		if err := x.Scores(t.Context(), scores, query, ids); err != nil {
			t.Fatal(err)
		}
		var want []inverted.Scored
		for i, id := range ids {
			if scores[i] > 0 {
				want = append(want, inverted.Scored{ID: id, Score: scores[i]})
			}
		}
		slices.SortFunc(want, byScore)
		for _, k := range []int{1, 10, 300, 20_000} {
			holdSearch(t, x, query, want, k, nil)
		}
	}
}

// TestSearchIsExhaustive: leaving out what cannot win changes no answer.
func TestSearchIsExhaustive(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 2))
		x, ids := many(t, r, 15_000)
		for round := range 2 {
			scores := make([]float64, len(ids))
			for range 60 {
				var query []text.Term
				for range 1 + r.IntN(7) {
					query = append(query, text.Term{Text: zipf(r, 3000)})
				}
				if r.IntN(3) == 0 {
					query = append(query, text.Term{Text: "region", Weight: r.Float32() * 2})
				}
				if err := x.Scores(t.Context(), scores, query, ids); err != nil {
					t.Fatal(err)
				}
				mod := uint64(1 + r.IntN(2)*r.IntN(400))
				var want []inverted.Scored
				for i, id := range ids {
					if scores[i] > 0 && id%mod == 0 {
						want = append(want, inverted.Scored{ID: id, Score: scores[i]})
					}
				}
				slices.SortFunc(want, byScore)
				for _, k := range []int{1, 10, 200} {
					holdSearch(t, x, query, want, k, func(id uint64) bool { return id%mod == 0 })
				}
			}
			// The second round is over what is left after so many removals that
			// the index is compacted.
			r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			before := x.Bytes()
			if n := x.Remove(t, ids[5000:]...); n != len(ids)-5000 {
				t.Fatalf("removed %d of %d", n, len(ids)-5000)
			}
			if x.compact(t) != (round == 0) {
				t.Fatal("compaction is due when it should not be, or not when it should")
			}
			ids = ids[:5000]
			if round == 0 && x.Bytes() > before*2/3 {
				t.Errorf("%d bytes after removing two thirds, %d before", x.Bytes(), before)
			}
		}
	}
}

// TestSparseIsExhaustive holds weighted search to the inner product, through
// updates.
func TestSparseIsExhaustive(t *testing.T) {
	const vocab = 200
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		vector := func(n int) []inverted.Weighted {
			var v []inverted.Weighted
			for _, term := range r.Perm(vocab)[:r.IntN(n)] {
				v = append(v, inverted.Weighted{Term: int32(term), Weight: float32(r.ExpFloat64())})
				if r.IntN(20) == 0 {
					v[len(v)-1].Weight = 0
				}
			}
			return v
		}
		x, err := inverted.NewSparse(vocab)
		if err != nil {
			t.Fatal(err)
		}
		docs := map[uint64][]inverted.Weighted{}
		for range 3 {
			e := x.Edit()
			for range 3000 {
				id := r.Uint64N(8000)
				docs[id] = vector(12)
				if err := e.Add(id, docs[id]); err != nil {
					t.Fatal(err)
				}
			}
			x = e.Done()
		}
		if x.Len() != len(docs) {
			t.Fatalf("%d documents, want %d", x.Len(), len(docs))
		}
		for range 20 {
			query := vector(20)
			var want []inverted.Scored
			for id, d := range docs {
				sum, shares := 0.0, false
				for _, q := range query { // in the query's order, as the index adds
					for _, w := range d {
						if w.Term == q.Term && w.Weight > 0 && q.Weight > 0 {
							sum += float64(float64(q.Weight) * float64(w.Weight))
							shares = true
						}
					}
				}
				if shares {
					want = append(want, inverted.Scored{ID: id, Score: sum})
				}
			}
			slices.SortFunc(want, byScore)
			for _, k := range []int{1, 15, 10_000} {
				got, err := x.Search(t.Context(), nil, query, k, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want[:min(k, len(want))]) {
					t.Fatalf("got %v\nwant %v", got, want[:min(k, len(want))])
				}
			}
		}
	}
}
