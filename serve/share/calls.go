package share

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metadata"
)

// served is how a holder answers one call of engine.Database.
type served struct {
	types []reflect.Type // of what it takes and gives
	run   func(ctx context.Context, db engine.Database, args []byte, s *session) (any, error)
}

// call makes one of a function over decoded arguments.
func call[A, R any](do func(ctx context.Context, db engine.Database, a A, s *session) (R, error)) served {
	return served{
		types: []reflect.Type{reflect.TypeFor[A](), reflect.TypeFor[R]()},
		run: func(ctx context.Context, db engine.Database, raw []byte, s *session) (any, error) {
			a, err := decode[A](raw)
			if err != nil {
				return nil, err
			}
			return do(ctx, db, a, s)
		},
	}
}

// nothing is what a call takes or gives that takes or gives nothing.
type nothing struct{}

// Names of calls that are asked for in more than one place.
const (
	callAdd    = "Add"
	callUpsert = "Upsert"
)

// calls are all there are, by name.
var calls = sync.OnceValue(func() map[string]served {
	store := func(do func(engine.Database, context.Context, []engine.Document) (engine.AddResult, error)) served {
		return call(func(ctx context.Context, db engine.Database, wired []document, _ *session) (r engine.AddResult, err error) {
			docs := make([]engine.Document, len(wired))
			for i, w := range wired {
				if docs[i], err = w.document(); err != nil {
					return r, err
				}
			}
			return do(db, ctx, docs)
		})
	}
	return map[string]served{
		callAdd:    store(engine.Database.Add),
		callUpsert: store(engine.Database.Upsert),
		"Patch": call(func(ctx context.Context, db engine.Database, wired []patch, _ *session) (int, error) {
			patches := make([]engine.Patch, len(wired))
			for i, w := range wired {
				patches[i] = w.Patch
				var err error
				if patches[i].Metadata, err = decodeMeta(w.Meta); err != nil {
					return 0, err
				}
			}
			return db.Patch(ctx, patches)
		}),
		"Delete": call(func(ctx context.Context, db engine.Database, ids []string, _ *session) (int, error) {
			return db.Delete(ctx, ids)
		}),
		"DeleteWhere": call(func(ctx context.Context, db engine.Database, f engine.Filter, _ *session) (int, error) {
			return db.DeleteWhere(ctx, f)
		}),
		"Get": call(func(ctx context.Context, db engine.Database, id string, _ *session) (document, error) {
			d, err := db.Get(ctx, id)
			if err != nil {
				return document{}, err
			}
			return wireDocument(d)
		}),
		"All": call(func(ctx context.Context, db engine.Database, f engine.Filter, s *session) (nothing, error) {
			for d, err := range db.All(ctx, f) {
				if err != nil {
					return nothing{}, err
				}
				w, err := wireDocument(d)
				if err != nil {
					return nothing{}, err
				}
				if err := s.item(w); err != nil {
					return nothing{}, err
				}
			}
			return nothing{}, nil
		}),
		"Count": call(func(ctx context.Context, db engine.Database, f engine.Filter, _ *session) (int, error) {
			return db.Count(ctx, f)
		}),
		"Search": call(func(ctx context.Context, db engine.Database, w query, _ *session) (result, error) {
			q, err := w.query()
			if err != nil {
				return result{}, err
			}
			r, err := db.Search(ctx, q)
			if err != nil {
				return result{}, err
			}
			return wireResult(r)
		}),
		"SearchBatch": call(func(ctx context.Context, db engine.Database, wired []query, _ *session) ([]result, error) {
			qs := make([]engine.Query, len(wired))
			for i, w := range wired {
				var err error
				if qs[i], err = w.query(); err != nil {
					return nil, err
				}
			}
			rs, err := db.SearchBatch(ctx, qs)
			if err != nil || rs == nil {
				return nil, err
			}
			out := make([]result, len(rs))
			for i, r := range rs {
				if out[i], err = wireResult(r); err != nil {
					return nil, err
				}
			}
			return out, nil
		}),
		"Explain": call(func(ctx context.Context, db engine.Database, a explainArgs, _ *session) (explanation, error) {
			q, err := a.Query.query()
			if err != nil {
				return explanation{}, err
			}
			x, err := db.Explain(ctx, q, a.ID)
			if err != nil {
				return explanation{}, err
			}
			meta, err := encodeMeta(x.Metadata)
			x.Metadata = nil
			return explanation{x, meta}, err
		}),
		"Vector": call(func(ctx context.Context, db engine.Database, w query, _ *session) (vectorOf, error) {
			q, err := w.query()
			if err != nil {
				return vectorOf{}, err
			}
			v, t, err := db.Vector(ctx, q)
			return vectorOf{pack(v), t}, err
		}),
		"Stats": call(func(ctx context.Context, db engine.Database, _ nothing, _ *session) (engine.Stats, error) {
			return db.Stats(ctx)
		}),
		"Verify": call(func(ctx context.Context, db engine.Database, _ nothing, s *session) (engine.VerifyReport, error) {
			return db.Verify(ctx, s.report)
		}),
		"Flush": call(func(ctx context.Context, db engine.Database, _ nothing, _ *session) (nothing, error) {
			return nothing{}, db.Flush(ctx)
		}),
		"Fit": call(func(ctx context.Context, db engine.Database, a fitArgs, s *session) (engine.FitReport, error) {
			o := a.options()
			o.Progress = s.report
			return db.Fit(ctx, o)
		}),
		"Default": call(func(_ context.Context, db engine.Database, _ nothing, _ *session) (string, error) {
			return db.Default(), nil
		}),
		"Export": call(func(ctx context.Context, db engine.Database, o engine.ExportOptions, s *session) (int, error) {
			return db.Export(ctx, s, o)
		}),
		"Import": call(func(ctx context.Context, db engine.Database, _ nothing, s *session) (engine.ImportReport, error) {
			x, err := engine.NewExported(source{ctx, s})
			if err != nil {
				return engine.ImportReport{}, err
			}
			return db.Import(ctx, x)
		}),
		"Backup": call(func(ctx context.Context, db engine.Database, path string, _ *session) (engine.BackupReport, error) {
			return db.Backup(ctx, path)
		}),
		"BackupTo": call(func(ctx context.Context, db engine.Database, _ nothing, s *session) (engine.BackupReport, error) {
			return db.BackupTo(ctx, s)
		}),
		"Compact": call(func(ctx context.Context, db engine.Database, _ nothing, _ *session) (nothing, error) {
			return nothing{}, db.Compact(ctx)
		}),
		"KeepTokenStates": call(func(ctx context.Context, db engine.Database, _ nothing, _ *session) (engine.TokenReport, error) {
			return db.KeepTokenStates(ctx)
		}),
	}
})

