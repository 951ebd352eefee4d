package folder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/metadata"
)

const (
	firstBatch = 32              // documents: how long they take is not known yet
	batchTime  = 3 * time.Second // that a batch should take, so that an interrupt loses little
	saveEvery  = 5 * time.Second // between two writings of the stamps
)

// keep stores batches as they arrive, and tells how far that is, from p on.
func (r *run) keep(ctx context.Context, in <-chan *batch, p Progress) error {
	saved := time.Now()
	for b := range in {
		p.Storing = b.bytes - p.Bytes
		r.f.progress(p)
		began := time.Now()
		if err := r.batch(ctx, b); err != nil {
			return err
		}
		if n := len(b.items); n > 0 {
			fit := float64(n) * float64(batchTime) / float64(max(time.Since(began), time.Millisecond))
			want := int64(min(max(fit, 1), 4*float64(max(n, firstBatch)), float64(r.f.o.Batch)))
			r.want.Store(want)
		}
		p.Files, p.Bytes, p.Storing = b.files, b.bytes, 0
		p.Documents += len(b.items)
		r.f.progress(p)
		if took := time.Since(saved); took > saveEvery {
			began := time.Now()
			if err := writeStamps(r.f.stamped, r.f.root, r.f.settings, r.mounts, r.stamps); err != nil {
				return err
			}
			r.dirty = false
			saved = time.Now().Add(10 * time.Since(began)) // of many files, less often
		}
	}
	return ctx.Err()
}

// batch stores one batch, and stamps the files that are then complete.
func (r *run) batch(ctx context.Context, b *batch) error {
	var fresh, known []item
	ids := make([]string, len(b.items))
	for i, it := range b.items {
		ids[i] = it.doc.ID
		is, err := r.recorded(ctx, it.doc.ID, it.file.path)
		if err != nil {
			return err
		}
		if is {
			known = append(known, it)
		} else {
			fresh = append(fresh, it)
		}
	}
	if err := r.f.noted.add(ids...); err != nil {
		return err
	}
	// Add, unlike Upsert, takes no document's place.
	met, err := r.store(ctx, fresh, r.f.db.Add)
	if err != nil {
		return err
	}
	if _, err := r.store(ctx, append(known, met...), r.f.db.Upsert); err != nil {
		return err
	}
	var times []engine.Patch
	for _, p := range b.patches {
		is, err := r.recorded(ctx, p.id, p.file.path)
		if err != nil {
			return err
		}
		if !is { // any more: the next sync reads the file
			r.badKept[p.file.path] = true
			continue
		}
		times = append(times, engine.Patch{ID: p.id, Metadata: r.f.docs[p.id].patch(location.Time, location.Written(time.Unix(0, p.file.time)))})
		r.now[p.id] = place{p.file.path, seconds(p.file.time), r.f.docs[p.id].flat}
	}
	if len(times) > 0 {
		if _, err := r.f.db.Patch(ctx, times); err != nil {
			return err
		}
	}
	for _, x := range b.ended {
		r.dirty = true
		if x.bad || r.badKept[x.path] {
			delete(r.stamps, x.path)
		} else {
			x.stamp.IDs += x.moved
			r.stamps[x.path] = x.stamp
		}
	}
	return nil
}

// recorded reports whether a document is recorded from this root, was stored by this sync, or has all metadata
// that a sync writes for a file. If this is known only from an earlier sync, it is checked, since a user's
// document may have replaced it.
func (r *run) recorded(ctx context.Context, id, path string) (bool, error) {
	if _, now := r.now[id]; now {
		return true, nil
	}
	was, before := r.f.docs[id]
	if !before && !r.f.stale {
		s := r.f.unsure[id]
		return s.exact && s.path == path, nil
	}
	if !before || !r.f.stale {
		return before, nil
	}
	return r.still(ctx, id, was.path)
}

// still reports whether the document stored under an id is, by its metadata, from a file of this root.
func (r *run) still(ctx context.Context, id, path string) (bool, error) {
	d, err := r.f.db.Get(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s, ok := r.f.says(id, d.Metadata)
	return ok && s.path == path, nil
}

// store stores items with put in one commit. Refused documents are recorded and left out.
// met are items whose id is already stored, but whose stored document may be replaced.
func (r *run) store(ctx context.Context, items []item, put func(context.Context, []engine.Document) (engine.AddResult, error)) (met []item, err error) {
	items = append([]item(nil), items...)
	for len(items) > 0 {
		docs := make([]engine.Document, len(items))
		for i, it := range items {
			docs[i] = it.doc
			docs[i].WordsFirst = r.f.o.WordsFirst && it.doc.Data == nil
		}
		res, err := put(ctx, docs)
		var refused *engine.DocumentError
		if errors.As(err, &refused) && refused.Position >= 0 && refused.Position < len(items) {
			it := items[refused.Position]
			items = append(items[:refused.Position], items[refused.Position+1:]...)
			cause := refused.Err
			if errors.Is(err, engine.ErrExists) {
				ok, err := r.mayReplace(ctx, it)
				if err != nil {
					return nil, err
				}
				if ok {
					met = append(met, it)
					continue
				}
				if own, may := r.f.ownID(it.file.path, it.doc.ID); may && !strings.HasPrefix(it.doc.ID, r.f.id(it.file.path)+":") {
					if items, err = r.renamed(items, refused.Position, it, own); err != nil {
						return nil, err
					}
					continue
				}
				cause = fmt.Errorf("%w: %q is already stored and is not from this folder; give the folder a prefix", ErrForeign, it.doc.ID)
			}
			r.badKept[it.file.path] = true
			if _, ours := r.f.docs[it.doc.ID]; !ours {
				r.f.noted.drop(it.doc.ID)
			} else if !errors.Is(cause, ErrForeign) {
				cause = stale(cause, 1)
			}
			r.fail(Failure{it.file.path, it.line, cause})
			continue
		}
		if err != nil {
			return nil, err
		}
		r.report.Add(res)
		for _, it := range items {
			r.now[it.doc.ID] = place{path: it.file.path, time: seconds(it.file.time)}
		}
		break
	}
	return met, nil
}

// renamed puts an item back with its own id.
func (r *run) renamed(items []item, at int, it item, own string) ([]item, error) {
	if _, ours := r.f.docs[it.doc.ID]; !ours {
		r.f.noted.drop(it.doc.ID)
	}
	it.file.moved += hashOf(own) - hashOf(it.doc.ID)
	it.doc.ID = own
	return slices.Insert(items, at, it), r.f.noted.add(own)
}

// mayReplace reports whether the stored document with the item's id is the same one. It must be
// of this root and file, as a sync writes it; of the same file, named directly; or equal and
// without metadata, as it was stored before folders were followed.
func (r *run) mayReplace(ctx context.Context, it item) (bool, error) {
	d, err := r.f.db.Get(ctx, it.doc.ID)
	if errors.Is(err, engine.ErrNotFound) { // went meanwhile
		return true, nil
	}
	if err != nil {
		return false, err
	}
	file, _ := metadata.OfFile(d.Metadata)
	if _, inside := file[location.Root]; inside {
		s, ok := r.f.says(it.doc.ID, d.Metadata)
		return ok && s.exact && s.path == it.file.path, nil
	}
	if at, ok := location.FileOf(d.Metadata); ok {
		return at == r.f.path(it.file.path) && file[location.Kind] == files.KindOf(at), nil
	}
	return len(d.Metadata) == 0 && d.Title == it.doc.Title && d.Text == it.doc.Text, nil
}
