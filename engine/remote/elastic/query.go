package elastic

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
)

// hit is a passage found by a search, with the fields that are stored separately.
type hit struct {
	ID     string  `json:"_id"`
	Score  float64 `json:"_score"`
	Source *source `json:"_source"`
	Fields struct {
		ID    []string
		Chunk []int
		Terms []string
	}
}

type hits struct {
	Hits struct {
		Hits []hit
	}
}

func (h hit) candidate() remote.Candidate {
	c := remote.Candidate{PassageID: remote.PassageID{ID: h.Fields.ID[0], Chunk: h.Fields.Chunk[0]}}
	if len(h.Fields.Terms) > 0 { // there is none where the text has no words
		c.Terms = h.Fields.Terms[0]
	}
	return c
}

// named requests the fields of a candidate, which are cheaper to read than the document.
func named(body object) object {
	body["_source"], body["track_total_hits"] = false, false
	body["stored_fields"], body["docvalue_fields"] = []string{"terms"}, []string{"id", "chunk"}
	return body
}

// cosine converts the server's score of a vector.
func cosine(score float64) float64 { return max(-1, min(2*score-1, 1)) }

// Nearest implements remote.Backend.
func (b *Backend) Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]remote.Candidate, error) {
	k = min(k, most)
	knn := object{"field": "vector", "query_vector": vector, "k": k, "num_candidates": min(max(k, b.o.Candidates), most)}
	if err := filtered(knn, f); err != nil {
		return nil, err
	}
	var out candidates
	if err := b.search(ctx, named(object{"size": k, "knn": knn}), &out); err != nil {
		return nil, err
	}
	cs := make([]remote.Candidate, len(out.hits))
	for i, h := range out.hits {
		cs[i] = h.candidate()
		cs[i].Cosine = cosine(h.Score)
	}
	return cs, nil
}

// mostTerms is the maximum number of query terms sent to the server, whose own limit is at least 1,024. A
// query that is a whole passage may have more.
const mostTerms = 1000

// Matching implements remote.Backend. Terms are weighted by their frequency in all shards. Of more than 1,000 terms
// only the longest are used, since few passages have them.
func (b *Backend) Matching(ctx context.Context, terms []remote.WeightedTerm, k int, f engine.Filter) ([]remote.Candidate, error) {
	if len(terms) > mostTerms {
		terms = slices.Clone(terms)
		slices.SortStableFunc(terms, func(a, b remote.WeightedTerm) int { return cmp.Compare(len(b.Term), len(a.Term)) })
		terms = terms[:mostTerms]
	}
	var should []object
	for _, t := range terms {
		should = append(should, object{"term": object{"terms": object{"value": t.Term, "boost": t.Weight}}})
	}
	words := object{"should": should, "minimum_should_match": 1}
	if err := filtered(words, f); err != nil {
		return nil, err
	}
	var out candidates
	if err := b.search(ctx, named(object{"size": min(k, most), "query": object{"bool": words}}), &out, "search_type=dfs_query_then_fetch"); err != nil {
		return nil, err
	}
	cs := make([]remote.Candidate, len(out.hits))
	for i, h := range out.hits {
		cs[i] = h.candidate()
	}
	return cs, nil
}

// Having implements remote.Backend.
func (b *Backend) Having(ctx context.Context, terms []string) ([]int, error) {
	if len(terms) == 0 {
		return nil, ctx.Err()
	}
	filters := make([]object, len(terms))
	for i, t := range terms {
		filters[i] = object{"term": object{"terms": t}}
	}
	var out struct {
		Aggregations struct {
			Having struct {
				Buckets []struct {
					Count int `json:"doc_count"`
				}
			}
		}
	}
	err := b.search(ctx, object{"size": 0, "track_total_hits": false, "aggs": object{"having": object{"filters": object{"filters": filters}}}}, &out)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(terms))
	for i, bucket := range out.Aggregations.Having.Buckets {
		counts[i] = bucket.Count
	}
	return counts, nil
}

// Cosines implements remote.Backend. If a filter keeps no more passages than are requested, the server compares them
// one by one.
func (b *Backend) Cosines(ctx context.Context, vector []float32, ids []remote.PassageID) ([]float64, error) {
	cosines := make([]float64, len(ids))
	for i := range cosines {
		cosines[i] = math.NaN()
	}
	for from := 0; from < len(ids); from += most {
		some := ids[from:min(from+most, len(ids))]
		at := make(map[string]int, len(some))
		keys := make([]string, len(some))
		for i, id := range some {
			keys[i] = keyOf(id)
			at[keys[i]] = from + i
		}
		var out hits
		err := b.search(ctx, object{"size": len(some), "_source": false, "track_total_hits": false, "knn": object{
			"field": "vector", "query_vector": vector, "k": len(some), "num_candidates": len(some), "filter": object{"ids": object{"values": keys}},
		}}, &out)
		if err != nil {
			return nil, err
		}
		for _, h := range out.Hits.Hits {
			cosines[at[h.ID]] = cosine(h.Score)
		}
	}
	return cosines, ctx.Err()
}

