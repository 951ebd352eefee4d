package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/store"
)

// reembedder is the state of one Reembed.
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

// A page of documents is read together and stored in one commit.
const (
	pageDocuments = encodeWindow
	pageBytes     = 8 << 20
)

// page is a group of documents that is moved at once.
type page struct {
	at      store.Source // when it is done
	deleted []string
	records []record
	more    bool
}

// follow applies the changes of the old database to the new one.
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
			r.rep.Add(res)
			r.met += len(p.records)
			hit(ctx, "reembed-page")
		}
		if p.at != r.at {
			if err := r.note(ctx, p.at); err != nil {
				return err
			}
			hit(ctx, "reembed-noted")
		}
		r.report("reembed", r.next.st.Len(), r.total)
		more = p.more
	}
	return nil
}

// errPage ends a scan when a page is full.
var errPage = errors.New("page")

// page reads the next documents. Ordinals are never reused and ascend with versions, so
// all new versions come after the last one taken over.
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
		p.records = append(p.records, record{Document: *d})
		p.at.Next = ord + 1
		size += len(d.Title) + len(d.Text) + len(d.Metadata)
		return nil
	})
	if err != nil && !errors.Is(err, errPage) {
		return p, err
	}
	return p, nil
}

// deleted returns the ids that the old database has lost since deletions were last
// followed, up to the state of a view.
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
		if c.New != 0 {
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

// note records how far the new database has followed the old one.
func (r *reembedder) note(ctx context.Context, at store.Source) error {
	r.at = at
	return r.next.st.SetManifest(ctx, func(m *store.Manifest) error {
		m.Source = &at
		return nil
	})
}

func hasText(position int, d *store.Document) error {
	if intake.Blank(d.Title) && intake.Blank(d.Text) {
		return &DocumentError{position, d.ID, fmt.Errorf("%w: it has no text, only a vector that it brought; delete it, or keep the model", ErrInvalid)}
	}
	return nil
}
