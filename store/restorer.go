package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// restorer writes the parts of a backup into a new store: first without state, so
// that nothing of it counts, then the state with the manifest.
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
				return &BackupError{Part: x.part + 1, What: fmt.Sprintf("the backup has %d parts, %d are wanted", x.part, x.o.Parts)}
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

// refuse makes a *BackupError, where it is not the reader that failed.
func (x *restorer) refuse(what string, err error) error {
	switch {
	case x.src.err != nil:
		return x.src.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		what, err = "it ends early", nil
	}
	return &BackupError{Part: x.part + 1, What: what, Err: err}
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
		if err := x.put(ord, d); err != nil {
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

// header begins a part, which must follow the one before.
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
	}
	for _, br := range m.Bridges {
		if filepath.Base(br.File) != br.File || !filepath.IsLocal(br.File) || br.File == "." {
			return x.refuse(fmt.Sprintf("%.80q is no name of a bridge's file", br.File), nil)
		}
	}
	if x.o.Accept != nil {
		if x.accept, err = x.o.Accept(&m); err != nil {
			return x.refuse("its manifest", err)
		}
	}
	x.to, x.uuid, x.manifest = h.To, h.UUID, m
	return nil
}

// survivors removes the versions of the parts before that are none of the part's
// runs.
func (x *restorer) survivors(ctx context.Context, before place) error {
	if err := x.flush(); err != nil {
		return err
	}
	p := &pin{s: x.s, st: state{nextOrd: before.Next}, txn: x.s.db.NewTransaction(false)}
	defer p.txn.Discard()
	it, err := p.iterate(ctx, numberKey(prefixDocument, 1), numberKey(prefixDocument, before.Next))
	if err != nil {
		return err
	}
	defer it.Close()
	if x.kind != frameSurvivors {
		return x.refuse("it does not tell what is left of the parts before", nil)
	}
	var end uint64
	for x.kind == frameSurvivors {
		for runs := x.payload; len(runs) > 0; {
			r := reader{p: runs}
			gap, n := r.uvarint(), r.uvarint()
			runs = r.p
			if r.err != nil || n == 0 || gap > before.Next-end || n > before.Next-end-gap {
				return x.refuse("what is left of the parts before", errors.New("a run that cannot be"))
			}
			start := end + gap
			end = start + n
			if _, err := x.drop(ctx, p, it, start); err != nil {
				return err
			}
			left, err := x.keep(ctx, it, end)
			if err != nil {
				return err
			}
			if left != n {
				return x.refuse(fmt.Sprintf("%d of the versions %d to %d are not in the parts before", n-left, start, end-1), nil)
			}
		}
		if err := x.next(ctx); err != nil {
			return err
		}
	}
	_, err = x.drop(ctx, p, it, before.Next)
	return errors.Join(err, x.flush())
}

// keep passes over the versions below an ordinal and counts them.
func (x *restorer) keep(ctx context.Context, it *badger.Iterator, below uint64) (n uint64, err error) {
	return n, x.walk(ctx, it, below, func(uint64) error { n++; return nil })
}

// drop removes the versions below an ordinal.
func (x *restorer) drop(ctx context.Context, p *pin, it *badger.Iterator, below uint64) (n uint64, err error) {
	return n, x.walk(ctx, it, below, func(ord uint64) error { n++; return x.forget(p, ord) })
}

// walk calls fn with the ordinals from where the iterator stands to below one.
func (x *restorer) walk(ctx context.Context, it *badger.Iterator, below uint64, fn func(ord uint64) error) error {
	return (&pin{s: x.s}).eachOrdinal(ctx, it, below, fn)
}

// forget removes a version.
func (x *restorer) forget(p *pin, ord uint64) error {
	var d Document
	if err := x.s.record(p.txn, prefixDocument, ord, func(b []byte) error { return decodeDocument(b, &d) }); err != nil {
		return err
	}
	raw, err := x.s.get(p.txn, idKey(d.ID))
	if err != nil {
		return err
	}
	cur, err := decodeCurrent(raw)
	if err != nil {
		return err
	}
	ops := []op{{key: idKey(d.ID)}}
	for _, prefix := range []byte{prefixDocument, prefixRow} {
		keys, err := x.s.keys(numberKey(prefix, ord), numberKey(prefix, ord+1), maxParts)
		if err != nil {
			return err
		}
		for _, k := range keys {
			ops = append(ops, op{key: k})
		}
	}
	for _, o := range ops {
		if err := x.w.apply(o); err != nil {
			return err
		}
	}
	x.live--
	x.bytes -= cur.now.bytes
	if cur.now.truncated {
		x.truncated--
	}
	return nil
}

