package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/code"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/problems"
)

const (
	batchBytes = 8 << 20         // of texts in a batch, and one document more
	inMemory   = 4 << 20         // files up to this size are read once, others for their digest first
	racy       = 2 * time.Second // a file may change again this long and keep its time: FAT counts in two seconds
)

// batch holds the documents of one commit.
type batch struct {
	items   []item
	patches []patch    // of documents whose file has another time and nothing else
	ended   []*reading // files that end with this batch
	files   int        // that were looked at before, and when it was full
	bytes   int64      // the same in bytes
	texts   int        // bytes of texts
}

// patch sets the time of a document to that of its file.
type patch struct {
	id   string
	file *reading
}

// item is one document.
type item struct {
	doc  engine.Document
	file *reading
	line int
}

// reading is one file that is being read into the database.
type reading struct {
	file
	stamp stamp
	bad   bool   // something of it could not be read
	blank bool   // nothing is in it
	moved uint64 // the keeper's: what other ids than the reader's add to stamp.IDs
}

// reader reads the files that were found, in their order.
type reader struct {
	*run
	out   chan<- *batch
	next  *batch
	inner map[string]bool // ids of the items in next
	there map[string]bool // files, and folders that cannot be read; nil until it is needed
	files int
	bytes int64
	dim   int   // of the vectors of the database; 0 until it is needed
	texts int64 // bytes of texts of the file that is being read: about how far that is
	size  int64 // of that file
}

func (r *run) read(ctx context.Context, out chan<- *batch) error {
	d := &reader{run: r, out: out, next: &batch{}, inner: map[string]bool{}}
	for i, f := range sourceFirst(r.walk.files) {
		if i%64 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		r.report.Bytes += f.size
		if ids, ok := r.same(f); ok {
			r.unchanged += len(ids)
			for _, id := range ids {
				r.claimed[id] = f.path
			}
			r.skip(len(ids), r.f.stamps[f.path])
		} else {
			r.report.Read++
			if err := d.file(ctx, f); err != nil {
				return err
			}
		}
		d.files, d.bytes, d.texts = i+1, d.bytes+f.size, 0
	}
	r.report.Skipped.Kinds = problems.MostFrequent(slices.Collect(maps.Values(r.walk.kinds)))
	return d.send(ctx)
}

// sourceFirst returns the files with those of source code first, if most are: the first commit shows a new database what
// it is to hold (engine.TokenStatesAuto).
func sourceFirst(all []file) []file {
	var source, other []file
	untold := 0 // that may be scripts
	for _, f := range all {
		if mayBeScript(f.path) {
			untold++
		} else if files.KindOf(f.path) == "code" {
			source = append(source, f)
			continue
		}
		other = append(other, f)
	}
	if len(source) <= len(other)-untold {
		return all
	}
	return append(source, other...)
}

// same reports whether a file is unchanged since its documents were stored, and these
// still exist. A file without documents has no ids.
func (r *run) same(f file) ([]string, bool) {
	s, ok := r.f.stamps[f.path]
	if !ok || r.f.o.Reread || s.Racy || !s.fits(f) {
		return nil, false
	}
	ids, ok := r.stored(s)
	return ids, ok
}

// stored reports whether the documents of a stamp are recorded, with the same time, and belong to no other file. A
// different time means another version of the file.
func (r *run) stored(s stamp) ([]string, bool) {
	ids := r.paths[s.Path]
	if len(ids) != s.Documents {
		return nil, false
	}
	var sum uint64
	for _, id := range ids {
		if _, taken := r.claimed[id]; taken || r.f.docs[id].time != seconds(s.Time) {
			return nil, false
		}
		sum += hashOf(id)
	}
	return ids, sum == s.IDs
}

