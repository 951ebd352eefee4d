package share

import (
	"context"

	"github.com/lexsem/lexsem/engine"
)

var search = newCall("Search", repeats, queried, found, engine.Database.Search)

// Search is engine.Engine.Search. The process that has the database open encodes the text.
func (j *Joined) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	return search.from(ctx, j, q)
}

var searchBatch = newCall("SearchBatch", repeats, many(queried, func(i int, _ engine.Query, err error) error {
	return &engine.QueryError{Position: i, Err: err}
}), many(found, nil), engine.Database.SearchBatch)

// SearchBatch is engine.Engine.SearchBatch.
func (j *Joined) SearchBatch(ctx context.Context, qs []engine.Query) ([]engine.Result, error) {
	return searchBatch.from(ctx, j, qs)
}

var explain = newCall("Explain", repeats,
	form[explainOf, explainArgs]{
		func(x explainOf) (explainArgs, error) {
			q, err := queried.to(x.Query)
			return explainArgs{q, x.ID}, err
		},
		func(w explainArgs) (explainOf, error) {
			q, err := queried.from(w.Query)
			return explainOf{q, w.ID}, err
		},
	},
	described(func(x *engine.Explanation) *map[string]any { return &x.Metadata }),
	func(db engine.Database, ctx context.Context, x explainOf) (engine.Explanation, error) {
		return db.Explain(ctx, x.Query, x.ID)
	})

type explainOf struct {
	Query engine.Query
	ID    string
}

type explainArgs struct {
	Query query
	ID    string
}

// Explain is engine.Engine.Explain.
func (j *Joined) Explain(ctx context.Context, q engine.Query, id string) (engine.Explanation, error) {
	return explain.from(ctx, j, explainOf{q, id})
}

var vector = newCall("Vector", repeats, queried,
	form[traced, vectorOf]{
		func(v traced) (vectorOf, error) { return vectorOf{pack(v.Vector), v.Trace}, nil },
		func(w vectorOf) (traced, error) {
			v, err := w.Vector.unpack()
			return traced{v, w.Trace}, err
		},
	},
	func(db engine.Database, ctx context.Context, q engine.Query) (r traced, err error) {
		r.Vector, r.Trace, err = db.Vector(ctx, q)
		return r, err
	})

type traced struct {
	Vector []float32
	Trace  engine.Trace
}

type vectorOf struct {
	Vector packed
	Trace  engine.Trace
}

// Vector is engine.Engine.Vector.
func (j *Joined) Vector(ctx context.Context, q engine.Query) ([]float32, engine.Trace, error) {
	r, err := vector.from(ctx, j, q)
	return r.Vector, r.Trace, err
}

// query is engine.Query with the vector in another form.
type query struct {
	engine.Query
	Packed packed
}

var queried = form[engine.Query, query]{
	func(q engine.Query) (query, error) {
		w := query{q, pack(q.Vector)}
		w.Vector = nil
		return w, q.Filter.Err()
	},
	func(w query) (q engine.Query, err error) {
		w.Vector, err = w.Packed.unpack()
		return w.Query, err
	},
}

type result struct {
	Hits  []meta[engine.Hit]
	Trace engine.Trace
	For   string
}

var hits = many(described(func(h *engine.Hit) *map[string]any { return &h.Metadata }), nil)

var found = form[engine.Result, result]{
	func(r engine.Result) (w result, err error) {
		w.Trace, w.For = r.Trace, r.For
		w.Hits, err = hits.to(r.Hits)
		return w, err
	},
	func(w result) (r engine.Result, err error) {
		r.Trace, r.For = w.Trace, w.For
		r.Hits, err = hits.from(w.Hits)
		return r, err
	},
}
