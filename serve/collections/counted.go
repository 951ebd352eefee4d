package collections

import (
	"context"
	"io"
	"iter"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
)

// counted is a database that counts every call from its beginning to its end: enter returns the database for one
// call, and a function that ends the call.
type counted struct {
	enter func(context.Context) (db engine.Database, leave func(), err error)
}

var _ engine.Database = counted{}

// during makes one call.
func during[R any](ctx context.Context, d counted, do func(engine.Database) (R, error)) (R, error) {
	db, leave, err := d.enter(ctx)
	if err != nil {
		var zero R
		return zero, err
	}
	defer leave()
	return do(db)
}

// silent makes one call that returns nothing.
func (d counted) silent(ctx context.Context, do func(engine.Database) error) error {
	_, err := during(ctx, d, func(db engine.Database) (struct{}, error) { return struct{}{}, do(db) })
	return err
}

func (d counted) Add(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return during(ctx, d, func(db engine.Database) (engine.AddResult, error) { return db.Add(ctx, docs) })
}

func (d counted) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return during(ctx, d, func(db engine.Database) (engine.AddResult, error) { return db.Upsert(ctx, docs) })
}

func (d counted) Patch(ctx context.Context, patches []engine.Patch) (int, error) {
	return during(ctx, d, func(db engine.Database) (int, error) { return db.Patch(ctx, patches) })
}

func (d counted) Delete(ctx context.Context, ids []string) (int, error) {
	return during(ctx, d, func(db engine.Database) (int, error) { return db.Delete(ctx, ids) })
}

func (d counted) DeleteWhere(ctx context.Context, f engine.Filter) (int, error) {
	return during(ctx, d, func(db engine.Database) (int, error) { return db.DeleteWhere(ctx, f) })
}

func (d counted) Get(ctx context.Context, id string) (engine.Document, error) {
	return during(ctx, d, func(db engine.Database) (engine.Document, error) { return db.Get(ctx, id) })
}

func (d counted) All(ctx context.Context, f engine.Filter) iter.Seq2[engine.Document, error] {
	return d.walk(ctx, func(db engine.Database) iter.Seq2[engine.Document, error] { return db.All(ctx, f) })
}

func (d counted) List(ctx context.Context, f engine.Filter, after string) iter.Seq2[engine.Document, error] {
	return d.walk(ctx, func(db engine.Database) iter.Seq2[engine.Document, error] { return db.List(ctx, f, after) })
}

// walk is a call that lasts until its sequence has been read.
func (d counted) walk(ctx context.Context, of func(engine.Database) iter.Seq2[engine.Document, error]) iter.Seq2[engine.Document, error] {
	return func(yield func(engine.Document, error) bool) {
		db, leave, err := d.enter(ctx)
		if err != nil {
			yield(engine.Document{}, err)
			return
		}
		defer leave()
		of(db)(yield)
	}
}

func (d counted) Count(ctx context.Context, f engine.Filter) (int, error) {
	return during(ctx, d, func(db engine.Database) (int, error) { return db.Count(ctx, f) })
}

func (d counted) Facets(ctx context.Context, f engine.Filter, field string, k int) ([]filter.Facet, error) {
	return during(ctx, d, func(db engine.Database) ([]filter.Facet, error) { return db.Facets(ctx, f, field, k) })
}

func (d counted) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	return during(ctx, d, func(db engine.Database) (engine.Result, error) { return db.Search(ctx, q) })
}

func (d counted) SearchBatch(ctx context.Context, qs []engine.Query) ([]engine.Result, error) {
	return during(ctx, d, func(db engine.Database) ([]engine.Result, error) { return db.SearchBatch(ctx, qs) })
}

func (d counted) Explain(ctx context.Context, q engine.Query, id string) (engine.Explanation, error) {
	return during(ctx, d, func(db engine.Database) (engine.Explanation, error) { return db.Explain(ctx, q, id) })
}

func (d counted) Vector(ctx context.Context, q engine.Query) (v []float32, t engine.Trace, err error) {
	err = d.silent(ctx, func(db engine.Database) error {
		v, t, err = db.Vector(ctx, q)
		return err
	})
	return v, t, err
}

// Default returns "" if the collection cannot be opened, like share.Joined if the other process does not
// answer.
func (d counted) Default() string {
	name, err := during(context.Background(), d, func(db engine.Database) (string, error) { return db.Default(), nil })
	if err != nil {
		return ""
	}
	return name
}

func (d counted) Fit(ctx context.Context, o engine.FitOptions) (engine.FitReport, error) {
	return during(ctx, d, func(db engine.Database) (engine.FitReport, error) { return db.Fit(ctx, o) })
}

func (d counted) Stats(ctx context.Context) (engine.Stats, error) {
	return during(ctx, d, func(db engine.Database) (engine.Stats, error) { return db.Stats(ctx) })
}

func (d counted) Verify(ctx context.Context, progress func(engine.Progress)) (engine.VerifyReport, error) {
	return during(ctx, d, func(db engine.Database) (engine.VerifyReport, error) { return db.Verify(ctx, progress) })
}

func (d counted) Flush(ctx context.Context) error {
	return d.silent(ctx, func(db engine.Database) error { return db.Flush(ctx) })
}

func (d counted) Writable(ctx context.Context) error {
	return d.silent(ctx, func(db engine.Database) error { return db.Writable(ctx) })
}

func (d counted) Compact(ctx context.Context) error {
	return d.silent(ctx, func(db engine.Database) error { return db.Compact(ctx) })
}

func (d counted) KeepTokenStates(ctx context.Context) (engine.TokenReport, error) {
	return during(ctx, d, func(db engine.Database) (engine.TokenReport, error) { return db.KeepTokenStates(ctx) })
}

func (d counted) Export(ctx context.Context, w io.Writer, o archive.ExportOptions) (int, error) {
	return during(ctx, d, func(db engine.Database) (int, error) { return db.Export(ctx, w, o) })
}

func (d counted) Import(ctx context.Context, x *archive.Exported) (engine.AddResult, error) {
	return during(ctx, d, func(db engine.Database) (engine.AddResult, error) { return db.Import(ctx, x) })
}

func (d counted) Backup(ctx context.Context, path string) (archive.BackupReport, error) {
	return during(ctx, d, func(db engine.Database) (archive.BackupReport, error) { return db.Backup(ctx, path) })
}

func (d counted) BackupTo(ctx context.Context, w io.Writer) (archive.BackupReport, error) {
	return during(ctx, d, func(db engine.Database) (archive.BackupReport, error) { return db.BackupTo(ctx, w) })
}

// Close closes the database, whoever calls it.
func (d counted) Close() error {
	db, leave, err := d.enter(context.Background())
	if err != nil {
		return err
	}
	defer leave()
	return db.Close()
}
