package inverted_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/internal/text"
)

// model is BM25 written down plainly: a map of documents, everything counted
// anew for each query.
type model struct {
	k1, b float64
	docs  map[uint64][]text.Term
}

func (m model) df(term string) (df int) {
	for _, d := range m.docs {
		if slices.ContainsFunc(d, func(t text.Term) bool { return t.Text == term }) {
			df++
		}
	}
	return df
}

func (m model) idf(term string) float64 {
	n, df := float64(len(m.docs)), float64(m.df(term))
	return math.Log(1 + (n-df+.5)/(df+.5))
}

func weight(t text.Term) float64 {
	if t.Weight > 0 {
		return float64(t.Weight)
	}
	return 1
}

// length is the number of terms of a document; those of function words begin with "=" and do not count.
func length(d []text.Term) (n int) {
	for _, t := range d {
		if !strings.HasPrefix(t.Text, "=") {
			n++
		}
	}
	return n
}

// scores are those of all documents that have a word of the query.
func (m model) scores(query []text.Term) map[uint64]float64 {
	total := 0
	for _, d := range m.docs {
		total += length(d)
	}
	weights := map[string]float64{}
	for _, t := range query {
		weights[t.Text] = max(weights[t.Text], weight(t))
	}
	out := map[uint64]float64{}
	for word, w := range weights {
		idf := m.idf(word)
		for id, d := range m.docs {
			tf := 0.0
			for _, t := range d {
				if t.Text == word {
					tf++
				}
			}
			if tf > 0 {
				norm := m.k1 * (1 - m.b + m.b*float64(length(d))/(float64(total)/float64(len(m.docs))))
				out[id] += w * idf * tf * (m.k1 + 1) / (tf + norm)
			}
		}
	}
	return out
}

func terms(words ...string) []text.Term {
	out := make([]text.Term, len(words))
	for i, w := range words {
		out[i] = text.Term{Text: w, Weight: 1}
	}
	return out
}

// zipf draws a word; low numbers are frequent.
func zipf(r *rand.Rand, vocab int) string {
	return fmt.Sprintf("w%d", int(math.Pow(float64(vocab), r.Float64()))-1)
}

func randomDoc(r *rand.Rand, vocab int) []text.Term {
	d := make([]text.Term, r.IntN(30))
	title := r.IntN(2) * r.IntN(len(d)+1)
	for i := range d {
		d[i] = text.Term{Text: zipf(r, vocab), Weight: 1, Beside: r.IntN(4) == 0, Title: i < title}
		if d[i].Beside && (r.IntN(3) == 0 || i > 0 && d[i-1].Beside && strings.ContainsAny(d[i-1].Text, ".=")) {
			if r.IntN(2) == 0 { // of function words or a compound, which are after the pieces of the word before
				d[i].Text = "=" + d[i].Text
			} else {
				d[i].Text += ".x"
			}
		}
	}
	return d
}

// fresh is an index made of the model's documents alone.
func (m model) fresh(t testing.TB, o inverted.Options) *inverted.Words {
	t.Helper()
	e := newWords(t, o).Edit()
	for _, id := range slices.Sorted(maps.Keys(m.docs)) {
		if err := e.Add(id, m.docs[id]); err != nil {
			t.Fatal(err)
		}
	}
	return e.Done()
}

