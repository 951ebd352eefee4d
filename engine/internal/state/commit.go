package state

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/store"
)

// step is how many chunks are processed between two checks of the context.
const step = 64

// Commit makes a batch durable and its changes visible. All slow work happens before the
// commit record is written, while searches go on. So an error, also that of ctx, leaves the
// database unchanged, and after the record nothing can fail. After an error the caller
// discards the batch. Damage of derived state is an ErrCorrupt, and is repaired in the
// background.
func (d *DB) Commit(ctx context.Context, b *store.Batch, changes []Change) (uint64, error) {
	return d.commit(ctx, b, len(changes), func(ctx context.Context) (*State, diff, error) {
		df, err := d.diffOf(ctx, changes)
		if err != nil {
			return nil, df, err
		}
		return d.prepare(ctx, fed(df), len(df.added))
	})
}

// CommitNew is Commit for n new chunks of new documents. stage puts the documents into the
// batch and passes each change to give; an error of give ends it. If no search runs, the
// passed changes are prepared while stage goes on.
func (d *DB) CommitNew(ctx context.Context, b *store.Batch, n int, stage func(give func(Change) error) error) (uint64, error) {
	if d.workers() == 1 {
		var changes []Change
		if err := stage(func(c Change) error { changes = append(changes, c); return nil }); err != nil {
			return 0, err
		}
		return d.Commit(ctx, b, changes)
	}
	return d.commit(ctx, b, n, func(ctx context.Context) (next *State, df diff, err error) {
		var in feed
		prepared := make(chan struct{})
		go func() {
			defer close(prepared)
			err = guarded(func() (err error) {
				next, df, err = d.prepare(ctx, &in, n)
				return err
			})
		}()
		defer func() {
			in.end(errLeft) // where a panic has left stage
			<-prepared
		}()
		staged := stage(func(c Change) error {
			select {
			case <-prepared: // before the end: it has failed
				return errLeft
			default:
				in.add(c.New, c.Now)
				return nil
			}
		})
		in.end(staged)
		<-prepared
		if staged != nil && !errors.Is(staged, errLeft) {
			err = staged
		}
		return next, df, err
	})
}

// errLeft: the other side of a commit has ended.
var errLeft = errors.New("left")

// commit makes a batch with the given number of changes durable, after prepare has made the
// next state.
func (d *DB) commit(ctx context.Context, b *store.Batch, changes int, prepare func(context.Context) (*State, diff, error)) (_ uint64, err error) {
	if err := d.turn.lock(ctx); err != nil {
		return 0, err
	}
	defer d.turn.unlock()
	defer d.Repair(&err)
	defer snapshot.Guard(&err)() // undoSome reads what may lie in a file
	for len(d.undone) > 0 {      // whose ids may be among those that are given now
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		d.undoSome()
	}
	next, df, err := prepare(ctx)
	if err != nil {
		return 0, err
	}
	seq, err := b.Commit(ctx)
	if err != nil {
		d.undo(df)
		return 0, err
	}
	view, err := d.st.Snapshot()
	if err != nil { // the store was closed under the engine
		return seq, fmt.Errorf("stored as commit %d, but not searchable before the database is opened again: %w", seq, err)
	}
	if len(df.added) > 0 {
		d.refused.Store(false)
	}
	next.Seq, next.View, next.views = seq, view, share(view)
	d.pending += changes
	for _, b := range d.backlogs {
		b.add(df)
	}
	d.publish(next, df.gone)
	d.committed.set()
	d.wake()
	return seq, nil
}

// diff holds the chunks that a commit adds and removes.
type diff struct {
	added []Version
	gone  []Version // with vectors and tokens, without texts
	live  []uint64  // ordinals that begin
	dead  []uint64  // ordinals that end
}

// diffOf combines the changes of one or several commits: chunks that are added and removed
// again are left out.
func (d *DB) diffOf(ctx context.Context, changes []Change) (diff, error) {
	var df diff
	born := map[uint64]int{}
	for i, c := range changes {
		if c.New != 0 {
			born[c.New] = i
		}
	}
	ended := map[uint64]bool{}
	for i, c := range changes {
		if i%step == 0 && ctx.Err() != nil {
			return df, ctx.Err()
		}
		if c.Old == 0 {
			continue
		}
		if _, ok := born[c.Old]; ok {
			ended[c.Old] = true
			continue
		}
		rows, err := d.st.Rows(ctx, c.Old)
		if err != nil {
			return df, fmt.Errorf("the version before of %q: %w", c.ID, err)
		}
		df.gone = rowsOf(df.gone, c.Old, rows)
		df.dead = append(df.dead, c.Old)
	}
	for _, c := range changes {
		if c.New != 0 && !ended[c.New] {
			df.added = append(df.added, c.Now...)
			df.live = append(df.live, c.New)
		}
	}
	return df, nil
}

// prepare makes the next state from the changes in in, n chunks in all, without its view
// and number. The caller holds turn. After an error the vectors that were added to the
// index are scheduled for removal.
func (d *DB) prepare(ctx context.Context, in *feed, n int) (*State, diff, error) {
	if err := d.foresee(d.now, n); err != nil {
		return nil, diff{}, err
	}
	next, err := d.apply(ctx, d.now, in, everything|bridges)
	df := in.diff()
	if err == nil {
		err = d.room(next, n)
	}
	if err != nil {
		d.undo(df)
		return nil, df, err
	}
	next.Bridges = countFresh(d.now.Bridges, df)
	return next, df, nil
}

