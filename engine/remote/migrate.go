package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
)

// MigrateOptions configure MigrateTo and MigrateFrom.
type MigrateOptions struct {
	// Mark is a file that records the progress, written after each batch and removed at the end. If it exists, the
	// migration continues from it.
	Mark string
	// Progress, if not nil, reports the stages "migrate" and "verify".
	Progress func(engine.Progress)
}

// MigrateReport reports the result of a migration.
type MigrateReport struct {
	Documents int    `json:"documents"` // on both sides, compared by digests at the end
	Passages  int    `json:"passages"`
	Copied    int    `json:"copied"`  // documents that this call copied
	Mended    int    `json:"mended"`  // copied documents that differed in the comparison at the end
	Removed   int    `json:"removed"` // documents that had left the source by the end
	Digest    string `json:"digest"`  // of all documents, independent of their order
}

// Between two marks this many documents are copied, or this many bytes and one document.
const (
	migrateBatch = 500
	migrateBytes = 8 << 20
)

// errDigest means that the two sides of a migration still differ at the end.
var errDigest = errors.New("the documents there are not those here")

// MigrateTo copies all documents of a database into a Backend: texts, metadata and chunks byte for byte, vectors bit
// for bit. Nothing is encoded. The Backend must have no index, or one that a migration of this database filled. At the
// end both sides are compared by counts and digests, and later changes are copied.
//
// Token states, fitted bridges and local bridges are not copied. After an error or a kill the same call continues;
// after a complete migration it only compares. Errors: ErrExists if b has other documents; ErrInvalid for a metric
// other than cosine, or an image database.
func MigrateTo(ctx context.Context, e *engine.Engine, b Backend, o MigrateOptions) (r MigrateReport, err error) {
	here, err := e.Stats(ctx)
	if err != nil {
		return r, err
	}
	if err := metric.Metric(here.Metric).Needs("migration to another engine"); err != nil {
		return r, err
	}
	if err := textsAlone(here.Encoder); err != nil {
		return r, err
	}
	info, err := infoOf(here.Encoder, here.Language)
	if err != nil {
		return r, err
	}
	m := migration{MigrateOptions: o, to: b.Name(), r: &r}
	if err := m.begin(); err != nil {
		return r, err
	}
	there, err := b.Info(ctx)
	if errors.Is(err, engine.ErrNoDatabase) {
		m.mark = migrateMark{To: m.to}
		if err := b.Create(ctx, info); err != nil && !errors.Is(err, engine.ErrExists) { // a run that was killed may just have asked for it
			return r, err
		}
		there, err = b.Info(ctx)
	}
	switch {
	case err != nil:
		return r, err
	case !sameInfo(there, info):
		return r, fmt.Errorf("%w: %s was made for vectors of %q with %d dimensions and language %q; this database has %q, %d, %q", engine.ErrExists, b.Name(), there.Encoder.Model, there.Dim, there.Language, info.Encoder.Model, info.Dim, info.Language)
	}
	analyzer, err := text.For(info.Language)
	if err != nil {
		return r, err
	}
	source := func(ctx context.Context, after uint64) iter.Seq2[migrated, error] {
		return stored(ctx, e, analyzer, after)
	}
	put := func(ctx context.Context, docs []migrated) error {
		batch := make([][]Passage, len(docs))
		for i, d := range docs {
			batch[i] = d.passages
		}
		return b.Put(ctx, batch, false)
	}
	all := func(ctx context.Context) iter.Seq2[migrated, error] { return source(ctx, 0) }
	target := func(ctx context.Context) iter.Seq2[migrated, error] { return scanned(ctx, b, "") }
	if !m.begun {
		s, err := b.Status(ctx)
		if err != nil {
			return r, err
		}
		if s.Passages > 0 {
			n, err := e.Count(ctx, engine.Filter{})
			return r, cmp.Or(err, m.again(ctx, n, s.Documents, all, target))
		}
	}
	return r, m.run(ctx, source(ctx, m.mark.Ordinal), all, target, put, b.Delete)
}

// textsAlone refuses an encoder of images, since a Backend stores no files and no codebook, and one with a second model
// that weighs words, since it stores no impacts.
func textsAlone(fp encoder.Fingerprint) error {
	if dense, sparse := encoder.SplitSparse(fp.Model); fp.Sparse != nil {
		return fmt.Errorf("%w: another engine cannot keep the weights of words of %s for this one; use the model %s alone (an embedded database changes to it by Reembed), or an embedded database", engine.ErrInvalid, sparse, dense)
	}
	if fp.Media == encoder.MediaImages {
		return fmt.Errorf("%w: images, which another engine cannot keep for this one; leave them in an embedded database", engine.ErrInvalid)
	}
	return nil
}

// MigrateFrom copies all documents of a Backend into a database for the same encoder (see CreateFor), which is empty or
// was filled by a migration from b. Otherwise it is like MigrateTo.
func MigrateFrom(ctx context.Context, b Backend, e *engine.Engine, o MigrateOptions) (r MigrateReport, err error) {
	info, err := b.Info(ctx)
	if err != nil {
		return r, err
	}
	here, err := e.Stats(ctx)
	if err != nil {
		return r, err
	}
	own, err := infoOf(here.Encoder, here.Language)
	if err != nil {
		return r, err
	}
	if !sameInfo(info, own) || !metric.Metric(here.Metric).Directions() {
		return r, fmt.Errorf("%w: database %s was made for vectors of %q with %d dimensions, language %q and metric %s; %s has %q, %d, %q and cosine", engine.ErrInvalid, here.Dir, own.Encoder.Model, own.Dim, own.Language, here.Metric, b.Name(), info.Encoder.Model, info.Dim, info.Language)
	}
	m := migration{MigrateOptions: o, to: "from " + b.Name(), r: &r}
	if err := m.begin(); err != nil {
		return r, err
	}
	source := func(ctx context.Context) iter.Seq2[migrated, error] { return scanned(ctx, b, "") }
	analyzer, err := text.For(own.Language)
	if err != nil {
		return r, err
	}
	target := func(ctx context.Context) iter.Seq2[migrated, error] { return stored(ctx, e, analyzer, 0) }
	if !m.begun {
		n, err := e.Count(ctx, engine.Filter{})
		if err != nil {
			return r, err
		}
		if n > 0 {
			s, err := b.Status(ctx)
			return r, cmp.Or(err, m.again(ctx, s.Documents, n, source, target))
		}
	}
	put := func(ctx context.Context, docs []migrated) error {
		records, err := recordsOf(docs, own.Dim)
		if err == nil {
			_, err = e.PutRecords(ctx, records)
		}
		return err
	}
	return r, m.run(ctx, scanned(ctx, b, m.mark.After), source, target, put, e.Delete)
}

// CreateFor makes an empty database in dir for the documents of a Backend. Errors: those of archive.Exported.Create.
func CreateFor(ctx context.Context, dir string, b Backend) error {
	info, err := b.Info(ctx)
	if err != nil {
		return err
	}
	x := archive.Exported{Encoder: info.Encoder, Language: info.Language, Vectors: true}
	return x.Create(ctx, dir)
}

func sameInfo(a, b Info) bool {
	return a.Dim == b.Dim && a.Encoder.Model == b.Encoder.Model && a.Encoder.Tokenizer == b.Encoder.Tokenizer && a.Language == b.Language && a.Analysis == b.Analysis
}
