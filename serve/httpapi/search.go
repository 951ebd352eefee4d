package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
)

// searchRequest is the body of a search. The fields have the meanings of engine.Query.
type searchRequest struct {
	Query    string    `json:"query"`
	Vector   []float32 `json:"vector"`
	Image    []byte    `json:"image"`
	Like     []string  `json:"like"`
	Unlike   []string  `json:"unlike"`
	K        *int      `json:"k"`
	Offset   int       `json:"offset"`
	MinScore float32   `json:"min_score"`
	Mode     string    `json:"mode"`
	Variant  string    `json:"variant"`
	Filter   string    `json:"filter"`
	Fusion   string    `json:"fusion"`
	Presence float64   `json:"presence"`
	Beta     float64   `json:"beta"`
	PerChunk bool      `json:"per_chunk"`
	Collapse bool      `json:"collapse"`
	Ef       int       `json:"ef"`
	Rerank   int       `json:"rerank"`
	Spans    bool      `json:"spans"`
	Plain    bool      `json:"plain"`
	Exact    bool      `json:"exact"`
	Places   bool      `json:"places"`
	Boost    string    `json:"boost"`
	Sort     string    `json:"sort"`
	GroupBy  string    `json:"group_by"`
	PerGroup int       `json:"per_group"`
}

// query makes the query of a request.
func (in *searchRequest) query(o Options) (q engine.Query, err error) {
	q = engine.Query{
		Text: in.Query, Vector: in.Vector, Image: in.Image, Like: in.Like, Unlike: in.Unlike, Offset: in.Offset, MinScore: in.MinScore, Mode: in.Mode, Variant: in.Variant,
		PerChunk: in.PerChunk, Collapse: in.Collapse, Ef: in.Ef, Rerank: in.Rerank, Spans: in.Spans, Plain: in.Plain, Exact: in.Exact, Places: in.Places,
		Boost: in.Boost, Sort: in.Sort, GroupBy: in.GroupBy, PerGroup: in.PerGroup,
	}
	q.Fusion.Kind, q.Fusion.Presence, q.Fusion.Beta = in.Fusion, in.Presence, in.Beta
	if in.K != nil {
		if *in.K < 1 || *in.K > o.MaxK {
			return q, invalid("k", "k is %d; use a number from 1 to %d, and offset for more hits", *in.K, o.MaxK)
		}
		q.K = *in.K
	}
	if in.Offset < 0 || in.Offset > engine.MaxK {
		return q, invalid("offset", "offset is %d; use a number from 0 to %d", in.Offset, engine.MaxK)
	}
	if in.Rerank > o.MaxRerank {
		return q, invalid("rerank", "rerank is %d; use 1 to %d, 0 for the server's default, or -1 for none", in.Rerank, o.MaxRerank)
	}
	q.Filter, err = answer.Filter(in.Filter)
	return q, err
}

func search(ctx context.Context, c *call, in *searchRequest) (answer.Search, error) {
	q, err := in.query(c.s.o)
	if err != nil {
		return answer.Search{}, err
	}
	c.sees(in.Query)
	begin := time.Now()
	res, err := c.db.Search(ctx, q)
	if err != nil {
		return answer.Search{}, err
	}
	c.found(res)
	return answer.NewSearch(in.Query, res, time.Since(begin)), nil
}

type batchRequest struct {
	Searches []searchRequest `json:"searches"`
}

type batchAnswer struct {
	Results []answer.Search `json:"results"`
	TookMS  float64         `json:"took_ms"`
}

func searchBatch(ctx context.Context, c *call, in *batchRequest) (batchAnswer, error) {
	if n := len(in.Searches); n < 1 || n > c.s.o.MaxTexts {
		return batchAnswer{}, invalid("searches", "%d searches; send 1 to %d", n, c.s.o.MaxTexts)
	}
	qs := make([]engine.Query, len(in.Searches))
	wanted := 0
	for i := range in.Searches {
		q, err := in.Searches[i].query(c.s.o)
		if err != nil {
			e := *errorOf(err)
			e.At, e.Message = &i, fmt.Sprintf("search %d: %s", i, e.Message)
			return batchAnswer{}, &e
		}
		qs[i] = q
		q.K = cmp.Or(q.K, 10)
		wanted += q.K
		c.sees(q.Text)
	}
	if most := 10 * c.s.o.MaxK; wanted > most {
		return batchAnswer{}, invalid("searches", "the searches request %d hits in total; request at most %d", wanted, most)
	}
	begin := time.Now()
	found, err := c.db.SearchBatch(ctx, qs)
	if err != nil {
		e := *errorOf(err)
		if one := (*engine.QueryError)(nil); errors.As(err, &one) {
			e.At = &one.Position
		}
		return batchAnswer{}, &e
	}
	took := time.Since(begin)
	out := batchAnswer{Results: make([]answer.Search, len(found)), TookMS: millis(took)}
	for i, res := range found {
		c.found(res)
		out.Results[i] = answer.NewSearch(in.Searches[i].Query, res, lasted(res))
	}
	return out, nil
}

// lasted is the total time of the steps of a search.
func lasted(res engine.Result) (t time.Duration) {
	for _, s := range res.Trace.Steps {
		t += s.Took
	}
	return t
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// explainRequest is a search and the id of the document to explain, "" for the first hit.
type explainRequest struct {
	ID      string `json:"id"`
	Picture bool   `json:"picture"` // of an image
	searchRequest
}

func explain(ctx context.Context, c *call, in *explainRequest) (answer.Explanation, error) {
	q, err := in.query(c.s.o)
	if err != nil {
		return answer.Explanation{}, err
	}
	c.sees(in.Query)
	id := in.ID
	if id == "" {
		first := q
		first.K = 1
		res, err := c.db.Search(ctx, first)
		if err != nil {
			return answer.Explanation{}, err
		}
		if len(res.Hits) == 0 {
			return answer.Explanation{}, fmt.Errorf("no hit to explain: %w", engine.ErrNotFound)
		}
		id = res.Hits[0].ID
	}
	q.Picture = in.Picture
	x, err := c.db.Explain(ctx, q, id)
	if err != nil {
		return answer.Explanation{}, err
	}
	return answer.NewExplanation(in.Query, x), nil
}

// sees keeps the text of a query for the log, if queries are logged.
func (c *call) sees(query string) {
	if c.s.o.LogQueries {
		c.x.notes = append(c.x.notes, slog.String("query", query))
	}
}

// found counts the results of a search.
func (c *call) found(res engine.Result) {
	c.x.notes = append(c.x.notes, slog.String("mode", res.Trace.Mode), slog.String("variant", res.Trace.Variant), slog.Int("hits", len(res.Hits)))
	c.s.metrics.searched(res.Trace)
}
