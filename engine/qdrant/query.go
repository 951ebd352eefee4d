package qdrant

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/internal/points"
)

// named is what of a passage's payload makes a candidate.
var named = []string{"id", "id_bytes", "chunk", "terms", "terms_bytes"}

// candidates asks for the k points nearest to a vector, dense or sparse, with what names them.
func (b *Backend) candidates(ctx context.Context, vector any, using string, k int, w where, params object) (cs []engine.Candidate, err error) {
	if w.never() || k < 1 {
		return nil, ctx.Err()
	}
	request := w.in(object{"query": vector, "using": using, "limit": k, "with_payload": named})
	if params != nil {
		request["params"] = params
	}
	var out struct {
		Points []struct {
			ID      string
			Score   float64
			Payload payload
		}
	}
	if err := b.call(ctx, "POST", "/points/query", request, &out); err != nil {
		return nil, err
	}
	for _, h := range out.Points {
		p := h.Payload
		c := engine.Candidate{PassageID: p.passageID(), Cosine: cosine(h.Score), Terms: exact(p.Terms, p.TermsBytes)}
		if err := b.check(h.ID, c.PassageID); err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// cosine is what the dot product of two vectors of unit length stands for.
func cosine(score float64) float64 { return max(-1, min(score, 1)) }

// breadth is how many candidates a search of the graph follows at least.
const breadth = 400

// Nearest implements engine.Backend.
func (b *Backend) Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]engine.Candidate, error) {
	w, err := condition(f)
	if err != nil {
		return nil, err
	}
	return b.candidates(ctx, vector, dense, k, w, object{"hnsw_ef": max(2*k, breadth)})
}

// Matching implements engine.Backend. Weights of terms were made for an average length (weightsOf), and a shard
// weighs terms by its own passages; so the server is asked for a quarter more than k.
func (b *Backend) Matching(ctx context.Context, terms []engine.WeightedTerm, k int, f engine.Filter) ([]engine.Candidate, error) {
	w, err := condition(f)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	weights := map[uint32]float32{}
	for _, t := range terms {
		asked[t.Term] = true
		weights[indexOf(t.Term)] += float32(t.Weight)
	}
	if len(weights) == 0 {
		return nil, ctx.Err()
	}
	cs, err := b.candidates(ctx, sparseOf(weights), sparse, k+k/4, w, nil)
	if err != nil {
		return nil, err
	}
	met := cs[:0]
	for _, c := range cs { // two terms may have one index
		for t := range strings.FieldsSeq(c.Terms) {
			if asked[t] {
				c.Cosine = 0
				met = append(met, c)
				break
			}
		}
	}
	return met, nil
}

// beside is how many counts one call asks for at a time.
const beside = 16

// Having implements engine.Backend.
func (b *Backend) Having(ctx context.Context, terms []string) ([]int, error) {
	counts := make([]int, len(terms))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(beside)
	for i, t := range terms {
		g.Go(func() (err error) {
			counts[i], err = b.count(within, is(object{"key": "words", "match": object{"value": wordOf(t)}}))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	return counts, ctx.Err()
}

// Count implements engine.Backend.
func (b *Backend) Count(ctx context.Context, f engine.Filter) (int, error) {
	w, err := condition(f)
	if err != nil {
		return 0, err
	}
	w, err = algebra{}.And(w, first)
	if err != nil {
		return 0, err
	}
	return b.count(ctx, w)
}

func (b *Backend) count(ctx context.Context, w where) (int, error) {
	if w.never() {
		return 0, ctx.Err()
	}
	var out struct{ Count *int }
	err := b.call(ctx, "POST", "/points/count", w.in(object{"exact": true}), &out)
	if err == nil && out.Count == nil {
		err = fmt.Errorf("%s: %w: no count", b.Name(), ErrServer)
	}
	if err != nil {
		return 0, err
	}
	return *out.Count, nil
}

// page is how many points come, or are named, at once.
const page = 1000

// Cosines implements engine.Backend: the server compares the points that are named one by one.
func (b *Backend) Cosines(ctx context.Context, vector []float32, ids []engine.PassageID) ([]float64, error) {
	cosines := make([]float64, len(ids))
	at := make(map[string][]int, len(ids))
	var keys []string
	for i, id := range ids {
		cosines[i] = math.NaN()
		k := points.ID(id)
		if at[k] == nil {
			keys = append(keys, k)
		}
		at[k] = append(at[k], i)
	}
	for from := 0; from < len(keys); from += page {
		some := keys[from:min(from+page, len(keys))]
		var out struct {
			Points []struct {
				ID    string
				Score float64
			}
		}
		if err := b.call(ctx, "POST", "/points/query", is(object{"has_id": some}).in(object{
			"query": vector, "using": dense, "limit": len(some), "params": object{"exact": true}, "with_payload": false,
		}), &out); err != nil {
			return nil, err
		}
		for _, h := range out.Points {
			for _, i := range at[h.ID] {
				cosines[i] = cosine(h.Score)
			}
		}
	}
	return cosines, ctx.Err()
}

// Scan implements engine.Backend, in the order of the points' ids.
func (b *Backend) Scan(ctx context.Context, f engine.Filter, o engine.ScanOptions) iter.Seq2[engine.Passage, error] {
	return func(yield func(engine.Passage, error) bool) {
		w, err := condition(f)
		from, end := points.Between(o)
		for more := err == nil && !w.never(); more; {
			var ps []engine.Passage
			var next string
			if ps, next, err = b.walk(ctx, w, from, end); err != nil {
				break
			}
			for i, p := range ps {
				if i%64 == 0 && ctx.Err() != nil {
					break
				}
				if !yield(p, nil) {
					return
				}
			}
			if err = ctx.Err(); err != nil {
				break
			}
			if more = next != ""; more && next <= from {
				err = fmt.Errorf("%s: %w: the page behind %s begins with %s", b.Name(), ErrServer, from, next)
				break
			}
			from = next
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			yield(engine.Passage{}, err)
		}
	}
}

// walk returns the passages that meet w from an id of the server's on, up to before end, and the id that the next
// page begins with; "" for none.
func (b *Backend) walk(ctx context.Context, w where, from, end string) (ps []engine.Passage, next string, err error) {
	var out struct {
		Points []record
		Next   *string `json:"next_page_offset"`
	}
	if err := b.call(ctx, "POST", "/points/scroll", w.in(object{"offset": from, "limit": page, "with_payload": without(made...), "with_vector": []string{dense}}), &out); err != nil {
		return nil, "", err
	}
	for _, r := range out.Points {
		if end != "" && r.ID >= end {
			return ps, "", nil
		}
		p, err := b.passage(r)
		if err != nil {
			return nil, "", err
		}
		ps = append(ps, p)
	}
	if out.Next != nil {
		next = *out.Next
	}
	return ps, next, nil
}
