package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// A Reembed catches up in rounds before it locks writers out: until a round has met
// few documents, or so many rounds have not.
const (
	fewDocuments = 200
	mostRounds   = 20
)

type reembedder struct {
	dir string
	enc encoder.Encoder
	o   Options
	rep ReembedReport

	read     func(ctx context.Context, do func(*store.Store) error) error // runs do on the old database
	handOver func(ctx context.Context, last func(*store.Store) error) error

	next  *Engine // the new database
	at    store.Source
	total int // documents of the old one
	met   int // in this round
}

func (r *reembedder) report(stage string, done, total int) {
	if r.o.Progress != nil {
		r.o.Progress(Progress{Stage: stage, Done: done, Total: max(done, total)})
	}
}

// lockedPause is between two attempts to open a database that is locked.
const lockedPause = 50 * time.Millisecond

// open opens the old database, when whoever has it open lets it go.
func (r *reembedder) open(ctx context.Context, readOnly bool) (*store.Store, error) {
	for {
		st, err := store.Open(r.dir, store.Options{ReadOnly: readOnly, MemoryMiB: r.o.storeMiB(), Logger: r.o.Logger})
		switch {
		case readOnly && errors.Is(err, store.ErrUnclean):
			readOnly = false
		case !errors.Is(err, ErrLocked):
			return st, err
		default:
			r.report("wait", 0, 0)
			select {
			case <-time.After(lockedPause):
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for the database: %w (%w)", ctx.Err(), err)
			}
		}
	}
}

