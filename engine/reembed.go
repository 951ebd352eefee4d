package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/store"
)

// ReembedReport tells what Reembed did.
type ReembedReport struct {
	// Of this call: what Add tells of the documents that were encoded, Deleted ones
	// that had been encoded before they went, and Found documents that an interrupted
	// call had encoded already.
	AddResult
	Deleted, Found int
	Documents      int                 // in the database now
	From, To       encoder.Fingerprint // the encoders
	// Bridges are the fitted ones that are gone, as they were of the old vectors: fit
	// them again. Local says that local bridges were made anew.
	Bridges []string
	Local   bool
}

// Reembed gives every document of the database in dir the vectors of another encoder.
// A new database is filled beside the old one, in a folder of its own below it, and
// takes its place in one step at the end; until then, and after any error, the old one
// is as it was. Documents are cut into chunks as the new encoder reads; ids, titles,
// texts, metadata and order stay. Where enc has no tokens, terms are numbered anew. A
// document that brought its own vector is encoded from its text like any other.
//
// It opens the old database for moments only: for reading for each page of documents,
// and for writing at the end. Other processes search and write in between, and it waits
// for them; documents that they add, replace or delete are followed. What was encoded
// stays after an error: the same call goes on there, DropReembed removes it.
//
// Of o, Index, ChunkTokens, ChunkOverlap, NoSync, MemoryMiB, Local, Lambda, Alpha,
// AcceptModel, Logger and Progress are used. enc is not closed. Errors: ErrInvalid for a
// database of vectors alone, or of this encoder already; a *DocumentError with
// ErrInvalid for a document without text; *encoder.MismatchError where an interrupted
// call had another encoder; ErrLocked for a second call beside the first; ErrNotFound,
// ErrCorrupt, ErrNoSpace, those of enc and ctx. Cost: the encoding, and once more the
// space of the database. What a kill or an error can undo is one page, 256 documents.
func Reembed(ctx context.Context, dir string, enc encoder.Encoder, o Options) (ReembedReport, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ReembedReport{}, err
	}
	if ok, err := store.Exists(dir); err != nil {
		return ReembedReport{}, err
	} else if !ok {
		return ReembedReport{}, fmt.Errorf("database %s: %w", dir, ErrNotFound)
	}
	r := &reembedder{dir: dir, enc: enc, o: o}
	visit := func(ctx context.Context, readOnly bool, do func(*store.Store) error) error {
		st, err := r.open(ctx, readOnly)
		if err != nil {
			return err
		}
		err = do(st)
		return errors.Join(err, st.Close())
	}
	r.read = func(ctx context.Context, do func(*store.Store) error) error { return visit(ctx, true, do) }
	r.handOver = func(ctx context.Context, last func(*store.Store) error) error {
		return visit(ctx, false, func(st *store.Store) error {
			return st.HandOver(ctx, func() error { return last(st) })
		})
	}
	if err := r.run(ctx); err != nil {
		return r.rep, err
	}
	return r.rep, r.takeOver()
}

// Reembed is the function Reembed for an open database: searches and writes of this
// Engine go on beside it. At the end the Engine is closed, and the database is to be
// opened again with enc; calls that run meanwhile end as Close says. After an error
// the Engine stays open.
func (e *Engine) Reembed(ctx context.Context, enc encoder.Encoder, o Options) (ReembedReport, error) {
	r := &reembedder{
		dir: e.dir, enc: enc, o: o,
		read: func(_ context.Context, do func(*store.Store) error) error { return do(e.st) },
		handOver: func(ctx context.Context, last func(*store.Store) error) error {
			return e.st.HandOver(ctx, func() error { return last(e.st) })
		},
	}
	if err := e.reembed(ctx, r); err != nil {
		return r.rep, err
	}
	e.replaced.Store(true)
	if err := e.Close(); err != nil {
		return r.rep, err // the next opening finishes what is decided
	}
	return r.rep, r.takeOver()
}

// reembed is the part of Reembed that is a call of the engine.
func (e *Engine) reembed(ctx context.Context, r *reembedder) (err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	if e.o.ReadOnly {
		return ErrReadOnly
	}
	r.o.Local = r.o.Local || e.o.Local
	return r.run(ctx)
}

// DropReembed removes what an interrupted Reembed has left for going on. Errors:
// ErrLocked while one runs, ErrForeign, those of the operating system.
func DropReembed(dir string) error { return store.DropNext(dir) }

