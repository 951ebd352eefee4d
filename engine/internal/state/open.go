package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/modulate/local"
	"github.com/lexsem/lexsem/store"
)

// Folder is where the snapshots lie, below the database's folder.
const Folder = "derived"

// version of the snapshots' layout.
const version = columns.Version

// Names of the snapshots of parts; that of the vectors is the index's kind.
const (
	fileLive    = "live"
	fileWords   = "words"
	fileColumns = columns.Kind
	fileSums    = "sums"
	fileLocal   = "local"
)

// Open brings the derived state to the store's last commit: by the snapshots and
// what the change log says since. A snapshot that is damaged, or of another
// database or history, is not used, and its part is made anew by a scan of the
// store.
func Open(ctx context.Context, st *store.Store, o Options) (_ *DB, err error) {
	d := &DB{o: o, st: st, analyzer: o.Analyzer, turn: newTurn()}
	view, err := st.Snapshot()
	if err != nil {
		return nil, err
	}
	views := share(view)
	cur := &State{Seq: view.Seq(), View: view, views: views}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.unmap())
			views.drop()
		}
	}()
	at := d.readAll(cur)
	if cur, err = d.catchUp(ctx, cur, at); err != nil {
		return nil, err
	}
	d.now = cur
	if o.Bridges != nil {
		if err := o.Bridges(cur); err != nil {
			return nil, err
		}
	}
	cur.Modulators = &sync.Map{}
	d.localWanted.Store(o.Local || cur.Local != nil)
	if cur.Local != nil {
		d.backlogs = append(d.backlogs, &d.localBacklog)
	}
	d.cell.Publish(cur, nil)
	d.startMaintainer()
	return d, nil
}

// readAll reads what snapshots there are into s, and returns the commit of each
// part that has a good one.
func (d *DB) readAll(s *State) map[parts]uint64 {
	at := map[parts]uint64{}
	read := func(p parts, kind string, open func(*snapshot.File, uint64) error) {
		seq, err := d.read(s.View, kind, open)
		if err == nil {
			at[p] = seq
			return
		}
		d.distrust(kind, err)
	}
	read(live, fileLive, func(f *snapshot.File, limit uint64) (err error) {
		s.Limit = limit
		s.Live, err = openLive(f)
		return err
	})
	read(vectors, d.kind(s.View), func(f *snapshot.File, limit uint64) error {
		kind := f.Header().Kind
		x, err := index.Open(kind, d.indexOptions(), f)
		if err != nil {
			return err
		}
		s.Vectors = &Vectors{x.(index.Keeper), kind}
		// Ordinals above the limit may have been given anew since.
		var late []uint64
		for id := range s.Vectors.IDs {
			if chunk.Ord(id) >= limit {
				late = append(late, id)
			}
		}
		s.Vectors.Delete(late)
		d.vectors.Store(s.Vectors)
		return nil
	})
	read(words, fileWords, func(f *snapshot.File, _ uint64) (err error) {
		s.Words, err = inverted.OpenWords(d.wordsOptions(), f)
		return err
	})
	read(metadata, fileColumns, func(f *snapshot.File, _ uint64) (err error) {
		s.Columns, err = columns.Open(f)
		return err
	})
	read(sums, fileSums, func(f *snapshot.File, _ uint64) (err error) {
		s.Sums, err = modulate.OpenSums(d.o.Dim, d.o.Vocab, d.o.Lambda, d.vector, f)
		return err
	})
	read(bridges, fileLocal, func(f *snapshot.File, _ uint64) (err error) {
		s.Local, err = local.Open(d.o.Dim, d.o.Vocab, d.vector, d.localOptions(), f)
		return err
	})
	if s.LocalSeq = at[bridges]; s.LocalSeq == 0 {
		s.Local = nil
	}
	return at
}