// check compares an index with a fresh one, bit by bit, and with the model.
func (m model) check(t *testing.T, r *rand.Rand, x, fresh *inverted.Words, vocab int) {
	t.Helper()
	if x.Len() != len(m.docs) {
		t.Fatalf("%d documents, want %d", x.Len(), len(m.docs))
	}
	m.checkVocabulary(t, r, x, vocab)
	if err := x.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := slices.Sorted(maps.Keys(m.docs))
	for range 6 {
		query := randomDoc(r, vocab)[:]
		query = query[:min(len(query), 1+r.IntN(8))]
		for i := range query {
			if r.IntN(3) == 0 {
				query[i].Weight = r.Float32()
			}
		}
		allow := func(id uint64) bool { return true }
		if mod := uint64(r.IntN(5)); mod > 0 {
			allow = func(id uint64) bool { return id%mod == 0 }
		}
		// All documents with a word, best first, by the index's own scores.
		got := make([]float64, len(ids))
		if err := x.Scores(t.Context(), got, query, ids); err != nil {
			t.Fatal(err)
		}
		again := make([]float64, len(ids))
		if err := fresh.Scores(t.Context(), again, query, ids); err != nil {
			t.Fatal(err)
		}
		want := m.scores(query)
		var ranked []inverted.Scored
		for i, id := range ids {
			if got[i] != again[i] {
				t.Fatalf("document %d scores %v, in a fresh index %v", id, got[i], again[i])
			}
			if math.Abs(got[i]-want[id]) > 1e-9 {
				t.Fatalf("document %d scores %v, want %v", id, got[i], want[id])
			}
			if _, has := want[id]; has && allow(id) {
				ranked = append(ranked, inverted.Scored{ID: id, Score: got[i]})
			}
		}
		slices.SortFunc(ranked, func(a, b inverted.Scored) int {
			if a.Score > b.Score || a.Score == b.Score && a.ID < b.ID {
				return -1
			}
			return 1
		})
		for _, k := range []int{1, 3, 10, 100, 1 << 40} {
			answers, err := x.Search(t.Context(), nil, query, k, allow)
			if err != nil {
				t.Fatal(err)
			}
			if w := ranked[:min(k, len(ranked))]; !slices.Equal(answers, w) {
				t.Fatalf("top %d of %v:\n got %v\nwant %v", k, query, answers, w)
			}
		}
		if a, b := x.UB(query), fresh.UB(query); a != b {
			t.Fatalf("UB %v, in a fresh index %v", a, b)
		}
		for i := range got {
			if c := inverted.Coverage(got[i], x.UB(query)); c < 0 || c >= 1 {
				t.Fatalf("coverage %v", c)
			}
		}
		found := make([]inverted.Match, len(ids))
		if err := x.Match(t.Context(), found, query, ids); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			g, w := found[i], plainMatch(query, m.docs[id], x.IDF)
			for name, p := range map[string][2]float64{"presence": {g.Presence, w.Presence}, "near": {g.Near, w.Near}, "pair": {g.Pair, w.Pair}, "title": {g.Title, w.Title}} {
				if math.Abs(p[0]-p[1]) > 1e-12 {
					t.Fatalf("%s of %v in %v: %v, want %v", name, query, m.docs[id], p[0], p[1])
				}
			}
		}
	}
}

// TestAgainstModel adds, updates and removes at random and compares with a fresh
// index of what is left and with the plain formula. Values on the way are kept:
// whatever is made of them later, they answer as they did. Some edits are made
// of a value and dropped.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(trial.Rounds(t, 3, 6)) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := inverted.Options{K1: .3 + 2*r.Float64(), B: r.Float64()}
		m := model{o.K1, o.B, map[uint64][]text.Term{}}
		x := newWords(t, o).Words
		vocab, span := 2+r.IntN(300), uint64(20+r.IntN(500))
		change := func(e *inverted.Edit, docs map[uint64][]text.Term) {
			for range r.IntN(200) {
				id := r.Uint64N(span)
				if r.IntN(6) == 0 {
					id |= 1 << 44 // as chunks have: ids do not ascend
				}
				if r.IntN(4) == 0 {
					want := 0
					if _, ok := docs[id]; ok {
						want = 1
					}
					if n, err := e.Remove([]uint64{id}); n != want || err != nil {
						t.Fatalf("removed %d, want %d: %v", n, want, err)
					}
					delete(docs, id)
					continue
				}
				docs[id] = randomDoc(r, vocab)
				if err := e.Add(id, docs[id]); err != nil {
					t.Fatal(err)
				}
			}
		}
		type value struct {
			x *inverted.Words
			m model
		}
		var kept []value
		for range 8 {
			if r.IntN(2) == 0 {
				e := x.Edit()
				change(e, maps.Clone(m.docs))
				if r.IntN(2) == 0 {
					e.Done()
				}
			}
			e := x.Edit()
			m.docs = maps.Clone(m.docs)
			change(e, m.docs)
			x = e.Done()
			kept = append(kept, value{x, m})
			switch r.IntN(4) {
			case 0:
				x = reopened(t, o, x)
			case 1:
				x = compacted(t, x)
			}
			m.check(t, r, x, m.fresh(t, o), vocab)
		}
		for i := 0; i < len(kept); i += 3 {
			v := kept[i]
			v.m.check(t, r, v.x, v.m.fresh(t, o), vocab)
		}
	}
}

