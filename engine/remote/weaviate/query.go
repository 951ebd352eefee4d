package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/vec"
)

// most is the maximum number of passages that the server returns at once.
const most = 10_000

// hit is a passage found by a query.
type hit struct {
	ID         string `json:"docid"`
	Chunk      int
	Terms      string
	Additional struct {
		ID       string
		Distance float64
	} `json:"_additional"`
}

func (h hit) candidate() remote.Candidate {
	return remote.Candidate{PassageID: remote.PassageID{ID: h.ID, Chunk: h.Chunk}, Cosine: h.cosine(), Terms: h.Terms}
}

func (h hit) cosine() float64 { return max(-1, min(1-h.Additional.Distance, 1)) }

// oneCopy is the argument for reading one copy of each shard, so that searches work while another copy is
// away. The server accepts it only for classes with several copies.
func (b *Backend) oneCopy(ctx context.Context) (string, error) {
	if b.copies.Load() == 0 {
		if _, err := b.Info(ctx); err != nil {
			return "", err
		}
	}
	if b.copies.Load() == 1 {
		return "", nil
	}
	return "consistencyLevel:ONE,", nil
}

// get requests passages: the arguments of the query, and the fields of each.
func (b *Backend) get(ctx context.Context, arguments, fields string) ([]hit, error) {
	one, err := b.oneCopy(ctx)
	if err != nil {
		return nil, err
	}
	var out struct{ Get map[string][]hit }
	err = b.ask(ctx, fmt.Sprintf(`{Get{%s(%s%s){%s}}}`, b.o.Class, one, arguments, fields), &out)
	return out.Get[b.o.Class], err
}

func near(vector []float32) string {
	s := append([]byte(nil), `nearVector:{targetVectors:["`+vectorName+`"],vector:[`...)
	for i, x := range vector {
		if i > 0 {
			s = append(s, ',')
		}
		s = strconv.AppendFloat(s, float64(x), 'g', -1, 32)
	}
	return string(s) + "]}"
}

// Nearest implements remote.Backend.
func (b *Backend) Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]remote.Candidate, error) {
	w, err := condition(f)
	if err != nil {
		return nil, err
	}
	found, err := b.get(ctx, fmt.Sprintf("%s,limit:%d%s", near(vector), min(k, most), w.argument()), "docid chunk terms _additional{distance}")
	return candidates(found), err
}

func candidates(found []hit) []remote.Candidate {
	cs := make([]remote.Candidate, len(found))
	for i, h := range found {
		cs[i] = h.candidate()
	}
	return cs
}

const (
	// mostTerms is the maximum number of query terms sent to the server, and shares how often a term of
	// weight 1 is repeated if others weigh less: the server counts repetitions of a term.
	mostTerms = 1000
	shares    = 6
)

// Matching implements remote.Backend. Each shard weights terms by its own passages, and weights are rounded to a sixth;
// so the Backend asks for a fifth more than k.
func (b *Backend) Matching(ctx context.Context, terms []remote.WeightedTerm, k int, f engine.Filter) ([]remote.Candidate, error) {
	w, err := condition(f)
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	if len(terms) > mostTerms {
		terms = slices.Clone(terms)
		slices.SortStableFunc(terms, func(a, b remote.WeightedTerm) int { return cmp.Compare(len(b.Term), len(a.Term)) })
		terms = terms[:mostTerms]
	}
	alike := !slices.ContainsFunc(terms, func(t remote.WeightedTerm) bool { return t.Weight != terms[0].Weight })
	var words []string
	for _, t := range terms {
		times := 1
		if !alike {
			times = max(1, int(math.Round(shares*t.Weight)))
		}
		for range times {
			words = append(words, t.Term)
		}
	}
	arguments := fmt.Sprintf(`bm25:{query:%s,properties:["terms"]},limit:%d%s`, text(strings.Join(words, " ")), min(k+k/5, most), w.argument())
	found, err := b.get(ctx, arguments, "docid chunk terms")
	return candidates(found), err
}

