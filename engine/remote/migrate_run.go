package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/engine"
)

// migrateMark is the content of the file Mark.
type migrateMark struct {
	To      string `json:"to"`
	Ordinal uint64 `json:"ordinal,omitempty"` // documents up to this one are copied
	After   string `json:"after,omitempty"`   // documents up to this id are
}

// migration is the state of a running migration.
type migration struct {
	MigrateOptions
	to    string
	begun bool // by a run before
	mark  migrateMark
	r     *MigrateReport
}

// begin reads the mark.
func (m *migration) begin() error {
	m.mark = migrateMark{To: m.to}
	raw, err := os.ReadFile(m.Mark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &m.mark)
	}
	if err != nil {
		return fmt.Errorf("mark of a migration %s: %w; remove it to begin anew", m.Mark, err)
	}
	if m.mark.To != m.to {
		return fmt.Errorf("%w: %s is the mark of a migration %s, not %s; end that one first, or remove the file", engine.ErrInvalid, m.Mark, m.mark.To, m.to)
	}
	m.begun = true
	return nil
}

// save writes the mark into a new file, and renames that over the old one.
func (m *migration) save() error {
	raw, err := json.Marshal(m.mark)
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(m.Mark), "."+filepath.Base(m.Mark)+".new")
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(next, m.Mark)
}

// run copies the documents that rest yields, then makes target equal to source.
func (m *migration) run(ctx context.Context, rest iter.Seq2[migrated, error], source, target func(context.Context) iter.Seq2[migrated, error],
	put func(context.Context, []migrated) error, remove func(context.Context, []string) (int, error)) error {
	if err := m.save(); err != nil {
		return err
	}
	if err := m.copy(ctx, rest, put, func(d migrated) error {
		m.mark.Ordinal, m.mark.After = d.ordinal, ""
		if d.ordinal == 0 {
			m.mark.After = d.id()
		}
		return m.save()
	}); err != nil {
		return err
	}
	for try := 0; ; try++ {
		want, got, err := m.compare(ctx, source, target)
		if err != nil {
			return err
		}
		differ := want.differ(got)
		if len(differ) == 0 {
			return os.Remove(m.Mark)
		}
		if try == 2 {
			return fmt.Errorf("%s: %w: %d documents here and %d there, in %d of %d parts; is somebody writing? Call it again", m.to, errDigest, want.documents, got.documents, len(differ), buckets)
		}
		if err := m.mend(ctx, differ, source, target, put, remove); err != nil {
			return err
		}
	}
}

// again handles a migration into a target that has documents but no mark of an
// interrupted migration. The last migration may have finished without its caller knowing.
func (m *migration) again(ctx context.Context, here, there int, source, target func(context.Context) iter.Seq2[migrated, error]) error {
	if here == there {
		want, got, err := m.compare(ctx, source, target)
		if err != nil || len(want.differ(got)) == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: migration %s: the target has %d documents, not all of them the %d of the source, and no migration between them was interrupted; name a target that is not there", engine.ErrExists, m.to, there, here)
}

// compare takes the census of both sides; the report has the figures of the source.
func (m *migration) compare(ctx context.Context, source, target func(context.Context) iter.Seq2[migrated, error]) (want, got *census, err error) {
	if want, err = m.digests(ctx, source); err != nil {
		return nil, nil, err
	}
	m.r.Documents, m.r.Passages, m.r.Digest = want.documents, want.passages, want.digest()
	got, err = m.digests(ctx, target)
	return want, got, err
}

// copy stores documents in batches.
func (m *migration) copy(ctx context.Context, docs iter.Seq2[migrated, error], put func(context.Context, []migrated) error, mark func(last migrated) error) error {
	var batch []migrated
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := put(ctx, batch); err != nil {
			return err
		}
		m.r.Copied += len(batch)
		m.report("migrate", m.r.Copied)
		err := mark(batch[len(batch)-1])
		batch = nil
		return err
	}
	size := 0
	for d, err := range docs {
		if err != nil {
			return err
		}
		batch = append(batch, d)
		for _, p := range d.passages {
			size += len(p.Text) + len(p.Whole) + 4*len(p.Vector)
		}
		if len(batch) == migrateBatch || size > migrateBytes {
			if err := flush(); err != nil {
				return err
			}
			size = 0
		}
	}
	return flush()
}

func (m *migration) report(stage string, done int) {
	if m.Progress != nil {
		m.Progress(engine.Progress{Stage: stage, Done: done})
	}
}
