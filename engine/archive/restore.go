package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

type (
	// BackupReport reports what Engine.Backup wrote.
	BackupReport = store.BackupReport
	// RestoreReport reports what Restore did.
	RestoreReport = store.RestoreReport
)

// RestoreOptions configure Restore. The zero value restores everything.
type RestoreOptions struct {
	// Parts is the number of parts to restore, from the first; 0 means all. Each call of Engine.Backup made one part.
	Parts int
	// Progress, if not nil, reports how many documents were read.
	Progress func(documents int)
}

// Restore makes a database from a backup, in a folder that is empty or does not exist. It checks the whole backup
// before the database appears. If Restore fails, the folder is unchanged.
//
// The new database has a new identity, so files of the original and the copy are never confused. It continues the
// commit numbers and begins a new series of backups. Its derived state is built when it is first opened.
//
// Errors of package engine: ErrBackup for a file that is no sound backup; ErrOccupied if the folder has a database;
// ErrForeign if it has other files; ErrLocked. Also those of ctx and r. Memory: one document, the vocabulary, and some
// 64 MiB.
func Restore(ctx context.Context, dir string, r io.Reader, o RestoreOptions) (RestoreReport, error) {
	if o.Parts < 0 {
		return RestoreReport{}, fmt.Errorf("%w: %d parts; use a positive number, or 0 for all", fault.ErrInvalid, o.Parts)
	}
	dir, err := fault.Folder(dir)
	if err != nil {
		return RestoreReport{}, err
	}
	return store.Restore(ctx, dir, r, store.RestoreOptions{Parts: o.Parts, Accept: acceptor(), Progress: o.Progress})
}

// acceptor returns the checks for the parts of a backup, in their order. They refuse content that no engine
// has stored or could open.
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
			return intake.CheckRows(d, by, vocab)
		}, nil
	}
}