// Having implements remote.Backend.
func (b *Backend) Having(ctx context.Context, terms []string) ([]int, error) {
	counts := make([]int, len(terms))
	for from := 0; from < len(terms); from += mostTerms {
		some := terms[from:min(from+mostTerms, len(terms))]
		var q strings.Builder
		q.WriteString("{Aggregate{")
		for i, t := range some {
			fmt.Fprintf(&q, `t%d:%s(where:{path:["terms"],operator:Equal,valueText:%s}){meta{count}} `, i, b.o.Class, text(t))
		}
		q.WriteString("}}")
		var out struct {
			Aggregate map[string][]struct{ Meta struct{ Count int } }
		}
		if err := b.ask(ctx, q.String(), &out); err != nil {
			return nil, err
		}
		for i := range some {
			if got := out.Aggregate["t"+strconv.Itoa(i)]; len(got) == 1 {
				counts[from+i] = got[0].Meta.Count
			} else {
				return nil, fmt.Errorf("%s: %w: no count of term %q", b.Name(), ErrServer, some[i])
			}
		}
	}
	return counts, ctx.Err()
}

// Cosines implements remote.Backend. If a filter leaves few passages, the server compares them one by one. Passages
// missing from its graph are compared on this side.
func (b *Backend) Cosines(ctx context.Context, vector []float32, ids []remote.PassageID) ([]float64, error) {
	cosines := make([]float64, len(ids))
	for i := range cosines {
		cosines[i] = math.NaN()
	}
	for from := 0; from < len(ids); from += page {
		some := ids[from:min(from+page, len(ids))]
		at := make(map[string]int, len(some))
		keys := make([]string, len(some))
		for i, id := range some {
			keys[i] = uuidOf(id)
			at[keys[i]] = from + i
		}
		found, err := b.get(ctx, fmt.Sprintf("%s,limit:%d%s", near(vector), len(some), named(keys).argument()), "_additional{id distance}")
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			cosines[at[h.Additional.ID]] = h.cosine()
		}
		rest := slices.DeleteFunc(keys, func(key string) bool { return !math.IsNaN(cosines[at[key]]) })
		left, err := b.read(ctx, rest, true)
		if err != nil {
			return nil, err
		}
		for _, s := range left {
			if v := s.Vectors[vectorName]; len(v) == len(vector) {
				cosines[at[s.ID]] = max(-1, min(float64(vec.Dot(vector, v)), 1))
			}
		}
	}
	return cosines, ctx.Err()
}

// named matches passages with the given server ids.
func named(keys []string) where {
	return where(`{path:["id"],operator:ContainsAny,valueText:` + texts(keys) + `}`)
}

// Count implements remote.Backend.
func (b *Backend) Count(ctx context.Context, f engine.Filter) (int, error) {
	w, err := condition(f)
	if err != nil {
		return 0, err
	}
	both := whole
	if w != "" {
		both = joined("And", whole, w)
	}
	var out struct {
		Aggregate map[string][]struct{ Meta struct{ Count int } }
	}
	if err := b.ask(ctx, fmt.Sprintf(`{Aggregate{%s(where:%s){meta{count}}}}`, b.o.Class, both), &out); err != nil {
		return 0, err
	}
	if got := out.Aggregate[b.o.Class]; len(got) == 1 {
		return got[0].Meta.Count, nil
	}
	return 0, fmt.Errorf("%s: %w: no count", b.Name(), ErrServer)
}

// page is how many passages are returned or named at once.
const page = 1000

// Scan implements remote.Backend, in the order of the server's ids. The filter is applied on this side.
func (b *Backend) Scan(ctx context.Context, f engine.Filter, o remote.ScanOptions) iter.Seq2[remote.Passage, error] {
	return func(yield func(remote.Passage, error) bool) {
		after, end := between(o)
		for {
			ps, last, err := b.walk(ctx, after)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(remote.Passage{}, err)
				return
			}
			for i, p := range ps {
				if end != "" && uuidOf(p.PassageID) >= end {
					return
				}
				met, err := f.Meets(p.ID, p.Facts)
				if err == nil && i%64 == 0 {
					err = ctx.Err()
				}
				if err != nil {
					yield(remote.Passage{}, err)
					return
				}
				if met && !yield(p, nil) {
					return
				}
			}
			if len(ps) == 0 {
				return
			}
			after = last
		}
	}
}

// walk returns the passages after a server id, and the id of the last one.
func (b *Backend) walk(ctx context.Context, after string) (ps []remote.Passage, last string, err error) {
	var out struct {
		Objects []stored
	}
	if err := b.c.Call(ctx, "GET", fmt.Sprintf("/v1/objects?class=%s&limit=%d&after=%s&include=vector", b.o.Class, page, after), nil, &out); err != nil {
		return nil, "", err
	}
	for _, s := range out.Objects {
		p, err := s.passage()
		if err != nil {
			return nil, "", err
		}
		ps, last = append(ps, p), s.ID
	}
	return ps, last, nil
}
