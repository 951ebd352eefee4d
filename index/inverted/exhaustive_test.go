package inverted_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index/inverted"
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
func many(t testing.TB, r *rand.Rand, n int) (*inverted.Words, []uint64) {
	t.Helper()
	x := newWords(t, inverted.Options{})
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
		if err := x.Add(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	return x, ids
}

// TestSearchIsExhaustive: leaving out what cannot win changes no answer.
func TestSearchIsExhaustive(t *testing.T) {
	for seed := range uint64(3) {
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
				if err := x.Scores(scores, query, ids); err != nil {
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
					got, err := x.Search(nil, query, k, func(id uint64) bool { return id%mod == 0 })
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(got, want[:min(k, len(want))]) {
						t.Fatalf("seed %d, round %d, top %d of %v:\n got %v\nwant %v", seed, round, k, query, got, want[:min(k, len(want))])
					}
				}
			}
			// The second round is over what is left after so many deletes that
			// the index is made anew.
			r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			before := x.Bytes()
			if n := x.Delete(ids[5000:]); n != len(ids)-5000 {
				t.Fatalf("deleted %d of %d", n, len(ids)-5000)
			}
			ids = ids[:5000]
			if round == 0 && x.Bytes() > before*2/3 {
				t.Errorf("%d bytes after deleting two thirds, %d before", x.Bytes(), before)
			}
		}
	}
}

// TestSparseIsExhaustive holds weighted search to the inner product, through
// updates, deletes and a snapshot.
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
		x, err := inverted.NewSparse(vocab, "test")
		if err != nil {
			t.Fatal(err)
		}
		docs := map[uint64][]inverted.Weighted{}
		for range 9000 {
			id := r.Uint64N(8000)
			if r.IntN(4) == 0 {
				x.Delete([]uint64{id})
				delete(docs, id)
				continue
			}
			docs[id] = vector(12)
			if err := x.Add(id, docs[id]); err != nil {
				t.Fatal(err)
			}
		}
		var b bytes.Buffer
		if _, err := x.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		loaded, err := inverted.LoadSparse(vocab, "test", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*inverted.Sparse{x, loaded} {
			if x.Len() != len(docs) {
				t.Fatalf("%d documents, want %d", x.Len(), len(docs))
			}
			for range 20 {
				query := vector(20)
				var ids []uint64
				var scores []float64
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
					ids, scores = append(ids, id), append(scores, sum)
					if shares {
						want = append(want, inverted.Scored{ID: id, Score: sum})
					}
				}
				slices.SortFunc(want, byScore)
				got, err := x.Search(nil, query, 15, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want[:min(15, len(want))]) {
					t.Fatalf("got %v\nwant %v", got, want[:min(15, len(want))])
				}
				exact := make([]float64, len(ids))
				if err := x.Scores(exact, query, ids); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(exact, scores) {
					t.Fatal("Scores differ from the inner products")
				}
			}
		}
	}
}