// encodeMeta writes metadata as the store keeps them; nil for none.
func encodeMeta(m map[string]any) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	return metadata.Encode(m)
}

func decodeMeta(raw []byte) (map[string]any, error) {
	m, err := metadata.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errProtocol, err)
	}
	return m, nil
}

// document is engine.Document without the fields that others stand for.
type document struct {
	engine.Document
	Packed packed
	Meta   []byte
}

func wireDocument(d engine.Document) (document, error) {
	meta, err := encodeMeta(d.Metadata)
	w := document{d, pack(d.Vector), meta}
	w.Vector, w.Metadata = nil, nil
	return w, err
}

func (w document) document() (d engine.Document, err error) {
	d = w.Document
	v, e1 := w.Packed.unpack()
	m, e2 := decodeMeta(w.Meta)
	d.Vector, d.Metadata = v, m
	return d, errors.Join(e1, e2)
}

type patch struct {
	engine.Patch
	Meta []byte
}

type query struct {
	engine.Query
	Packed packed
}

func wireQuery(q engine.Query) query {
	w := query{q, pack(q.Vector)}
	w.Query.Vector = nil
	return w
}

func (w query) query() (q engine.Query, err error) {
	q = w.Query
	q.Vector, err = w.Packed.unpack()
	return q, err
}

type explainArgs struct {
	Query query
	ID    string
}

type hit struct {
	engine.Hit
	Meta []byte
}

type result struct {
	Hits  []hit
	Trace engine.Trace
}

func wireResult(r engine.Result) (w result, err error) {
	w.Trace = r.Trace
	if r.Hits == nil {
		return w, nil
	}
	w.Hits = make([]hit, len(r.Hits))
	for i, h := range r.Hits {
		meta, err := encodeMeta(h.Metadata)
		if err != nil {
			return w, err
		}
		h.Metadata = nil
		w.Hits[i] = hit{h, meta}
	}
	return w, nil
}

func (w result) result() (r engine.Result, err error) {
	r.Trace = w.Trace
	if w.Hits == nil {
		return r, nil
	}
	r.Hits = make([]engine.Hit, len(w.Hits))
	for i, h := range w.Hits {
		r.Hits[i] = h.Hit
		if r.Hits[i].Metadata, err = decodeMeta(h.Meta); err != nil {
			return r, err
		}
	}
	return r, nil
}

type explanation struct {
	engine.Explanation
	Meta []byte
}

type vectorOf struct {
	Vector packed
	Trace  engine.Trace
}

// fitArgs are engine.FitOptions but for Progress.
type fitArgs struct {
	Variant                               string
	Seed                                  uint64
	QueriesPerPassage, MaxQueries, Epochs int
	Update                                bool
}

func wireFit(o engine.FitOptions) fitArgs {
	return fitArgs{o.Variant, o.Seed, o.QueriesPerPassage, o.MaxQueries, o.Epochs, o.Update}
}

func (a fitArgs) options() engine.FitOptions {
	return engine.FitOptions{Variant: a.Variant, Seed: a.Seed, QueriesPerPassage: a.QueriesPerPassage, MaxQueries: a.MaxQueries, Epochs: a.Epochs, Update: a.Update}
}