// run does all but the last step.
func (r *reembedder) run(ctx context.Context) (err error) {
	if err := r.o.Validate(); err != nil {
		return err
	}
	if r.enc == nil {
		return fmt.Errorf("%w: no encoder to change to", ErrInvalid)
	}
	if err := intake.CheckEncoder(r.enc); err != nil {
		return err
	}
	r.report("reembed", 0, 0)
	if err := r.start(ctx); err != nil {
		return err
	}
	open := true
	closeNext := func() error {
		open = false
		return r.next.Close()
	}
	defer func() {
		if open {
			err = errors.Join(err, closeNext())
		}
	}()
	for range mostRounds {
		r.met = 0
		if err := r.follow(ctx, r.read); err != nil {
			return err
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		if r.met < fewDocuments {
			break
		}
	}
	hit(ctx, "reembed-settled")
	err = r.handOver(ctx, func(st *store.Store) error {
		hit(ctx, "reembed-alone")
		if err := r.follow(ctx, func(_ context.Context, do func(*store.Store) error) error { return do(st) }); err != nil {
			return err
		}
		r.rep.Documents = r.next.st.Len()
		if n := st.Len(); n != r.rep.Documents {
			return fmt.Errorf("%w: %d documents were encoded, of %d", ErrCorrupt, r.rep.Documents, n)
		}
		for variant := range st.Manifest().Bridges {
			r.rep.Bridges = append(r.rep.Bridges, variant)
		}
		slices.Sort(r.rep.Bridges)
		if err := closeNext(); err != nil {
			return err
		}
		hit(ctx, "reembed-closed")
		return nil
	})
	if err == nil {
		hit(ctx, "reembed-decided")
	}
	return err
}

// takeOver moves what was decided for to its place. Whoever was faster to open the
// database has done so.
func (r *reembedder) takeOver() error {
	if err := store.TakeOver(r.dir); err != nil && !errors.Is(err, ErrLocked) {
		return err
	}
	return nil
}

// start opens or makes the new database, and refuses what cannot be encoded.
func (r *reembedder) start(ctx context.Context) (err error) {
	var old store.Manifest
	var at store.Source
	err = r.read(ctx, func(st *store.Store) error {
		old = st.Manifest()
		view, err := st.Snapshot()
		if err != nil {
			return err
		}
		defer view.Close()
		at = store.Source{UUID: old.UUID, Seq: view.Seq(), History: view.History(), Next: 1}
		r.total = view.Len()
		if r.o.TokenStates == "" {
			r.o.TokenStates = TokenStatesOff
			if tokensOf(st) != TokenStatesOff { // a model that gives none does without
				r.o.TokenStates = TokenStatesAuto
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.o.Index == "" {
		r.o.Index = old.Index
	}
	if len(old.Encoder) == 0 {
		return fmt.Errorf("%w: database %s was never written to; open it with the new encoder", ErrInvalid, r.dir)
	}
	if r.rep.From, err = intake.StoredFingerprint(old); err != nil {
		return err
	}
	r.rep.To = r.enc.Fingerprint()
	if r.rep.From.Model == "" {
		return fmt.Errorf("%w: database %s holds vectors alone, of no model that another could take the place of; make a new database with the model, and add the texts to it", ErrInvalid, r.dir)
	}
	if r.rep.From.Probed() && r.rep.To.Probed() && intake.CheckSpace("database", metric.Metric(old.Metric), r.rep.From, r.rep.To) == nil {
		return fmt.Errorf("%w: database %s holds the vectors of %s already", ErrInvalid, r.dir, r.rep.To.Model)
	}
	o := r.o
	o.Dim, o.ReadOnly, o.MustExist, o.Metric, o.Language, o.Progress = 0, false, false, old.Metric, old.Language, r.heard
	o.Local = o.Local || state.SavedLocal(r.dir)
	r.rep.Local = o.Local
	next := store.NextDir(r.dir)
	there, err := store.Exists(next)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !there { // nothing was encoded
			err = errors.Join(err, store.DropNext(r.dir))
		}
	}()
	if r.next, err = Open(ctx, next, r.enc, o); err != nil {
		var other *encoder.MismatchError
		if errors.As(err, &other) {
			err = fmt.Errorf("a change to %s is under way: go on with that model, or drop what was encoded (store.DropNext): %w", other.Want.Model, err)
		}
		return err
	}
	if err = r.begin(ctx, at); err == nil {
		err = r.checkTexts(ctx)
	}
	if err != nil {
		err = errors.Join(err, r.next.Close())
	}
	return err
}

// begin takes up an interrupted call, or begins.
func (r *reembedder) begin(ctx context.Context, at store.Source) error {
	found := r.next.st.Manifest().Source
	r.rep.Found = r.next.st.Len()
	if found == nil && r.rep.Found == 0 {
		return r.note(ctx, at)
	}
	refuse := fmt.Errorf("%w: what lies in %s was not encoded from database %s as it is; drop it (store.DropNext)", ErrInvalid, r.next.dir, r.dir)
	if found == nil || found.UUID != at.UUID || found.Seq > at.Seq {
		return refuse
	}
	r.at = *found
	return r.read(ctx, func(st *store.Store) error {
		view, err := st.Snapshot()
		if err != nil {
			return err
		}
		defer view.Close()
		h, ok, err := view.HistoryAt(found.Seq)
		if err == nil && ok && found.History != (store.History{}) && h != found.History {
			err = refuse
		}
		return err
	})
}

// note writes down how far the new database has followed the old one.
func (r *reembedder) note(ctx context.Context, at store.Source) error {
	r.at = at
	return r.next.st.SetManifest(ctx, func(m *store.Manifest) error {
		m.Source = &at
		return nil
	})
}

// checkTexts refuses documents that have no text, before anything is encoded.
func (r *reembedder) checkTexts(ctx context.Context) error {
	return r.read(ctx, func(st *store.Store) error {
		n := 0
		return st.ScanDocuments(ctx, r.at.Next, func(_ uint64, d *store.Document) error {
			if n++; n%4096 == 0 {
				r.report("read", n, r.total)
			}
			return hasText(n-1, d)
		})
	})
}

func hasText(position int, d *store.Document) error {
	if intake.Blank(d.Title) && intake.Blank(d.Text) {
		return &DocumentError{position, d.ID, fmt.Errorf("%w: it has no text, only a vector that it brought; delete it, or keep the model", ErrInvalid)}
	}
	return nil
}

// heard is what the new database tells while a page is encoded.
func (r *reembedder) heard(p Progress) {
	if p.Stage == "encode" {
		r.report("reembed", r.next.st.Len()+p.Done, r.total)
	}
}

// settle waits until the new database has made what its first search would wait for.
func (r *reembedder) settle(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- r.next.Flush(ctx) }()
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if m := r.next.db.Maintenance(); m.Task != "" {
				r.report(m.Task, m.Done, m.Total)
			}
		}
	}
}

// failpoint is the key of a func(name string) in a context, which hears of named moments. Tests set it.
type failpoint struct{}

func hit(ctx context.Context, name string) {
	if f, ok := ctx.Value(failpoint{}).(func(name string)); ok {
		f(name)
	}
}