// A page of documents is read at once, and stored in one commit.
const (
	pageDocuments = encodeWindow
	pageBytes     = 8 << 20
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
		st, err := store.Open(r.dir, store.Options{ReadOnly: readOnly, MemoryMiB: r.o.MemoryMiB, Logger: r.o.Logger})
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
	if err := checkFingerprint(r.enc); err != nil {
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
	hit("reembed-settled")
	err = r.handOver(ctx, func(st *store.Store) error {
		hit("reembed-alone")
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
		hit("reembed-closed")
		return nil
	})
	if err == nil {
		hit("reembed-decided")
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
		return nil
	})
	if err != nil {
		return err
	}
	if len(old.Encoder) == 0 {
		return fmt.Errorf("%w: database %s was never written to; open it with the new encoder", ErrInvalid, r.dir)
	}
	if r.rep.From, err = storedFingerprint(old); err != nil {
		return err
	}
	r.rep.To = r.enc.Fingerprint()
	if r.rep.From.Model == "" {
		return fmt.Errorf("%w: database %s holds vectors alone, of no model that another could take the place of; make a new database with the model, and add the texts to it", ErrInvalid, r.dir)
	}
	if r.rep.From.Probed() && r.rep.To.Probed() && encoder.Check("database", r.rep.From, r.rep.To) == nil {
		return fmt.Errorf("%w: database %s holds the vectors of %s already", ErrInvalid, r.dir, r.rep.To.Model)
	}
	o := r.o
	o.Dim, o.ReadOnly, o.MustExist, o.Language, o.Progress = 0, false, false, old.Language, r.heard
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
			err = fmt.Errorf("a change to %s is under way: go on with that model, or drop what was encoded (DropReembed): %w", other.Want.Model, err)
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
	refuse := fmt.Errorf("%w: what lies in %s was not encoded from database %s as it is; drop it (DropReembed)", ErrInvalid, r.next.dir, r.dir)
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
	if blankText(d.Title) && blankText(d.Text) {
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

// page is what is taken over at once.
type page struct {
	at      store.Source // when it is done
	deleted []string
	records []store.Document
	more    bool
}

// follow brings the new database up to the old one.
func (r *reembedder) follow(ctx context.Context, read func(context.Context, func(*store.Store) error) error) error {
	for more := true; more; {
		var p page
		if err := read(ctx, func(st *store.Store) (err error) {
			p, err = r.page(ctx, st)
			return err
		}); err != nil {
			return err
		}
		if len(p.deleted) > 0 {
			n, err := r.next.Delete(ctx, p.deleted)
			if err != nil {
				return err
			}
			r.rep.Deleted += n
		}
		if len(p.records) > 0 {
			res, err := r.next.importBatch(ctx, p.records, true)
			if err != nil {
				return err
			}
			r.count(res)
			r.met += len(p.records)
			hit("reembed-page")
		}
		if p.at != r.at {
			if err := r.note(ctx, p.at); err != nil {
				return err
			}
			hit("reembed-noted")
		}
		r.report("reembed", r.next.st.Len(), r.total)
		more = p.more
	}
	return nil
}

// count adds what a page has brought to the report.
func (r *reembedder) count(res AddResult) {
	a := &r.rep.AddResult
	a.Seq = res.Seq
	a.Added += res.Added
	a.Replaced += res.Replaced
	a.Chunked += res.Chunked
	a.Chunks += res.Chunks
	a.Truncated += res.Truncated
	a.TruncatedTokens += res.TruncatedTokens
}

// errPage ends a scan when a page is full.
var errPage = errors.New("page")

// page reads what comes next. Ordinals are never used twice and versions come in their
// order: what is behind the last one that was taken over is all that is new.
func (r *reembedder) page(ctx context.Context, st *store.Store) (p page, err error) {
	view, err := st.Snapshot()
	if err != nil {
		return p, err
	}
	defer view.Close()
	p.at = store.Source{UUID: r.at.UUID, Seq: view.Seq(), History: view.History(), Next: r.at.Next}
	r.total = view.Len()
	if p.deleted, err = r.deleted(ctx, view); err != nil {
		return p, err
	}
	size := 0
	err = view.ScanDocuments(ctx, r.at.Next, func(ord uint64, d *store.Document) error {
		if len(p.records) == pageDocuments || size >= pageBytes {
			p.more = true
			return errPage
		}
		if err := hasText(len(p.records), d); err != nil { // stored since it was checked
			return err
		}
		d.Rows, d.Truncated = nil, 0 // to be cut as the new encoder reads
		p.records = append(p.records, *d)
		p.at.Next = ord + 1
		size += len(d.Title) + len(d.Text) + len(d.Metadata)
		return nil
	})
	if err != nil && !errors.Is(err, errPage) {
		return p, err
	}
	return p, nil
}

// deleted are the ids that are gone from the old database since deletions were last
// followed, in the state of a view.
func (r *reembedder) deleted(ctx context.Context, view *store.View) ([]string, error) {
	gone := map[string]bool{}
	look := func(id string) error {
		_, there, err := view.Lookup(id)
		if err == nil && !there {
			gone[id] = true
		}
		return err
	}
	if view.Seq() == r.at.Seq {
		return nil, nil
	}
	err := view.Log(ctx, r.at.Seq, func(_ uint64, c store.Change) error {
		if c.Op != store.Delete {
			return nil
		}
		return look(c.ID)
	})
	if errors.Is(err, store.ErrTrimmed) { // Compact was there before
		clear(gone)
		err = r.next.st.ScanDocuments(ctx, 0, func(_ uint64, d *store.Document) error { return look(d.ID) })
	}
	return slices.Sorted(maps.Keys(gone)), err
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

// failpoint, if not nil, hears of named moments. Tests set it.
var failpoint func(name string)

func hit(name string) {
	if failpoint != nil {
		failpoint(name)
	}
}
