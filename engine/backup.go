package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/index/late"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Backup writes the last commit to a file: documents, vectors, vocabulary, fitted
// bridges and the manifest, from which Restore makes a database that searches alike. What is
// derived is left out. Where there is no file it makes one, whole or not at all; onto a
// backup of this database it appends a part with what has changed since, and
// nothing if nothing has (Part is 0 then). A backup is one committed state; writes
// go on beside it and do not wait. Close cancels it.
//
// Cost: reading what is written, and one pass over the keys. Memory: one document. Errors:
// ErrOtherBackup for a file that is a backup of another database, or of another
// history of this one; ErrBackup for one that is no backup; ErrCorrupt. After an
// error the file is as it was.
func (e *Engine) Backup(ctx context.Context, path string) (r BackupReport, err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return r, err
	}
	defer done(&err)
	if path, err = filepath.Abs(path); err != nil { // the process may change its folder
		return r, err
	}
	return e.st.BackupFile(ctx, path, e.backedUp(ctx))
}

// BackupTo is Backup to a writer: one whole part. What was written before an error
// is no backup.
func (e *Engine) BackupTo(ctx context.Context, w io.Writer) (r BackupReport, err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return r, err
	}
	defer done(&err)
	return e.st.Backup(ctx, w, e.backedUp(ctx))
}

func (e *Engine) backedUp(ctx context.Context) func(n, total int) {
	return func(n, total int) { e.report(ctx, Progress{Stage: "backup", Done: n, Total: total}) }
}

// RestoreOptions shape Restore. The zero value restores all.
type RestoreOptions struct {
	// Parts is how many parts of the backup count, from the first, 0 for all: each
	// is the state of one call of Backup.
	Parts int
	// Progress, if not nil, hears of the documents read.
	Progress func(Progress)
}

// Restore makes a database of a backup, in a folder that is empty or not there. It
// appears as a whole, after all of the backup was checked; if Restore fails the
// folder is as it was. The database has an identity of its own: it may stand
// beside the one that it comes from, and no file of either is taken for one of
// the other. It goes on with the numbers of commits, and begins backups of its
// own. Memory: one document, the vocabulary, and some 64 MiB. What is derived is made when it is first opened.
//
// Errors: ErrBackup for what is damaged, cut or no backup; ErrOccupied where there
// is a database; ErrForeign where there are other files; ErrLocked; those of ctx and r.
func Restore(ctx context.Context, dir string, r io.Reader, o RestoreOptions) (RestoreReport, error) {
	if o.Parts < 0 {
		return RestoreReport{}, fmt.Errorf("%w: %d parts; use a positive number, or 0 for all", ErrInvalid, o.Parts)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return RestoreReport{}, err
	}
	so := store.RestoreOptions{Parts: o.Parts, Accept: acceptor()}
	if o.Progress != nil {
		so.Progress = func(n int) { o.Progress(Progress{Stage: "restore", Done: n}) }
	}
	return store.Restore(ctx, dir, r, so)
}

// acceptor makes what is asked about the parts of a backup, in their order. It
// refuses what no engine has stored, and could not open.
func acceptor() func(m *store.Manifest, terms, bases int) (func(*store.Document) error, error) {
	var before int // tokens of the part before
	var own bool   // which are terms
	return func(m *store.Manifest, terms, bases int) (func(*store.Document) error, error) {
		var fp encoder.Fingerprint
		if len(m.Encoder) > 0 {
			if err := json.Unmarshal(m.Encoder, &fp); err != nil {
				return nil, fmt.Errorf("encoder fingerprint: %w", err)
			}
			if err := intake.CheckShape(fp, m.Dim); err != nil {
				return nil, err
			}
		}
		if _, err := text.For(m.Language); err != nil {
			return nil, err
		}
		by, err := metric.Of(m.Metric)
		if err != nil {
			return nil, err
		}
		vocab := fp.VocabSize
		switch {
		case vocab == 0:
			vocab = terms
		case terms > 0:
			return nil, fmt.Errorf("a vocabulary of %d terms beside the %d tokens of an encoder", terms, vocab)
		}
		if vocab < before || before > 0 && own != (terms > 0) {
			return nil, fmt.Errorf("another vocabulary, of %d where the part before has %d", vocab, before)
		}
		before, own = vocab, terms > 0
		return func(d *store.Document) error {
			for i, r := range d.Rows {
				if len(r.Codes) == 0 {
					continue
				}
				if bases == 0 {
					return fmt.Errorf("token states of chunk %d, and no basis of any", i)
				}
				if _, err := late.Parse(r.Codes); err != nil {
					return fmt.Errorf("token states of chunk %d: %w", i, err)
				}
			}
			return acceptRows(d, by, vocab)
		}, nil
	}
}

// acceptRows refuses vectors that a database of a metric cannot have, and tokens that are
// there twice or are none of a vocabulary.
func acceptRows(d *store.Document, by metric.Metric, vocab int) error {
	for i, r := range d.Rows {
		if err := by.Check(r.Vector); err != nil {
			return fmt.Errorf("vector %d: %w", i, err)
		}
		tokens := slices.Clone(r.Tokens)
		slices.Sort(tokens)
		for j, t := range tokens {
			switch {
			case t < 0 || int(t) >= vocab:
				return fmt.Errorf("token %d of a vocabulary of %d", t, vocab)
			case j > 0 && t == tokens[j-1]:
				return fmt.Errorf("token %d is there twice", t)
			}
		}
	}
	return nil
}