// catchUp replays the change log into parts that a snapshot gave, and makes the
// others anew.
func (d *DB) catchUp(ctx context.Context, s *State, at map[parts]uint64) (*State, error) {
	oldest := s.Seq
	for _, seq := range at {
		oldest = min(oldest, seq)
	}
	d.saved = oldest
	if len(at) == 0 {
		d.saved = 0
	}
	next, err := d.vectorsFirst(ctx, s, at)
	if err == nil {
		next, err = d.replay(ctx, next, at)
	}
	if err == nil {
		next.dropStrays(at)
		err = next.miscounts(at)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d.distrust("all parts", err)
		clear(at)
		next = &State{Seq: s.Seq, View: s.View, views: s.views}
	}
	var missing parts
	for _, p := range []parts{live, vectors, words, metadata, sums} {
		if _, ok := at[p]; !ok {
			missing |= p
		}
	}
	if missing == 0 {
		return next, nil
	}
	if d.o.Progress != nil || next.View.Len() > 0 {
		d.pending = max(d.pending, next.View.Len())
	}
	next, err = d.rebuild(ctx, next, missing, d.progress)
	if err != nil {
		return nil, fmt.Errorf("rebuilding derived state of %s: %w", d.o.Dir, err)
	}
	if next.Chunks = next.Words.Len(); next.Live.Len() != next.View.Len() {
		return nil, fmt.Errorf("%w: %s holds %d documents where %d are counted", store.ErrCorrupt, d.o.Dir, next.Live.Len(), next.View.Len())
	}
	return next, nil
}

// dropStrays takes vectors out that are of no document: those of deleted ones that were
// still in the index when it was saved.
func (s *State) dropStrays(at map[parts]uint64) {
	for _, p := range []parts{live, vectors, words} {
		if _, ok := at[p]; !ok {
			return
		}
	}
	if s.Vectors.Len() <= s.Words.Len() {
		return
	}
	var strays []uint64
	for id := range s.Vectors.IDs {
		if !s.Sees(id) {
			strays = append(strays, id)
		}
	}
	s.Vectors.Delete(strays)
}

// miscounts says why parts that were read cannot be right together.
func (s *State) miscounts(at map[parts]uint64) error {
	documents := s.View.Len()
	count := func(p parts, n, want int, what string) error {
		if _, ok := at[p]; ok && n != want {
			return fmt.Errorf("%s of %d where there are %d", what, n, want)
		}
		return nil
	}
	chunks := -1
	if _, ok := at[words]; ok {
		chunks = s.Words.Len()
		s.Chunks = chunks
	}
	errs := []error{count(live, s.Live.Len(), documents, "ordinals")}
	if _, ok := at[metadata]; ok {
		errs = append(errs, count(metadata, s.Columns.Len(), documents, "metadata"))
	}
	if _, ok := at[vectors]; ok && chunks >= 0 {
		errs = append(errs, count(vectors, s.Vectors.Len(), chunks, "vectors"))
	}
	if _, ok := at[sums]; ok && chunks >= 0 {
		errs = append(errs, count(sums, s.Sums.Len(), chunks, "sums"))
	}
	return errors.Join(errs...)
}

// vectorsFirst makes the vectors anew where sums are to be replayed, which read them.
func (d *DB) vectorsFirst(ctx context.Context, s *State, at map[parts]uint64) (*State, error) {
	seq, ok := at[sums]
	if _, there := at[vectors]; there || !ok || seq == s.Seq {
		return s, nil
	}
	d.pending = max(d.pending, s.View.Len())
	next, err := d.rebuild(ctx, s, vectors, d.progress)
	if err == nil {
		at[vectors] = s.Seq
	}
	return next, err
}

// replay brings each part that was read to the view's commit: the vectors before
// the sums, which read those of any chunk, and what is gone leaves them last.
func (d *DB) replay(ctx context.Context, s *State, at map[parts]uint64) (*State, error) {
	by := map[uint64]parts{} // parts by the commit they are at
	for p, seq := range at {
		if seq < s.View.Seq() {
			by[seq] |= p
		}
	}
	var froms []uint64
	for seq := range by {
		froms = append(froms, seq)
	}
	slices.Sort(froms)
	var late []uint64
	one := func(from uint64, p parts) error {
		next, gone, err := d.replayFrom(ctx, s, from, p)
		if err == nil && p.has(vectors) {
			late = idsOf(gone)
		}
		s = next
		return err
	}
	if seq, ok := at[vectors]; ok && by[seq].has(vectors) && !by[seq].has(sums) {
		if err := one(seq, vectors); err != nil {
			return s, err
		}
		by[seq] &^= vectors
	}
	for _, from := range froms {
		if by[from] == 0 {
			continue
		}
		if err := one(from, by[from]); err != nil {
			return s, err
		}
	}
	if len(late) > 0 {
		s.Vectors.Delete(late)
	}
	return s, nil
}