// Count implements remote.Backend.
func (b *Backend) Count(ctx context.Context, f engine.Filter) (int, error) {
	first := object{"must": object{"term": object{"chunk": 0}}}
	if err := filtered(first, f); err != nil {
		return 0, err
	}
	var out struct {
		Hits struct {
			Total struct{ Value int }
		}
	}
	err := b.search(ctx, object{"size": 0, "track_total_hits": true, "query": object{"bool": first}}, &out)
	return out.Hits.Total.Value, err
}

// page is the number of passages in each part of a scan.
const page = 1000

// Scan implements remote.Backend. It reads page by page, in the byte order of ids.
func (b *Backend) Scan(ctx context.Context, f engine.Filter, o remote.ScanOptions) iter.Seq2[remote.Passage, error] {
	return func(yield func(remote.Passage, error) bool) {
		parts := max(o.Parts, 1)
		within := object{"must": object{"range": object{"part": object{"gte": o.Part * partCount / parts, "lt": (o.Part + 1) * partCount / parts}}}}
		if err := filtered(within, f); err != nil {
			yield(remote.Passage{}, err)
			return
		}
		body := object{"size": page, "track_total_hits": false, "query": object{"bool": within}, "sort": []object{{"id": "asc"}, {"chunk": "asc"}}}
		if o.After != "" {
			body["search_after"] = []any{o.After, math.MaxInt32}
		}
		for {
			var out hits
			if err := b.search(ctx, body, &out); err != nil {
				yield(remote.Passage{}, err)
				return
			}
			for _, h := range out.Hits.Hits {
				p, err := h.Source.passage()
				if err == nil {
					err = ctx.Err()
				}
				if !yield(p, err) || err != nil {
					return
				}
			}
			if len(out.Hits.Hits) < page {
				return
			}
			last := out.Hits.Hits[page-1].Source
			body["search_after"] = []any{last.ID, last.Chunk}
		}
	}
}

// filtered puts a filter into a query.
func filtered(into object, f engine.Filter) error {
	if f.IsZero() {
		return nil
	}
	q, err := filter.Answer(f, algebra{})
	if err == nil {
		into["filter"] = q
	}
	return err
}

// clause is a part of a query: clauses joined by "filter" (all), "should" (one) or "must_not", or a single
// one.
type clause struct {
	join string
	args []clause
	leaf object
}

// MarshalJSON implements json.Marshaler.
func (c clause) MarshalJSON() ([]byte, error) {
	if c.join == "" {
		return json.Marshal(c.leaf)
	}
	b := object{c.join: c.args}
	if c.join == "should" {
		b["minimum_should_match"] = 1
	}
	return json.Marshal(object{"bool": b})
}

// algebra turns a filter into a clause.
type algebra struct{}

func (algebra) All(yes bool) (clause, error) {
	if yes {
		return clause{leaf: object{"match_all": object{}}}, nil
	}
	return clause{leaf: object{"match_none": object{}}}, nil
}

func (algebra) Not(a clause) (clause, error) { return clause{join: "must_not", args: []clause{a}}, nil }

func (algebra) And(a, b clause) (clause, error) { return joined("filter", a, b), nil }

func (algebra) Or(a, b clause) (clause, error) { return joined("should", a, b), nil }

// joined extends a clause that is joined in the same way, since the server limits the nesting of clauses.
func joined(join string, a, b clause) clause {
	if a.join == join {
		return clause{join: join, args: append(slices.Clip(a.args), b)}
	}
	return clause{join: join, args: []clause{a, b}}
}

func (algebra) Where(c *filter.Condition) (clause, error) {
	ranges, err := c.Facts()
	if err != nil {
		return clause{}, err
	}
	equal := []string{}
	var all []clause
	for _, r := range ranges {
		if r.From == r.To {
			equal = append(equal, r.From)
			continue
		}
		bounds := object{}
		for _, x := range []struct {
			of          string
			open        bool
			with, least string
		}{{r.From, r.FromOpen, "gte", "gt"}, {r.To, r.ToOpen, "lte", "lt"}} {
			switch {
			case x.of == "":
			case x.open:
				bounds[x.least] = x.of
			default:
				bounds[x.with] = x.of
			}
		}
		all = append(all, clause{leaf: object{"range": object{"facts": bounds}}})
	}
	return oneOf("facts", equal, all), nil
}

// oneOf matches if a field has one of the values, or one of the clauses matches.
func oneOf(field string, equal []string, all []clause) clause {
	if len(equal) > 0 || len(all) == 0 {
		all = append(all, clause{leaf: object{"terms": object{field: equal}}})
	}
	if len(all) == 1 {
		return all[0]
	}
	return clause{join: "should", args: all}
}

// WhereID compares the ids themselves, which the server sorts by bytes.
func (algebra) WhereID(c *filter.Condition) (clause, error) {
	equal := []string{}
	var all []clause
	for _, r := range c.IDs() {
		if r.One() {
			equal = append(equal, r.From)
			continue
		}
		bounds := object{"gte": r.From}
		if r.Below != "" {
			bounds["lt"] = r.Below
		}
		all = append(all, clause{leaf: object{"range": object{"id": bounds}}})
	}
	return oneOf("id", equal, all), nil
}
