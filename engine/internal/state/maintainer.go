package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate/local"
	"github.com/lexsem/lexsem/store"
)

// The maintainer is one goroutine that does what may wait: it takes vectors out
// that no state sees, makes factors, joins and compacts, builds graphs and local
// bridges, and saves. It works on a state of its own choice beside searches and
// commits, and then publishes the result on the newest one. Beside searches it
// takes one core.

// Maintenance is what the maintainer is doing.
type Maintenance struct {
	Task        string // "" for nothing
	Done, Total int    // Total is 0 where it is not known
	Err         error  // of the last task that failed, until it succeeds
}

type maintainer struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	kick   chan struct{}
	ended  chan struct{}

	mu      sync.Mutex
	now     Maintenance
	asked   uint64        // counts calls of wake
	settled uint64        // asked, when nothing was left to do last
	changed chan struct{} // closed and made anew when settled or now.Err changes
	urgent  int           // calls of Flush that wait

	factorEnd  time.Time     // when the last factor was done, and how long it took;
	factorTook time.Duration // the maintainer's own
	failed     map[string]error
}

// errClosing is the cause of the maintainer's context once it has to end.
var errClosing = errors.New("the database is being closed")

func (d *DB) startMaintainer() {
	m := &d.maintainer
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	m.kick, m.ended, m.changed = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	m.failed = map[string]error{}
	go d.maintain()
	d.wake()
}

// stop tells the maintainer to end.
func (m *maintainer) stop() {
	if m.cancel != nil {
		m.cancel(errClosing)
	}
}

// end stops the maintainer and waits for it.
func (m *maintainer) end() {
	if m.cancel != nil {
		m.stop()
		<-m.ended
	}
}