// replayBlock is how many documents a replay reads at once.
const replayBlock = 2048

// replayFrom brings parts from a commit to the view's, and returns the chunks that
// are gone, which stay among the vectors.
func (d *DB) replayFrom(ctx context.Context, s *State, from uint64, p parts) (*State, []Version, error) {
	var changes []Change
	if err := s.View.Log(ctx, from, func(_ uint64, c store.Change) error {
		changes = append(changes, Change{Change: c})
		return nil
	}); err != nil {
		return s, nil, err
	}
	d.pending = max(d.pending, len(changes))
	df, err := d.diffOf(ctx, changes)
	if err != nil {
		return s, nil, err
	}
	gone := df
	gone.live, gone.added = nil, nil
	if s, err = d.follow(ctx, s, gone, p); err != nil {
		return s, nil, err
	}
	for ords := range slices.Chunk(df.live, replayBlock) {
		come := diff{live: ords}
		for _, ord := range ords {
			doc, err := s.View.Get(ord)
			if err != nil {
				return s, nil, err
			}
			come.added = append(come.added, VersionsOf(ord, doc)...)
		}
		if s, err = d.follow(ctx, s, come, p); err != nil {
			return s, nil, err
		}
	}
	return s, df.gone, nil
}

// follow applies a change to some parts; local bridges note it for the maintainer.
func (d *DB) follow(ctx context.Context, s *State, df diff, p parts) (*State, error) {
	if p.has(bridges) {
		d.localBacklog.add(df)
	}
	return d.apply(ctx, s, df, p)
}

// rebuild makes parts anew from the documents of the view, and tells how many it has
// done with.
func (d *DB) rebuild(ctx context.Context, s *State, missing parts, progress func(stage string, done, total int)) (*State, error) {
	next := *s
	bridges := next.Local
	next.Local = nil // they have their own chunks, and none is fresh for being read again
	if missing.has(live) {
		next.Live, next.Limit, next.Chunks = cow.Set{}, 0, 0
	}
	if missing.has(vectors) {
		kind := d.o.Index
		if kind == "" {
			kind = index.KindFlatInt8 // the maintainer makes a graph of it
		}
		x, err := index.New(kind, d.indexOptions())
		if err != nil {
			return s, err
		}
		next.Vectors = &Vectors{x.(index.Keeper), kind}
		d.vectors.Store(next.Vectors)
	}
	var err error
	if missing.has(words) {
		if next.Words, err = inverted.NewWords(d.wordsOptions()); err != nil {
			return s, err
		}
	}
	if missing.has(metadata) {
		next.Columns = columns.New()
	}
	if missing.has(sums) {
		if next.Sums, err = modulate.NewSums(d.o.Dim, d.o.Vocab, d.o.Lambda, d.vector); err != nil {
			return s, err
		}
	}
	cur := &next
	rows, texts := missing&(live|vectors|sums), missing&(words|metadata)
	done, total := 0, 0
	for _, p := range []parts{rows, texts} {
		if p != 0 {
			total += next.View.Len()
		}
	}
	var df diff
	var p parts
	flush := func() error {
		if len(df.added) == 0 {
			return nil
		}
		next, err := d.apply(ctx, cur, df, p)
		if err != nil {
			return err
		}
		cur, df = next, diff{}
		progress("rebuild", done, total)
		return nil
	}
	take := func(ord uint64, vs []Version) error {
		df.live = append(df.live, ord)
		df.added = append(df.added, vs...)
		if done++; len(df.live) < replayBlock {
			return nil
		}
		return flush()
	}
	if p = rows; p != 0 {
		err := next.View.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
			vs := rowsOf(nil, ord, rows)
			for i := range vs { // valid during the call only
				vs[i].Vector, vs[i].Tokens = slices.Clone(vs[i].Vector), slices.Clone(vs[i].Tokens)
			}
			return take(ord, vs)
		})
		if err := errors.Join(err, flush()); err != nil {
			return s, err
		}
	}
	if p = texts; p != 0 {
		err := next.View.ScanDocuments(ctx, 0, func(ord uint64, doc *store.Document) error {
			return take(ord, VersionsOf(ord, doc))
		})
		if err := errors.Join(err, flush()); err != nil {
			return s, err
		}
	}
	cur.Local = bridges
	return cur, nil
}