// bridges reads the files of bridges, and removes those that the manifest names
// no more.
func (x *restorer) bridges(ctx context.Context) error {
	crc := map[string]uint32{}
	for _, br := range x.manifest.Bridges {
		crc[br.File] = br.CRC32C
	}
	dir := filepath.Join(x.s.dir, bridgesName)
	for x.kind == frameBridge {
		name := string(x.payload)
		want, ok := crc[name]
		if !ok {
			return x.refuse(fmt.Sprintf("its manifest names no bridge %.80q", name), nil)
		}
		got, err := x.bridge(ctx, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if got != want {
			return x.refuse(fmt.Sprintf("bridge %q is not the file that its manifest names", name), nil)
		}
	}
	entries, err := entriesOf(dir)
	if err != nil {
		return err
	}
	var there []string
	for _, e := range entries {
		if _, ok := crc[e.Name()]; ok {
			there = append(there, e.Name())
		} else if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	for name := range crc {
		if !slices.Contains(there, name) {
			return x.refuse(fmt.Sprintf("bridge %q is missing", name), nil)
		}
	}
	return nil
}

// bridge writes one file and returns its checksum.
func (x *restorer) bridge(ctx context.Context, path string) (uint32, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	var sum bridgeSum
	for err == nil {
		if err = x.next(ctx); err != nil || x.kind != frameBytes {
			break
		}
		sum.add(x.payload)
		_, err = f.Write(x.payload)
	}
	return sum.crc, errors.Join(err, f.Sync(), f.Close())
}

// document reads the two records of a version.
func (x *restorer) document(ctx context.Context) (ord uint64, d *Document, err error) {
	var n, m uint64
	if len(x.payload) < 24 {
		return 0, nil, x.refuse("a document", errRecord)
	}
	if err := decodeNumbers(x.payload[:24], &ord, &n, &m); err != nil {
		return 0, nil, x.refuse("a document", err)
	}
	const most = 2*MaxDocumentBytes + 1<<20 // with the lengths in a record
	if n > most || m > most {
		return 0, nil, x.refuse(fmt.Sprintf("version %d of %d and %d bytes", ord, n, m), ErrTooLarge)
	}
	all := slices.Clone(x.payload[24:])
	for {
		if err := x.next(ctx); err != nil {
			return 0, nil, err
		}
		if x.kind != frameMore {
			break
		}
		if uint64(len(all)+len(x.payload)) > n+m {
			return 0, nil, x.refuse(fmt.Sprintf("version %d is longer than it says", ord), nil)
		}
		all = append(all, x.payload...)
	}
	if uint64(len(all)) != n+m {
		return 0, nil, x.refuse(fmt.Sprintf("version %d has %d of %d bytes", ord, len(all), n+m), nil)
	}
	d = &Document{}
	if err := decodeDocument(all[:n], d); err != nil {
		return 0, nil, x.refuse(fmt.Sprintf("version %d", ord), err)
	}
	rows, err := decodeRows(all[n:], nil)
	if err == nil && len(rows) != len(d.Rows) {
		err = fmt.Errorf("%w: %d chunks and %d rows", errRecord, len(d.Rows), len(rows))
	}
	if err != nil {
		return 0, nil, x.refuse(fmt.Sprintf("version %d", ord), err)
	}
	for i, r := range rows {
		d.Rows[i].Vector, d.Rows[i].Tokens, d.Rows[i].Codes = r.Vector, r.Tokens, r.Codes
	}
	err = d.check(x.manifest.Dim)
	if err == nil && x.accept != nil {
		err = x.accept(d)
	}
	if err != nil {
		return 0, nil, x.refuse(fmt.Sprintf("version %d", ord), err)
	}
	return ord, d, nil
}

// put writes a version.
func (x *restorer) put(ord uint64, d *Document) error {
	there, err := x.s.has(x.w.txn, idKey(d.ID))
	if err != nil {
		return err
	}
	if there {
		return x.refuse(fmt.Sprintf("id %.80q is there twice", d.ID), nil)
	}
	text, rows := encodeDocument(nil, d), encodeRows(nil, d.Rows)
	if err := errors.Join(x.w.record(prefixDocument, ord, text), x.w.record(prefixRow, ord, rows)); err != nil {
		return err
	}
	now := version{ord: ord, seq: x.to.Seq, bytes: uint64(len(text) + len(rows)), truncated: d.Truncated > 0}
	if err := x.w.apply(op{idKey(d.ID), current{now: now}.encode()}); err != nil {
		return err
	}
	x.live++
	x.bytes += now.bytes
	if now.truncated {
		x.truncated++
	}
	if x.read++; x.o.Progress != nil && x.read%checkEvery == 1 {
		x.o.Progress(x.read)
	}
	return nil
}

// flush makes what was staged readable.
func (x *restorer) flush() error {
	if err := x.w.finish(); err != nil {
		return err
	}
	x.w = x.s.newStager()
	return nil
}

// finish makes a database of the records: what was backed up, under a history that
// begins here.
func (x *restorer) finish() error {
	if err := x.w.finish(); err != nil {
		return err
	}
	old, m := x.s.Manifest(), x.manifest
	m.Major, m.Minor, m.UUID, m.Created, m.From, m.Backups = old.Major, old.Minor, old.UUID, old.Created, 0, nil
	st := x.s.current()
	st.gen++
	st.manifestGen = st.gen
	st.seq, st.base, st.trimmed, st.nextOrd = x.to.Seq, x.to.Seq, x.to.Seq, x.to.Next
	st.live, st.newLive, st.liveBytes, st.truncated = x.live, x.live, x.bytes, x.truncated
	st.safeOrd, st.safeSeq = 1, 0
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