// parts names parts of a state.
type parts uint

const (
	live parts = 1 << iota
	vectors
	words
	metadata
	sums
	codes
	impacts
	bridges // the local ones, which note what is new

	everything = live | vectors | words | metadata | sums | codes | impacts // that rebuild can make
)

func (p parts) has(q parts) bool { return p&q != 0 }

// apply makes the next version of parts of cur, which are all at its commit, from the
// changes in in. Vectors are added to the index; removed chunks stay in it.
func (d *DB) apply(ctx context.Context, cur *State, in *feed, p parts) (*State, error) {
	next := *cur
	var g errgroup.Group
	g.SetLimit(d.workers())
	if p.has(vectors | sums) {
		g.Go(func() (err error) {
			defer snapshot.Guard(&err)()
			if p.has(vectors) {
				if err = d.addVectors(ctx, cur.Vectors, in); err != nil {
					return err
				}
			}
			if p.has(sums) { // after the vectors, which sums of rare tokens read
				next.Sums, err = d.editSums(ctx, cur, in)
			}
			return err
		})
	}
	if p.has(words) {
		g.Go(func() (err error) {
			defer snapshot.Guard(&err)()
			next.Words, err = d.editWords(ctx, cur, in)
			return err
		})
	}
	if p.has(metadata) {
		g.Go(func() (err error) {
			defer snapshot.Guard(&err)()
			next.Columns, err = d.editColumns(ctx, cur, in)
			return err
		})
	}
	if p.has(codes) {
		g.Go(func() (err error) {
			defer snapshot.Guard(&err)()
			next.Tokens, err = d.editTokens(ctx, cur, in)
			return err
		})
	}
	if p.has(impacts) {
		g.Go(func() (err error) {
			defer snapshot.Guard(&err)()
			next.Impacts, err = d.editImpacts(ctx, cur, in)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	df := in.diff()
	if p.has(live) {
		e := cur.Live.Edit()
		for _, ord := range df.dead {
			e.Remove(ord)
		}
		for _, ord := range df.live {
			e.Add(ord)
			next.Limit = max(next.Limit, ord+1)
		}
		next.Live = e.Done()
	}
	if p.has(bridges) && cur.Local != nil {
		for _, v := range withVectors(df.added) {
			next.Fresh = append(next.Fresh, v.ID) // after what older states see
		}
	}
	return &next, nil
}

func idsOf(vs []Version) []uint64 {
	ids := make([]uint64, len(vs))
	for i, v := range vs {
		ids[i] = v.ID
	}
	return ids
}

func (d *DB) addVectors(ctx context.Context, to *Vectors, in *feed) error {
	to.SetWorkers(d.workers())
	var rows []float32
	return in.each(ctx, step, func(vs []Version) error {
		vs, rows = withVectors(vs), rows[:0]
		for _, v := range vs {
			rows = append(rows, v.Vector...)
		}
		if len(vs) == 0 {
			return nil
		}
		return to.AddContext(ctx, idsOf(vs), rows)
	})
}

func countFresh(bridges map[string]*Bridge, df diff) map[string]*Bridge {
	if len(bridges) == 0 {
		return bridges
	}
	out := make(map[string]*Bridge, len(bridges))
	for name, b := range bridges {
		c := *b
		for _, ord := range df.live {
			if ord > b.Last {
				c.Fresh++
			}
		}
		for _, ord := range df.dead {
			if ord > b.Last {
				c.Fresh--
			}
		}
		out[name] = &c
	}
	return out
}

// publish makes next the present state. Removed chunks leave the vector index once no
// search can see them any more. The caller holds turn.
func (d *DB) publish(next *State, gone []Version) {
	old := d.now
	if next.views == old.views {
		next.views.refs.Add(1)
	}
	next.Modulators = &sync.Map{}
	if next.Vectors != old.Vectors { // sums and local bridges of older states read them
		d.before.Store(old.Vectors)
		d.vectors.Store(next.Vectors)
	}
	d.now = next
	// The function must not keep a state: it may wait for an old one.
	ids, views, before, swapped := idsOf(gone), old.views, old.Vectors, next.Vectors != old.Vectors
	d.cell.Publish(next, func() {
		views.drop()
		if swapped {
			d.before.CompareAndSwap(before, nil)
		}
		if len(ids) > 0 {
			d.drops.add(ids)
			d.wake()
		}
	})
}

// ChunkText is the text of a chunk in the index of words: the title and the chunk's part of
// the text.
func ChunkText(d *store.Document, r store.Row) string {
	return chunk.Passage(d.Title, d.Text[r.Start:r.End])
}

// words returns the terms of a chunk.
func (d *DB) words(dst []text.Term, v Version) []text.Term {
	return text.InTitle(d.analyzer.Terms(dst, v.Text), v.Title)
}

// wordsWithin is words, and leaves a large text behind when ctx ends; the terms are then none.
func (d *DB) wordsWithin(ctx context.Context, dst []text.Term, v Version) []text.Term {
	if len(v.Text) <= 64<<10 {
		return d.words(dst, v)
	}
	terms, _ := yield.Leave(ctx, func() ([]text.Term, error) { return d.words(nil, v), nil }) // the caller looks at ctx
	return terms
}

// Terms analyses a text for the lexical retriever.
func (d *DB) Terms(dst []text.Term, s string) []text.Term { return d.analyzer.Terms(dst, s) }

// Asked returns the terms of a query.
func (d *DB) Asked(s string) []text.Term { return d.analyzer.Asked(nil, s) }
