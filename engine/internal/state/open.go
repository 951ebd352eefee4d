package state

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/engine/internal/recent"
	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// Open brings the derived state to the store's last commit: it reads the snapshots and replays the change
// log. A snapshot that is damaged, or of another database or history, is not used; its part is rebuilt by a
// scan of the store.
func Open(ctx context.Context, st *store.Store, o Options) (_ *DB, err error) {
	d := &DB{o: o, st: st, analyzer: o.Analyzer, turn: make(turn, 1), fresh: map[parts]*written{}}
	view, err := st.Snapshot()
	if err != nil {
		return nil, err
	}
	views := share(view)
	cur := &State{Modulation: Modulation{Metric: o.Metric}, Seq: view.Seq(), View: view, views: views, cached: recent.New[[]byte](o.mostCached())}
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

// commits holds the commit of each existing part.
type commits map[parts]uint64

// has reports whether all of the given parts exist.
func (c commits) has(p parts) bool {
	for part := range c {
		p &^= part
	}
	return p == 0
}

// readAll reads the existing snapshots into s, and returns the commit of each part with a good one.
func (d *DB) readAll(s *State) commits {
	at := commits{}
	read := func(p parts, kind string, open func(*snapshot.File, uint64) error) {
		if at.has(p) {
			return
		}
		seq, err := d.read(s.View, kind, open)
		if err == nil {
			at[p] = seq
			return
		}
		d.distrust(s.View, kind, err)
	}
	read(live, fileLive, func(f *snapshot.File, limit uint64) (err error) {
		s.Limit = limit
		s.Live, err = openLive(f)
		return err
	})
	for _, kind := range d.kinds() {
		read(vectors, kind, func(f *snapshot.File, limit uint64) error {
			x, err := index.Open(kind, d.indexOptions(), f)
			if err != nil {
				return err
			}
			s.Vectors = &Vectors{x, kind}
			d.adopt(kind)
			d.rows = append(d.rows, f)
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
	}
	read(words, fileWords, func(f *snapshot.File, _ uint64) (err error) {
		d.wordsFile = f
		s.Words, err = inverted.OpenWords(d.wordsOptions(), f)
		return err
	})
	read(metadata, fileColumns, func(f *snapshot.File, _ uint64) (err error) {
		s.Columns, err = columns.Open(f)
		return err
	})
	if d.o.Metric.Directions() {
		read(sums, fileSums, func(f *snapshot.File, _ uint64) (err error) {
			s.Sums, err = ridge.OpenSums(d.o.Dim, d.o.Vocab, d.o.Lambda, d.vector, f)
			return err
		})
	}
	if d.st.BasisCount() > 0 {
		read(codes, fileTokens, func(f *snapshot.File, limit uint64) (err error) {
			s.Tokens, err = tokens.Open(f, limit, d.openBlock)
			return err
		})
	}
	if d.o.Impacts != "" {
		read(impacts, fileImpacts, func(f *snapshot.File, _ uint64) (err error) {
			s.Impacts, err = inverted.OpenWords(d.impactOptions(), f)
			return err
		})
	}
	read(bridges, fileLocal, func(f *snapshot.File, _ uint64) (err error) {
		s.Local, err = local.Open(d.o.Dim, d.o.Vocab, d.ownVector, d.localOptions(), f)
		return err
	})
	if s.LocalSeq = at[bridges]; s.LocalSeq == 0 {
		s.Local = nil
	}
	return at
}

// catchUp replays the change log into the parts that snapshots contained, and rebuilds the others.
func (d *DB) catchUp(ctx context.Context, s *State, at commits) (*State, error) {
	oldest := s.Seq
	for _, seq := range at {
		oldest = min(oldest, seq)
	}
	d.saved = oldest
	if len(at) == 0 {
		d.saved = 0
	}
	if d.st.BasisCount() == 0 { // no chunk ever had codes of token states
		s.Tokens, at[codes] = tokens.New(), s.Seq
	}
	if d.o.Impacts == "" {
		none, err := inverted.NewWords(d.impactOptions())
		if err != nil {
			return nil, err
		}
		s.Impacts, at[impacts] = none, s.Seq
	}
	if !d.o.Metric.Directions() {
		none, err := d.noSums()
		if err != nil {
			return nil, err
		}
		s.Sums, at[sums] = none, s.Seq
	}
	next, err := d.vectorsFirst(ctx, s, at)
	if err == nil {
		next, err = d.replay(ctx, next, at)
	}
	if err == nil {
		deferred := d.st.Manifest().Deferred
		next.dropStrays(at, deferred)
		err = next.miscounts(at, deferred)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d.distrust(s.View, "all parts", err)
		clear(at)
		next = &State{Modulation: Modulation{Metric: s.Metric}, Seq: s.Seq, View: s.View, views: s.views, cached: s.cached}
	}
	var missing parts
	for _, p := range []parts{live, vectors, words, metadata, sums, codes, impacts} {
		if !at.has(p) {
			missing |= p
		}
	}
	if missing == 0 {
		return next, nil
	}
	next, err = d.rebuild(ctx, next, missing, d.progress)
	if err != nil {
		return nil, fmt.Errorf("rebuilding derived state of %s: %w", d.o.Dir, err)
	}
	if unsavedVectors(d.first(), s.View) {
		missing &^= vectors
	}
	if d.unsavedSums(s.View, next.Sums.Len()) {
		missing &^= sums
	}
	if missing != 0 { // a file is to be saved
		d.pending = max(d.pending, next.View.Len())
	}
	if next.Live.Len() != next.View.Len() {
		return nil, fmt.Errorf("%w: %s holds %d documents where %d are counted", store.ErrCorrupt, d.o.Dir, next.Live.Len(), next.View.Len())
	}
	return next, nil
}

// dropStrays removes entries that belong to no document: vectors of deleted documents that were still in the
// index when it was saved, and such chunks in an older list of token states. deferred says that some chunks may
// have no vector yet.
func (s *State) dropStrays(at commits, deferred bool) {
	if at.has(codes) && s.Tokens.Loose() {
		if at.has(live) {
			s.Tokens = s.Tokens.Only(s.Sees)
		} else {
			delete(at, codes)
		}
	}
	if !at.has(live|vectors|words) || s.Vectors.Len() <= s.Chunks() && !deferred {
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

// miscounts returns the reason why parts that were read contradict each other.
func (s *State) miscounts(at commits, deferred bool) error {
	var errs []error
	count := func(what string, n, want int) {
		if n != want {
			errs = append(errs, fmt.Errorf("%s of %d where there are %d", what, n, want))
		}
	}
	if at.has(live) {
		count("ordinals", s.Live.Len(), s.View.Len())
	}
	if at.has(metadata) {
		count("metadata", s.Columns.Len(), s.View.Len())
	}
	if !deferred && at.has(vectors|words) {
		count("vectors", s.Vectors.Len(), s.Chunks())
	}
	if deferred && at.has(vectors|sums) {
		count("vectors", s.Vectors.Len(), s.Encoded())
	}
	if at.has(codes|words) && s.Tokens.Len() > s.Chunks() {
		count("token states", s.Tokens.Len(), s.Chunks())
	}
	if at.has(impacts|words) && s.Impacts.Len() > s.Chunks() {
		count("impacts", s.Impacts.Len(), s.Chunks())
	}
	if s.Metric.Directions() && at.has(sums|words) && (!deferred || s.Encoded() > s.Chunks()) {
		count("sums", s.Sums.Len(), s.Chunks())
	}
	return errors.Join(errs...)
}

// vectorsFirst rebuilds the vectors if sums must be replayed, which read them.
func (d *DB) vectorsFirst(ctx context.Context, s *State, at commits) (*State, error) {
	if at.has(vectors) || !at.has(sums) || at[sums] == s.Seq {
		return s, nil
	}
	d.pending = max(d.pending, s.View.Len())
	next, err := d.rebuild(ctx, s, vectors, d.progress)
	if err == nil {
		at[vectors] = s.Seq
	}
	return next, err
}

func (d *DB) indexOptions() index.Options {
	return index.Options{Dim: d.o.Dim, Metric: string(d.o.Metric), Tail: d.tail()}
}

// wordsOptions tell snapshots of words with those of files (chunk.WithFileWords) from those that an earlier build has made of
// the same documents, such as a server that goes on while commands are newer.
func (d *DB) wordsOptions() inverted.Options {
	return inverted.Options{Analysis: d.analyzer.Digest() + ", files, names in all chunks"}
}

func (d *DB) impactOptions() inverted.Options { return inverted.ImpactOptions(d.o.Impacts) }