// TestRebase holds what Rebase makes of a value and a compacted one to a fresh
// index, whatever edits came between.
func TestRebase(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 8))
		m := model{1.2, .75, map[uint64][]text.Term{}}
		change := func(x *inverted.Words) *inverted.Words {
			e := x.Edit()
			for range r.IntN(200) {
				id := r.Uint64N(150)
				if r.IntN(3) == 0 {
					if _, err := e.Remove([]uint64{id}); err != nil {
						t.Fatal(err)
					}
					delete(m.docs, id)
					continue
				}
				m.docs[id] = randomDoc(r, 100)
				if err := e.Add(id, m.docs[id]); err != nil {
					t.Fatal(err)
				}
			}
			return e.Done()
		}
		x := newWords(t, inverted.Options{}).Words
		for range 6 {
			base := change(x)
			x = change(base)
			fresh := compacted(t, base)
			if r.IntN(2) == 0 {
				fresh = reopened(t, inverted.Options{}, base)
			}
			var err error
			if x, err = x.Rebase(base, fresh); err != nil {
				t.Fatal(err)
			}
			m.check(t, r, x, m.fresh(t, inverted.Options{}), 100)
			if _, err := base.Rebase(x, fresh); !errors.Is(err, inverted.ErrBase) {
				t.Fatalf("rebased on a stranger: %v", err)
			}
		}
	}
}

func compacted(t testing.TB, x *inverted.Words) *inverted.Words {
	t.Helper()
	c, err := x.Compacted(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pairShares and presence are parts of Match.
func pairShares(ctx context.Context, x *inverted.Words, dst []float64, q []text.Term, ids []uint64) error {
	return matches(ctx, x, dst, q, ids, func(m inverted.Match) float64 { return m.Pair })
}

func presence(ctx context.Context, x *inverted.Words, dst []float64, q []text.Term, ids []uint64) error {
	return matches(ctx, x, dst, q, ids, func(m inverted.Match) float64 { return m.Presence })
}

func matches(ctx context.Context, x *inverted.Words, dst []float64, q []text.Term, ids []uint64, of func(inverted.Match) float64) error {
	m := make([]inverted.Match, len(dst))
	if err := x.Match(ctx, m, q, ids); err != nil {
		return err
	}
	scores := make([]float64, len(dst))
	if err := x.Scores(ctx, scores, q, ids); err != nil {
		return err
	}
	for i := range m {
		if m[i].BM25 != scores[i] && !math.IsNaN(scores[i]) || math.IsNaN(scores[i]) != math.IsNaN(m[i].BM25) {
			return fmt.Errorf("document %d scores %v and %v", ids[i], m[i].BM25, scores[i])
		}
		if want := inverted.Coverage(scores[i], x.UB(q)); m[i].Coverage != want && !math.IsNaN(scores[i]) {
			return fmt.Errorf("document %d covers %v and %v", ids[i], m[i].Coverage, want)
		}
		dst[i] = of(m[i])
	}
	return nil
}
