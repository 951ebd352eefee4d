package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// restorer writes the parts of a backup into a new store: first without a state, so that
// nothing counts yet, then the state with the manifest.
type restorer struct {
	s   *Store
	src *source
	in  partReader
	o   RestoreOptions
	w   *stager

	part     int    // parts that are in the store
	to       place  // of the last of them
	uuid     UUID   // of the database that was backed up
	digest   string // of the last part
	manifest Manifest
	accept   func(*Document) error

	terms      map[string]struct{} // the vocabulary so far
	basisCount uint64              // bases of codes so far

	live, bytes, truncated uint64
	read                   int // documents

	kind    byte // of the frame at which the part stands
	payload []byte
}

func (x *restorer) run(ctx context.Context) error {
	for x.o.Parts == 0 || x.part < x.o.Parts {
		err := x.in.begin()
		if errors.Is(err, io.EOF) && x.src.err == nil && x.part > 0 {
			if x.o.Parts > 0 {
				return &backupError{Part: x.part + 1, What: fmt.Sprintf("the backup has %d parts, %d are wanted", x.part, x.o.Parts)}
			}
			break
		}
		if err != nil {
			return x.refuse("its beginning", err)
		}
		if err := x.readPart(ctx); err != nil {
			return err
		}
		hit("restore-part")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return x.finish()
}

// refuse makes a *backupError, unless the reader failed.
func (x *restorer) refuse(what string, err error) error {
	switch {
	case x.src.err != nil:
		return x.src.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		what, err = "it ends early", nil
	}
	return &backupError{Part: x.part + 1, What: what, Err: err}
}

// next reads the next frame.
func (x *restorer) next(ctx context.Context) (err error) {
	if err := errors.Join(ctx.Err(), x.s.stopped()); err != nil {
		return err
	}
	if x.kind, x.payload, err = x.in.next(); err != nil {
		return x.refuse("a frame", err)
	}
	return nil
}

func (x *restorer) readPart(ctx context.Context) error {
	if err := x.next(ctx); err != nil {
		return err
	}
	before := x.to
	if err := x.header(); err != nil {
		return err
	}
	if err := x.next(ctx); err != nil {
		return err
	}
	if x.part > 0 {
		if err := x.survivors(ctx, before); err != nil {
			return err
		}
	}
	if err := x.bridges(ctx); err != nil {
		return err
	}
	if err := x.vocabulary(ctx); err != nil {
		return err
	}
	if err := x.bases(ctx); err != nil {
		return err
	}
	var documents uint64
	for last := max(before.Next, 1); x.kind == frameDocument; documents++ {
		ord, d, err := x.document(ctx)
		if err != nil {
			return err
		}
		if ord < last || ord >= x.to.Next {
			return x.refuse(fmt.Sprintf("version %d is not in its order, or none of this part", ord), nil)
		}
		last = ord + 1
		if err := x.put(ctx, ord, d); err != nil {
			return err
		}
	}
	if x.kind != frameEnd {
		return x.refuse(fmt.Sprintf("a frame %q where none may be", x.kind), nil)
	}
	e, err := x.in.end(x.payload)
	if err != nil {
		return x.refuse("its end", err)
	}
	if e.documents != documents || e.live != x.live {
		return x.refuse(fmt.Sprintf("it has %d documents of %d, and makes %d of %d", documents, e.documents, x.live, e.live), nil)
	}
	x.digest = fmt.Sprintf("%x", e.digest)
	x.part++
	return nil
}

// header begins a part, which must follow the previous one.
func (x *restorer) header() error {
	if x.kind != frameHeader {
		return x.refuse("it has no header", nil)
	}
	h, m, err := decodeHeader(x.payload)
	if err != nil {
		return x.refuse("its header", err)
	}
	switch {
	case h.Part != x.part+1:
		return x.refuse(fmt.Sprintf("it is part %d", h.Part), nil)
	case x.part == 0 && (h.From != nil || h.Previous != ""):
		return x.refuse("it is not the first one", nil)
	case x.part > 0 && (h.From == nil || *h.From != x.to || h.UUID != x.uuid || h.Previous != x.digest):
		return x.refuse("it does not follow the one before", nil)
	case x.live > 0 && m.Dim != x.manifest.Dim:
		return x.refuse(fmt.Sprintf("it has %d dimensions, the one before %d", m.Dim, x.manifest.Dim), nil)
	case (m.Deferred || m.Short) && m.format() < formatDeferred:
		return x.refuse(fmt.Sprintf("it may lack vectors, or has short records, and has the metric %.20q", m.Metric), nil)
	case x.live > 0 && m.Metric != x.manifest.Metric:
		return x.refuse(fmt.Sprintf("it has the metric %.20q, the one before %.20q", m.Metric, x.manifest.Metric), nil)
	}
	for _, br := range m.Bridges {
		if filepath.Base(br.File) != br.File || !filepath.IsLocal(br.File) || br.File == "." {
			return x.refuse(fmt.Sprintf("%.80q is no name of a bridge's file", br.File), nil)
		}
	}
	if x.o.Accept != nil {
		if x.accept, err = x.o.Accept(&m, int(h.To.Terms), int(h.To.Bases)); err != nil {
			return x.refuse("its manifest", err)
		}
	}
	x.to, x.uuid, x.manifest = h.To, h.UUID, m
	return nil
}

// flush makes staged records readable.
func (x *restorer) flush() error {
	if err := x.w.finish(); err != nil {
		return err
	}
	x.w = x.s.newStager()
	return nil
}

// finish turns the records into a database, with a history that begins here.
func (x *restorer) finish() error {
	if err := x.w.finish(); err != nil {
		return err
	}
	old, m := x.s.Manifest(), x.manifest
	m.Major, m.Minor, m.UUID, m.Created, m.From, m.Backups = m.format(), old.Minor, old.UUID, old.Created, 0, nil
	st := x.s.current()
	st.gen++
	st.manifestGen = st.gen
	st.seq, st.base, st.trimmed, st.nextOrd = x.to.Seq, x.to.Seq, x.to.Seq, x.to.Next
	st.live, st.newLive, st.liveBytes, st.truncated = x.live, x.live, x.bytes, x.truncated
	st.safeOrd, st.safeSeq, st.terms, st.bases = 1, 0, x.to.Terms, x.to.Bases
	st.history = firstHistory(m.UUID)
	st.baseHistory = st.history
	if err := x.s.writeManifest(st, m); err != nil {
		return err
	}
	x.s.mu.Lock()
	x.s.manifest = m
	x.s.mu.Unlock()
	return x.s.finish(st)
}
