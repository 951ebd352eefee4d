package state

import (
	"context"
	"fmt"
	"math"
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
	settled uint64        // asked, when all that was asked for by then had been done
	changed chan struct{} // closed and made anew when settled or now.Err changes
	urgent  int           // calls of Flush that wait

	factorEnd  time.Time     // when the last factor was done, and how long it took;
	factorTook time.Duration // the maintainer's own
	failed     map[string]error
	retried    bool // failed was emptied by a repair since the last Flush
}

// errClosing is the cause of the maintainer's context once it has to end.
var errClosing = fmt.Errorf("cancelled by Close: %w", store.ErrClosed)

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

// retry has what failed tried again, for once: what fails then does so not for the
// damage that has been repaired.
func (m *maintainer) retry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.failed) > 0 && !m.retried {
		clear(m.failed)
		m.now.Err, m.retried = nil, true
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
	m.now.Err, m.retried = nil, false
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
			return ctx.Err()
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
		seq := d.st.Seq()
		worked, later := d.pass(m.ctx)
		if m.ctx.Err() != nil {
			return
		}
		if !worked || d.st.Seq() != seq { // while commits keep coming there is always work
			m.mu.Lock()
			m.settled = asked
			m.now.Task, m.now.Done, m.now.Total = "", 0, 0
			close(m.changed)
			m.changed = make(chan struct{})
			m.mu.Unlock()
		}
		if worked {
			continue
		}
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

// pass does each task once, so that none keeps the others waiting.
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
			return worked, false
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
			return worked, false
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
			d.Repair(&err)
			d.warn("work in the background failed", "task", t.name, "error", err)
			m.mu.Lock()
			m.failed[t.name], m.now.Err = err, err
			m.mu.Unlock()
		}
		worked, later = worked || w && err == nil, later || l
	}
	return worked, later
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
			break // the next opening takes out those of no document
		}
		x := d.vectors.Load()
		x.SetWorkers(d.workers())
		x.Delete(piece)
	}
	worked := len(ids) > 0
	for more := true; more; { // a commit may come between
		if err := d.turn.lock(ctx); err != nil {
			return worked, false, err
		}
		worked = worked || len(d.undone) > 0
		d.undoSome()
		more = len(d.undone) > 0
		d.turn.unlock()
	}
	return worked, false, nil
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
		d.pending = max(d.pending, littleChanges+1) // or it would be made after each opening
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

// begin notes what commits change from the present state on, for a work that goes on.
// It returns that state, which the caller releases.
func (d *DB) begin(ctx context.Context, b *backlog) (*Ref, error) {
	if err := d.turn.lock(ctx); err != nil {
		return nil, err
	}
	defer d.turn.unlock()
	d.finish(b) // what a fault has ended may have left it
	*b = backlog{}
	d.backlogs = append(d.backlogs, b)
	return d.cell.Acquire(), nil
}

// finish stops noting. The caller holds turn, or no commit can come.
func (d *DB) finish(b *backlog) {
	d.backlogs = slices.DeleteFunc(d.backlogs, func(x *backlog) bool { return x == b })
}

func (d *DB) abandon(b *backlog) {
	if d.turn.lock(context.Background()) == nil {
		d.finish(b)
		*b = backlog{}
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
	ref, err := d.begin(ctx, &b)
	if err != nil {
		return false, false, err
	}
	defer ref.Release()
	defer d.abandon(&b)
	s = ref.Value
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
	var todo diff
	for before, slow := math.MaxInt, false; ; {
		if err := d.turn.lock(ctx); err != nil {
			return false, false, err
		}
		came := b.len()
		todo.append(b.take())
		n := todo.len()
		if n <= handful {
			break
		}
		// Commits that bring more than the graph takes in meanwhile have to wait:
		// each about as long as what it brought takes.
		slow = slow || came >= before
		before = n
		var err error
		if slow {
			err = follow(todo.cut(max(handful, 2*came)))
			d.turn.unlock()
		} else {
			d.turn.unlock()
			err = follow(todo.cut(n))
		}
		if err != nil {
			return false, false, err
		}
	}
	defer d.turn.unlock()
	if err := follow(todo); err != nil {
		return false, false, err
	}
	next := *d.now
	next.Vectors = graph
	d.publish(&next, nil)
	d.unsaved = true
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
// the present state. Where that fails it gives them up, as they would fall behind
// without end; the next try builds them anew.
func (d *DB) followLocal(ctx context.Context, s *State, _ bool) (worked, _ bool, err error) {
	if !d.localWanted.Load() {
		return false, false, nil
	}
	done := false
	defer func() {
		if !done || err != nil && ctx.Err() == nil {
			d.giveUpLocal()
		}
	}()
	worked, err = d.tendLocal(ctx, s)
	done = true
	return worked, false, err
}

// giveUpLocal publishes a state without local bridges.
func (d *DB) giveUpLocal() {
	if d.turn.lock(context.Background()) != nil {
		return
	}
	defer d.turn.unlock()
	d.finish(&d.localBacklog)
	d.localBacklog = backlog{}
	next := *d.now
	next.Local, next.LocalSeq, next.Fresh = nil, 0, nil
	d.pending = max(d.pending, 1)
	d.publish(&next, nil)
}

func (d *DB) tendLocal(ctx context.Context, s *State) (bool, error) {
	if s.Local == nil {
		if s.Chunks == 0 {
			return false, nil
		}
		b := &d.localBacklog
		ref, err := d.begin(ctx, b)
		if err != nil {
			return false, err
		}
		defer ref.Release()
		s = ref.Value
		d.maintainer.report("local bridges", 0, s.Chunks)
		built, err := d.buildLocal(ctx, s)
		if err != nil {
			return false, err
		}
		return true, d.change(ctx, func(next *State) error {
			next.Local, next.LocalSeq, next.Fresh = built, s.Seq, nil
			for _, v := range b.added {
				next.Fresh = append(next.Fresh, v.ID)
			}
			d.unsaved = true
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
			return false, err
		}
		return true, d.change(ctx, func(next *State) error {
			if next.Local == s.Local { // always so: only the maintainer changes it
				next.Local = fresh
			}
			return nil
		})
	}
	return false, nil
}

// catchUpLocal takes into the local bridges what commits changed since.
func (d *DB) catchUpLocal(ctx context.Context) (bool, error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	df, base, fresh := d.localBacklog.take(), d.now, len(d.now.Fresh)
	d.turn.unlock()
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
			return false, err
		}
	}
	built, err := e.Done(ctx)
	if err != nil { // of ctx, and nothing comes after it, or the bridges are given up
		return false, err
	}
	return true, d.change(ctx, func(next *State) error {
		next.Local, next.LocalSeq = built, base.Seq
		next.Fresh = slices.Clone(next.Fresh[fresh:])
		return nil
	})
}

func (d *DB) saveIfDue(ctx context.Context, s *State, _ bool) (bool, bool, error) {
	if err := d.turn.lock(ctx); err != nil {
		return false, false, err
	}
	due, err := d.saveDue(s.View)
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
