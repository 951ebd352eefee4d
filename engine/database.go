package engine

import (
	"context"
	"io"
	"iter"

	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
)

// Database is an open database: an Engine, a client of another process that has the database open (package share), or
// the query side of documents in another engine (package remote). The methods keep the promises of Engine's methods:
// they are safe for concurrent use, obey their contexts, and return this package's errors.
type Database interface {
	Add(ctx context.Context, docs []Document) (AddResult, error)
	Upsert(ctx context.Context, docs []Document) (AddResult, error)
	Patch(ctx context.Context, patches []Patch) (int, error)
	Delete(ctx context.Context, ids []string) (int, error)
	DeleteWhere(ctx context.Context, f Filter) (int, error)

	Get(ctx context.Context, id string) (Document, error)
	All(ctx context.Context, f Filter) iter.Seq2[Document, error]
	List(ctx context.Context, f Filter, after string) iter.Seq2[Document, error]
	Count(ctx context.Context, f Filter) (int, error)
	Facets(ctx context.Context, f Filter, field string, k int) ([]filter.Facet, error)

	Search(ctx context.Context, q Query) (Result, error)
	SearchBatch(ctx context.Context, qs []Query) ([]Result, error)
	Explain(ctx context.Context, q Query, id string) (Explanation, error)
	Vector(ctx context.Context, q Query) ([]float32, Trace, error)
	Default() string

	Fit(ctx context.Context, o FitOptions) (FitReport, error)
	Stats(ctx context.Context) (Stats, error)
	Verify(ctx context.Context, progress func(Progress)) (VerifyReport, error)
	Flush(ctx context.Context) error
	Writable(ctx context.Context) error
	Compact(ctx context.Context) error
	KeepTokenStates(ctx context.Context) (TokenReport, error)

	Export(ctx context.Context, w io.Writer, o archive.ExportOptions) (int, error)
	Import(ctx context.Context, x *archive.Exported) (AddResult, error)
	Backup(ctx context.Context, path string) (archive.BackupReport, error)
	BackupTo(ctx context.Context, w io.Writer) (archive.BackupReport, error)

	Close() error
}

var _ Database = (*Engine)(nil)

// A new call of the database changes four files: this one, the file of Engine's method, the file of the method in
// engine/remote, and a call_*.go of serve/share with newCall and the method of Joined. Its tests are a step in
// serve/share/conformance_test.go, which fails if the step is missing, and a case in the tests of engine and
// engine/remote.