// kind of the vector index to look for: one that the user names, else a graph if
// there is a snapshot of one.
func (d *DB) kind(*store.View) string {
	if d.o.Index != "" {
		return d.o.Index
	}
	if _, err := os.Stat(d.path(index.KindHNSWInt8)); err == nil {
		return index.KindHNSWInt8
	}
	return index.KindFlatInt8
}

func (d *DB) indexOptions() index.Options {
	return index.Options{Dim: d.o.Dim, Metric: d.o.Metric}
}

func (d *DB) wordsOptions() inverted.Options {
	return inverted.Options{Analysis: d.analyzer.Digest()}
}

func (d *DB) path(kind string) string { return filepath.Join(d.o.Dir, Folder, kind+".snap") }

// read opens the snapshot of a part and returns its commit. It stays mapped to the
// end, since the part goes on using it.
func (d *DB) read(v *store.View, kind string, open func(f *snapshot.File, limit uint64) error) (seq uint64, err error) {
	f, err := snapshot.Open(d.path(kind))
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	h := f.Header()
	switch {
	case h.Kind != kind:
		return 0, fmt.Errorf("snapshot of %q", h.Kind)
	case h.Version != version:
		return 0, fmt.Errorf("snapshot in format %d, this program reads %d", h.Version, version)
	case h.Database != [16]byte(d.st.Manifest().UUID):
		return 0, errors.New("snapshot of another database")
	case h.Seq > v.Seq():
		return 0, fmt.Errorf("snapshot of commit %d in a store at %d", h.Seq, v.Seq())
	}
	history, ok, err := v.HistoryAt(h.Seq)
	if err != nil {
		return 0, err
	}
	if !ok || history != h.History {
		return 0, fmt.Errorf("snapshot of commit %d of another history", h.Seq)
	}
	s, err := f.Section(sectionState)
	if err != nil {
		return 0, err
	}
	r := s.Reader()
	limit := r.U64()
	if err := r.Err(); err != nil {
		return 0, err
	}
	if err := open(f, limit); err != nil {
		return 0, err
	}
	d.mu.Lock()
	d.mapped = append(d.mapped, f)
	d.mu.Unlock()
	return h.Seq, nil
}

// distrust reports why a snapshot is not used. A missing one needs no word, and that
// of local bridges, which not every database has, no saving.
func (d *DB) distrust(kind string, err error) {
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing || kind != fileLocal {
		d.pending = max(d.pending, 1)
	}
	if !missing {
		d.warn("derived state is made anew from the store", "part", kind, "reason", err)
	}
}

// Sections of the live set, and of every snapshot.
const (
	sectionState = "STATE"
	sectionLive  = "LIVE"
)

func saveLive(w *snapshot.Writer, s cow.Set) {
	w.Begin(sectionLive)
	w.U64(uint64(s.Len()))
	last := uint64(0)
	for ord := range s.All {
		w.Uvarint(ord - last)
		last = ord
	}
}

func openLive(f *snapshot.File) (cow.Set, error) {
	s, err := f.Section(sectionLive)
	if err != nil {
		return cow.Set{}, err
	}
	r := s.Reader()
	n := r.U64()
	if n > uint64(r.Len()) {
		return cow.Set{}, fmt.Errorf("%d ordinals in %d bytes: %w", n, r.Len(), snapshot.ErrDamaged)
	}
	e := cow.Set{}.Edit()
	for ord := uint64(0); n > 0 && r.Err() == nil; n-- {
		if step := r.Uvarint(); step < columns.MaxOrd-ord {
			ord += step
		} else {
			return cow.Set{}, fmt.Errorf("ordinal %d and %d: %w", ord, step, snapshot.ErrDamaged)
		}
		e.Add(ord)
	}
	return e.Done(), r.Err()
}