// skip counts a file without documents.
func (r *run) skip(documents int, s stamp) {
	switch {
	case documents > 0:
	case s.Other:
		r.others++
		r.report.Skipped.Other++
		r.walk.name(s.Path)
	case s.Empty:
		r.report.Skipped.Empty++
	default:
		if r.report.Skipped.Binary++; r.report.Skipped.BinaryExample == "" {
			r.report.Skipped.BinaryExample = s.Path
		}
	}
}

func hashOf(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

func seconds(nanoseconds int64) int64 { return time.Unix(0, nanoseconds).Unix() }

// file reads one file. Its error ends the sync; errors of the file itself are recorded.
func (d *reader) file(ctx context.Context, f file) error {
	d.reread[f.path] = true
	d.f.begun(f.path)
	h, err := openBelow(d.dir, f.path)
	if gone(err) { // since the walk
		return nil
	}
	x := &reading{file: f}
	if err == nil {
		err = errors.Join(d.content(ctx, x, h), h.Close())
	}
	if e := ctx.Err(); e != nil {
		return e
	}
	if err != nil {
		d.bad(x, 0, stale(reason(err), d.left(x.path)))
	}
	d.next.ended = append(d.next.ended, x)
	return nil
}

// left is how many documents of a file are stored that were not found in it now: recorded ones, and those with all
// metadata that a sync writes.
func (d *reader) left(path string) (n int) {
	for _, id := range slices.Concat(d.f.likely[path], d.paths[path]) {
		if d.claimed[id] != path {
			n++
		}
	}
	return n
}

// bad records that a part of a file could not be read.
func (d *reader) bad(x *reading, line int, err error) {
	x.bad = true
	d.badRead[x.path] = true
	d.fail(Failure{x.path, line, reason(err)})
}

// content reads an open file and passes on its documents.
func (d *reader) content(ctx context.Context, x *reading, h *os.File) error {
	began := time.Now()
	info, err := h.Stat()
	if err != nil {
		return err
	}
	x.size, x.time = info.Size(), nanoseconds(info.ModTime())
	if no, err := d.noScript(x.path, h); err != nil {
		return err
	} else if no {
		x.stamp = stamp{Path: x.path, Size: x.size, Time: x.time, Digest: make([]byte, sha256.Size), Racy: x.time > began.Add(-racy).UnixNano(), Other: true}
		d.report.Read-- // it was looked at alone
		d.skip(0, x.stamp)
		return nil
	}
	var from io.ReaderAt = h
	digest := sha256.New()
	if x.size <= inMemory {
		var b bytes.Buffer
		b.Grow(int(x.size) + bytes.MinRead)
		if _, err := b.ReadFrom(io.LimitReader(h, inMemory+1)); err != nil {
			return err
		}
		digest.Write(b.Bytes())
		x.blank = len(bytes.TrimSpace(b.Bytes())) == 0
		x.size, from = int64(b.Len()), bytes.NewReader(b.Bytes())
	} else if _, err := io.Copy(digest, &until{ctx, h}); err != nil {
		return err
	}
	x.stamp = stamp{Path: x.path, Size: x.size, Time: x.time, Digest: digest.Sum(nil), Racy: x.time > began.Add(-racy).UnixNano()}
	if d.touched(x) {
		return nil
	}
	if err := d.documents(ctx, x, from); err != nil {
		return err
	}
	after, err := h.Stat()
	if err != nil {
		return err
	}
	if after.Size() != x.size || nanoseconds(after.ModTime()) != x.time {
		x.stamp.Racy = true // the next sync reads it again
	}
	return nil
}

// mayBeScript reports whether a file is read only if its first line says that it is a script.
func mayBeScript(path string) bool { return code.Untold(path) && files.KindOf(path) == "code" }

// noScript reports whether a file, whose name tells nothing, begins with something else than a script does. No more than that of it
// is read. One with documents may be empty while it is written.
func (d *reader) noScript(path string, h io.ReaderAt) (bool, error) {
	if !mayBeScript(path) {
		return false, nil
	}
	head := make([]byte, code.ScriptHead)
	n, err := h.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	_, script := code.Script(string(head[:n]))
	return !script && (n > 0 || d.left(path) == 0), nil
}

// until is a reader that ends with a context.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// touched reports whether a file has the same bytes as before. Its documents then get its
// new time, if that has changed.
func (d *reader) touched(x *reading) bool {
	was, ok := d.f.stamps[x.path]
	if !ok || d.f.o.Reread || !bytes.Equal(was.Digest, x.stamp.Digest) {
		return false
	}
	ids, ok := d.stored(was)
	if !ok {
		return false
	}
	d.unchanged += len(ids)
	d.skip(len(ids), was)
	for _, id := range ids {
		d.claimed[id] = x.path
		if d.f.docs[id].time != seconds(x.time) {
			d.next.patches = append(d.next.patches, patch{id, x})
		}
	}
	for _, w := range was.Warned {
		d.warned = append(d.warned, Failure{x.path, w.Line, errors.New(w.Text)})
	}
	x.stamp.Documents, x.stamp.IDs, x.stamp.Other, x.stamp.Empty, x.stamp.Warned = was.Documents, was.IDs, was.Other, was.Empty, was.Warned
	return true
}

// documents passes on the documents of a file.
func (d *reader) documents(ctx context.Context, x *reading, from io.ReaderAt) error {
	o := files.Options{ID: d.f.id(x.path), Columns: d.f.o.Columns, DropVectors: d.f.o.DropVectors, MaxBytes: d.f.o.MaxBytes, KeepRepeated: !d.f.o.GlobalIDs}
	o.Warn = func(w files.Warning) { d.warn(x, w.Line, w.Text) }
	kind, modified := files.KindOf(x.path), time.Unix(0, x.time)
	var textless *Failure // the first record without a text, or JSON without one, such as settings
	lacking := 0          // such records
	d.size = x.size
	for rec, err := range files.Read(ctx, from, x.size, x.path, o) {
		var one *files.RecordError
		isOne := errors.As(err, &one)
		why, e := d.noVectors(ctx, kind, rec, err)
		if e != nil {
			return e
		}
		switch none := x.stamp.Documents == 0 && !x.bad && d.left(x.path) == 0; {
		case why != nil && none:
			d.warn(x, 0, why.Error())
			x.stamp.Other = true
			d.skip(0, x.stamp)
			return nil
		case why != nil:
			return why
		case errors.Is(err, files.ErrNoText) && (isOne || kind == "json"):
			if lacking++; textless == nil || errors.Is(err, files.ErrMalformed) && !errors.Is(textless.Err, files.ErrMalformed) {
				textless = &Failure{Path: x.path, Err: reason(err)}
				if isOne {
					textless.Line, textless.Err = one.Line, one.Err
				}
			}
			continue
		case isOne:
			d.bad(x, one.Line, one.Err)
			continue
		case (errors.Is(err, files.ErrNoText) || errors.Is(err, files.ErrBinary)) && none:
			if x.stamp.Empty = errors.Is(err, files.ErrNoText); x.stamp.Empty && err != files.ErrNoText {
				d.warn(x, 0, err.Error()) // a scan, or a table without texts
			}
			d.skip(0, x.stamp)
			return nil
		case err != nil:
			return err
		}
		first, again := d.owner(rec.ID, x.path)
		if own, may := d.f.ownID(x.path, rec.ID); may && (again && first != x.path || d.f.docs[own].path == x.path) {
			rec.ID = own
			first, again = d.owner(own, x.path)
		}
		if again && first != x.path {
			d.bad(x, lineOf(rec), fmt.Errorf("%w: %s also has %q; give each document its own id", ErrForeign, first, rec.ID))
			continue
		}
		if !again {
			d.claimed[rec.ID] = x.path
			x.stamp.Documents++
			x.stamp.IDs += hashOf(rec.ID)
		}
		if err := d.add(ctx, item{location.Describe(rec.Document, [2]int{rec.From, rec.To}, rec.Verbatim, d.f.root, x.path, kind, modified), x, lineOf(rec)}); err != nil {
			return err
		}
	}
	switch {
	case textless != nil && x.stamp.Documents > 0 && !errors.Is(textless.Err, files.ErrMalformed):
		d.warn(x, textless.Line, fmt.Sprintf("%d of its records have no text, this one first; they are left out", lacking))
	case textless != nil && (x.stamp.Documents > 0 || x.bad || d.left(x.path) > 0):
		d.bad(x, textless.Line, textless.Err)
	case x.blank && !x.bad && d.left(x.path) > 0: // which most kinds report
		return files.ErrNoText
	case x.stamp.Documents == 0 && !x.bad:
		x.stamp.Other, x.stamp.Empty = textless != nil, textless == nil
		d.skip(0, x.stamp)
	}
	return nil
}

// noVectors says why a file of arrays holds no vectors of the database, such as measurements; nil where it does.
func (d *reader) noVectors(ctx context.Context, kind string, rec files.Record, err error) (why, failed error) {
	switch {
	case kind != "npy" && kind != "fbin" && kind != "fvecs":
		return nil, nil
	case err != nil && !errors.As(err, new(*files.RecordError)) && errors.Is(err, files.ErrMalformed):
		return err, nil
	case err != nil:
		return nil, nil
	case d.dim == 0:
		s, err := d.f.db.Stats(ctx)
		if err != nil {
			return nil, err
		}
		d.dim = s.Dim
	}
	if d.dim > 0 && len(rec.Vector) != d.dim {
		return fmt.Errorf("its rows have %d numbers, the vectors of the database %d; it is left out", len(rec.Vector), d.dim), nil
	}
	return nil, nil
}

// owner returns the file that already has an id.
func (d *reader) owner(id, path string) (string, bool) {
	if at, claimed := d.claimed[id]; claimed {
		return at, true
	}
	p, recorded := d.f.docs[id]
	return p.path, recorded && p.path != path && d.stays(p.path)
}

// stays reports whether the documents of another file keep their ids.
func (d *reader) stays(path string) bool {
	if !d.inScope(path) || d.f.o.GlobalIDs {
		return !d.inScope(path)
	}
	if d.there == nil {
		d.there = make(map[string]bool, len(d.walk.files)+len(d.walk.closed))
		for _, f := range d.walk.files {
			d.there[f.path] = true
		}
		for _, c := range d.walk.closed {
			d.there[c.Path] = true
		}
	}
	return under(path, func(at string) bool { return d.there[at] })
}

// ownID is the id for a record of a file if its original one belongs to another document.
func (f *Folder) ownID(path, id string) (own string, may bool) {
	return f.id(path) + ":" + id, !f.o.GlobalIDs && !oneDocument(files.KindOf(path))
}

// lineOf is the first line of a record, 0 for a file that is one document.
func lineOf(r files.Record) int {
	if r.Verbatim {
		return 0
	}
	return r.From
}

// add adds a document to the batch. Of two documents with one id the later replaces the
// earlier, so they must be in different batches. A full batch is sent when the next
// document comes: only then is it known whether the file of its last document is complete
// and can be stamped.
func (d *reader) add(ctx context.Context, it item) error {
	full := int64(len(d.next.items)) >= d.want.Load() || d.next.texts >= batchBytes
	if full || d.inner[it.doc.ID] {
		if err := d.send(ctx); err != nil {
			return err
		}
	}
	d.inner[it.doc.ID] = true
	d.next.items = append(d.next.items, it)
	n := len(it.doc.Title) + len(it.doc.Text) + len(it.doc.Data)
	d.next.texts += n
	d.texts += int64(n)
	return nil
}

// send passes on the batch.
func (d *reader) send(ctx context.Context) error {
	d.next.files, d.next.bytes = d.files, d.bytes+min(d.texts, d.size)
	select {
	case d.out <- d.next:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.next = &batch{}
	clear(d.inner)
	return nil
}