// wake tells the maintainer that there may be work.
func (d *DB) wake() {
	m := &d.maintainer
	if m.kick == nil {
		return
	}
	m.mu.Lock()
	m.asked++
	m.mu.Unlock()
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// report says how far the task at hand has come.
func (m *maintainer) report(task string, done, total int) {
	m.mu.Lock()
	m.now.Task, m.now.Done, m.now.Total = task, done, total
	m.mu.Unlock()
}

// Maintenance is what the maintainer is doing now.
func (d *DB) Maintenance() Maintenance {
	m := &d.maintainer
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Flush waits until the maintainer has caught up with all commits so far, and
// returns the error of what it could not do.
func (d *DB) Flush(ctx context.Context) error {
	m := &d.maintainer
	m.mu.Lock()
	m.urgent++
	clear(m.failed) // what failed is tried again
	m.now.Err = nil
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.urgent--
		m.mu.Unlock()
	}()
	d.wake()
	m.mu.Lock()
	want := m.asked
	m.mu.Unlock()
	for {
		m.mu.Lock()
		settled, changed, err := m.settled, m.changed, m.now.Err
		m.mu.Unlock()
		if settled >= want {
			return err
		}
		select {
		case <-changed:
		case <-m.ctx.Done():
			return context.Cause(m.ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rest is how long the last commit must lie back for work that would otherwise
// wait for more changes.
const rest = time.Second

// maintain is the maintainer.
func (d *DB) maintain() {
	m := &d.maintainer
	defer close(m.ended)
	for {
		m.mu.Lock()
		asked := m.asked
		m.mu.Unlock()
		worked, later := d.pass(m.ctx)
		if m.ctx.Err() != nil {
			return
		}
		if worked {
			continue
		}
		m.mu.Lock()
		m.settled = asked
		m.now.Task, m.now.Done, m.now.Total = "", 0, 0
		close(m.changed)
		m.changed = make(chan struct{})
		m.mu.Unlock()
		var timer <-chan time.Time
		if later {
			timer = time.After(rest)
		}
		select {
		case <-m.kick:
		case <-timer:
		case <-m.ctx.Done():
			return
		}
	}
}

// task is one kind of work. It reports whether it did some, and whether there is
// some left that is not due yet.
type task struct {
	name string
	do   func(ctx context.Context, s *State, urgent bool) (worked, later bool, err error)
}

// pass does the first piece of work there is.
func (d *DB) pass(ctx context.Context) (worked, later bool) {
	m := &d.maintainer
	tasks := []task{
		{"clear", d.clear},
		{"repair", d.repair},
		{"factor", d.factor},
		{"words", d.compactWords},
		{"metadata", d.compactColumns},
		{"sums", d.compactSums},
		{"graph", d.growGraph},
		{"local bridges", d.followLocal},
		{"save", d.saveIfDue},
		{"compact", d.compact},
	}
	for _, t := range tasks {
		if ctx.Err() != nil {
			return false, false
		}
		m.mu.Lock()
		urgent := m.urgent > 0
		failed := m.failed[t.name] != nil
		m.mu.Unlock()
		if failed {
			continue // until Flush, or the database is opened again
		}
		ref := d.cell.Acquire()
		if ref == nil {
			return false, false
		}
		s := ref.Value
		if t.name == "compact" { // a state in use keeps what it is to remove
			ref.Release()
			ref = nil
		}
		w, l, err := d.run(ctx, t, s, urgent)
		if ref != nil {
			ref.Release()
		}
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s: %w", t.name, err)
			d.warn("work in the background failed", "task", t.name, "error", err)
			m.mu.Lock()
			m.failed[t.name], m.now.Err = err, err
			m.mu.Unlock()
		}
		if w && err == nil {
			return true, false
		}
		later = later || l
	}
	return false, later
}

func (d *DB) run(ctx context.Context, t task, s *State, urgent bool) (worked, later bool, err error) {
	defer snapshot.Guard(&err)()
	return t.do(ctx, s, urgent)
}

// change publishes what edit makes of the present state.
func (d *DB) change(ctx context.Context, edit func(next *State) error) error {
	if err := d.turn.lock(ctx); err != nil {
		return err
	}
	defer d.turn.unlock()
	next := *d.now
	if err := edit(&next); err != nil {
		return err
	}
	d.publish(&next, nil)
	return nil
}

// clear takes vectors out of the index that no state sees any more.
func (d *DB) clear(ctx context.Context, _ *State, _ bool) (bool, bool, error) {
	ids := d.drops.take()
	for piece := range slices.Chunk(ids, step) {
		if ctx.Err() != nil {
			break // the index is saved and opened without those of no document
		}
		x := d.vectors.Load()
		x.SetWorkers(d.workers())
		x.Delete(piece)
	}
	return len(ids) > 0, false, nil
}

// factorShare says how much of the time factors may take while commits go on: after
// one, as many times as long passes before the next begins. So ingestion, which would
// have one after each commit, spends a ninth of a core on them at most.
const factorShare = 8

func (d *DB) factor(ctx context.Context, s *State, urgent bool) (bool, bool, error) {
	changes, _ := s.Sums.Staleness()
	if changes == 0 || s.Sums.Len() == 0 {
		return false, false, nil
	}
	m := &d.maintainer
	if !urgent && time.Since(d.committed()) < rest && time.Since(m.factorEnd) < factorShare*m.factorTook {
		return false, true, nil
	}
	begin := time.Now()
	defer func() { m.factorEnd = time.Now(); m.factorTook = m.factorEnd.Sub(begin) }()
	d.maintainer.report("factor", 0, 0)
	f, err := s.Sums.Factor(ctx)
	if err != nil {
		return false, false, err
	}
	return true, false, d.change(ctx, func(next *State) (err error) {
		next.Sums, err = next.Sums.WithFactor(f)
		return err
	})
}

func (d *DB) committed() time.Time { return time.Unix(0, d.lastCommit.Load()) }

func (d *DB) compactWords(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if !s.Words.Wasteful() {
		return false, false, nil
	}
	d.maintainer.report("words", 0, 0)
	fresh, err := s.Words.Compacted(ctx)
	if err != nil {
		return false, false, err
	}
	return true, false, d.change(ctx, func(next *State) (err error) {
		next.Words, err = next.Words.Rebase(s.Words, fresh)
		return err
	})
}

func (d *DB) compactColumns(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if !s.Columns.Wasteful() {
		return false, false, nil
	}
	d.maintainer.report("metadata", 0, 0)
	fresh, err := s.Columns.Compacted(ctx)
	if err != nil {
		return false, false, err
	}
	return true, false, d.change(ctx, func(next *State) (err error) {
		next.Columns, err = next.Columns.Rebase(s.Columns, fresh)
		return err
	})
}

func (d *DB) compactSums(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if !s.Sums.Wasteful() {
		return false, false, nil
	}
	d.maintainer.report("sums", 0, 0)
	fresh, err := s.Sums.Compacted(ctx)
	if err != nil {
		return false, false, err
	}
	return true, false, d.change(ctx, func(next *State) (err error) {
		next.Sums, err = next.Sums.Rebase(s.Sums, fresh)
		return err
	})
}

// begin notes what commits change from the state s on, for a work that goes on.
// ok is false where commits have gone on since.
func (d *DB) begin(ctx context.Context, s *State, b *backlog) (ok bool, err error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	defer d.turn.unlock()
	if d.now.Seq != s.Seq {
		return false, nil
	}
	*b = backlog{}
	d.backlogs = append(d.backlogs, b)
	return true, nil
}

// finish stops noting. The caller holds turn, or no commit can come.
func (d *DB) finish(b *backlog) {
	d.backlogs = slices.DeleteFunc(d.backlogs, func(x *backlog) bool { return x == b })
}

func (d *DB) abandon(b *backlog) {
	if d.turn.lock(context.Background()) == nil {
		d.finish(b)
		d.turn.unlock()
	}
}

// handful is how many changes may be caught up with while commits wait.
const handful = 512

// growGraph replaces the exact index by a graph once the corpus has outgrown it.
func (d *DB) growGraph(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if d.o.Index != "" || d.o.ReadOnly || s.Vectors.Kind != index.KindFlatInt8 || s.Chunks <= d.o.GraphAbove {
		return false, false, nil
	}
	var b backlog
	if ok, err := d.begin(ctx, s, &b); err != nil || !ok {
		return !ok && err == nil, false, err
	}
	defer d.abandon(&b)
	d.maintainer.report("graph", 0, s.Chunks)
	x, err := index.Grow(ctx, s.Vectors.Keeper, index.KindHNSWInt8, d.growOptions(), s.Sees)
	if err != nil {
		return false, false, err
	}
	graph := &Vectors{x.(index.Keeper), index.KindHNSWInt8}
	follow := func(df diff) error {
		if err := d.addVectors(ctx, graph, df.added); err != nil {
			return err
		}
		graph.Delete(idsOf(df.gone))
		return nil
	}
	for {
		if err := d.turn.lock(ctx); err != nil {
			return false, false, err
		}
		if b.len() <= handful {
			break
		}
		df := b.take()
		d.turn.unlock()
		if err := follow(df); err != nil {
			return false, false, err
		}
	}
	defer d.turn.unlock()
	if err := follow(b.take()); err != nil {
		return false, false, err
	}
	next := *d.now
	next.Vectors = graph
	d.before.Store(d.now.Vectors) // sums of older states read it
	d.vectors.Store(graph)
	old := d.now
	next.views.refs.Add(1)
	next.Modulators = &sync.Map{}
	d.now = &next
	d.cell.Publish(&next, func() {
		old.views.drop()
		d.before.Store(nil)
	})
	d.pending = max(d.pending, 1)
	d.finish(&b)
	return true, false, nil
}

func (d *DB) growOptions() index.Options {
	o := d.indexOptions()
	o.Workers = d.workers()
	return o
}

// WantLocal asks for local bridges. They are there once the maintainer has built
// them.
func (d *DB) WantLocal() {
	if !d.localWanted.Swap(true) {
		d.wake()
	}
}

// followLocal builds the local bridges that somebody asked for, and brings them to
// the present state.
func (d *DB) followLocal(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if !d.localWanted.Load() {
		return false, false, nil
	}
	if s.Local == nil {
		if s.Chunks == 0 {
			return false, false, nil
		}
		b := &d.localBacklog
		if ok, err := d.begin(ctx, s, b); err != nil || !ok {
			return !ok && err == nil, false, err
		}
		d.maintainer.report("local bridges", 0, s.Chunks)
		built, err := d.buildLocal(ctx, s)
		if err != nil {
			d.abandon(b)
			return false, false, err
		}
		return true, false, d.change(ctx, func(next *State) error {
			next.Local, next.LocalSeq, next.Fresh = built, s.Seq, nil
			for _, v := range b.added {
				next.Fresh = append(next.Fresh, v.ID)
			}
			d.pending = max(d.pending, 1)
			return nil
		})
	}
	if s.LocalSeq < s.Seq {
		return d.catchUpLocal(ctx)
	}
	if s.Local.Outgrown() {
		d.maintainer.report("local bridges", 0, s.Chunks)
		fresh, err := s.Local.Repartition(ctx)
		if err != nil {
			return false, false, err
		}
		return true, false, d.change(ctx, func(next *State) error {
			if next.Local == s.Local { // always so: only the maintainer changes it
				next.Local = fresh
			}
			return nil
		})
	}
	return false, false, nil
}

// catchUpLocal takes into the local bridges what commits changed since.
func (d *DB) catchUpLocal(ctx context.Context) (bool, bool, error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, false, err
	}
	df, base, fresh := d.localBacklog.take(), d.now, len(d.now.Fresh)
	d.turn.unlock()
	back := func(err error) (bool, bool, error) {
		if lock := d.turn.lock(context.Background()); lock == nil {
			df.added = append(df.added, d.localBacklog.added...)
			df.gone = append(df.gone, d.localBacklog.gone...)
			d.localBacklog.diff = df
			d.turn.unlock()
		}
		return false, false, err
	}
	ended := make(map[uint64]bool, len(df.gone))
	for _, v := range df.gone {
		ended[v.ID] = true
	}
	e := base.Local.Edit()
	for _, v := range df.gone {
		e.Remove(v.ID)
	}
	for _, v := range df.added {
		if ended[v.ID] {
			continue
		}
		if err := e.Add(v.ID, v.Vector, v.Tokens); err != nil {
			return back(err)
		}
	}
	built, err := e.Done(ctx)
	if err != nil {
		return back(err)
	}
	return true, false, d.change(ctx, func(next *State) error {
		next.Local, next.LocalSeq = built, base.Seq
		next.Fresh = slices.Clone(next.Fresh[fresh:])
		return nil
	})
}

func (d *DB) saveIfDue(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, false, err
	}
	due, err := d.saveDue(d.pending, s.View)
	d.turn.unlock()
	if !due {
		return false, false, err
	}
	return true, false, d.save(ctx)
}

func (d *DB) localOptions() local.Options { return local.Options{Seed: 1, Workers: d.workers()} }

// buildLocal builds local bridges over a state.
func (d *DB) buildLocal(ctx context.Context, s *State) (*local.Bridges, error) {
	var rows []store.Row
	of := uint64(0)
	return local.Build(ctx, d.o.Dim, d.o.Vocab, local.Source{
		IDs: s.IDs(), Vectors: d.vector,
		Tokens: func(id uint64) (_ []int32, err error) {
			if ord := chunk.Ord(id); ord != of { // chunks of a document may come one after the other
				if rows, err = s.View.Rows(ord); err != nil {
					return nil, err
				}
				of = ord
			}
			if chunk.Number(id) >= len(rows) {
				return nil, fmt.Errorf("%w: version %d has no chunk %d", store.ErrCorrupt, of, chunk.Number(id))
			}
			return rows[chunk.Number(id)].Tokens, nil
		},
	}, d.localOptions())
}

// WithLocal is s with local bridges, which are built where it has none. It is not
// published.
func (d *DB) WithLocal(ctx context.Context, s *State) (*State, error) {
	if s.Local != nil || s.Chunks == 0 {
		return s, nil
	}
	built, err := d.buildLocal(ctx, s)
	if err != nil {
		return nil, err
	}
	with := *s
	with.Local, with.LocalSeq, with.Fresh, with.Modulators = built, s.Seq, nil, &sync.Map{}
	return &with, nil
}
