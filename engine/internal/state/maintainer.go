package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/store"
)

// The maintainer is one goroutine for work that can wait: it removes vectors that no state sees, makes factors,
// compacts parts, builds graphs and links their buffer, builds local bridges, and saves. It works on a state of its
// choice while searches and commits go on, and then publishes the result on the newest state. During searches it uses
// one core.

// Maintenance is the current work of the maintainer.
type Maintenance struct {
	Task        string // "" for nothing
	Done, Total int    // Total is 0 where it is not known
	Err         error  // of the last task that failed, until it is tried again
}

type maintainer struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	kick   chan struct{}
	ended  chan struct{}

	mu      sync.Mutex
	now     Maintenance
	asked   uint64        // counts calls of wake
	settled uint64        // asked, when all that was asked for by then had been done or had failed
	outcome error         // now.Err then
	changed chan struct{} // closed and made anew when settled changes
	urgent  int           // calls of Flush that wait
	again   bool          // a Flush has begun since: what failed is tried again

	failed  map[string]error // by task: each waits for Flush or a repair
	retried bool             // failed was emptied by a repair since the last Flush

	// The maintainer's own:
	opened         moment
	later          bool      // a task has work that is not due yet
	soon           bool      // one has to be looked at sooner
	factorEnd      time.Time // when the last factor was done, and how long it took
	factorTook     time.Duration
	counted        int       // chunks that there were
	countedAt      time.Time // then
	forgot         time.Time // when tables were last looked at
	filesThen      uint64    // bytes of files in memory then, or fewer since
	forgotRows     time.Time // and forgetVectors beside searches
	searchedTables bool      // the last search has ended since forgetTables was there
	files          uint64    // bytes of files in memory then, or fewer since
	aside          bool      // searches are to read vectors aside while commits go on
	asideSince     time.Time // when that was decided, the last commit then, and the searches that there had been
	asideSeq       uint64
	asideSearches  uint64
	many           bool      // more than a handful had come in the second before
	encoded        bool      // this pass has made vectors, and so a commit
	encodeEnd      time.Time // when that was last tried
	lackedSince    time.Time // when chunks without vectors were first seen, zero if there are none
	restSeq        uint64    // the last commit, when tidy saw it first, and whether it has tidied up since
	restSince      time.Time
	tidied         bool
}

// errClosing is the cause of the maintainer's context once it has to end.
var errClosing = fmt.Errorf("cancelled by Close: %w", store.ErrClosed)

func (d *DB) startMaintainer() {
	d.maintainer.init()
	d.maintainer.opened.set()
	go d.maintain()
	d.wake()
}

// init prepares the maintainer. Its context lets searches go first.
func (m *maintainer) init() {
	ctx, cancel := context.WithCancelCause(context.Background())
	m.ctx, m.cancel = yield.Context(ctx), cancel
	m.kick, m.ended, m.changed = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	m.failed = map[string]error{}
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

// retry makes failed tasks run once more, so that a failure caused by damage that is now repaired does not
// remain. Only the maintainer calls it.
func (m *maintainer) retry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.failed) > 0 && !m.retried {
		clear(m.failed)
		m.now.Err, m.retried = nil, true
	}
}

// begin starts a pass: failed tasks run again if a Flush has begun since the last pass. Only the maintainer
// clears an error, so each Flush gets the error of its own pass. It returns the number of requests so far.
func (m *maintainer) begin() (asked uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.again {
		clear(m.failed)
		m.again, m.now.Err, m.retried = false, nil, false
	}
	return m.asked
}

// hurried reports whether a call of Flush is waiting.
func (m *maintainer) hurried() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.urgent > 0
}

// report records the progress of the current task.
func (m *maintainer) report(task string, done, total int) {
	m.mu.Lock()
	m.now.Task, m.now.Done, m.now.Total = task, done, total
	m.mu.Unlock()
}

// Maintenance returns the current work of the maintainer.
func (d *DB) Maintenance() Maintenance {
	m := &d.maintainer
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Flush waits until the maintainer has caught up with all commits so far, and returns the error of failed
// tasks.
func (d *DB) Flush(ctx context.Context) error {
	m := &d.maintainer
	m.mu.Lock()
	m.urgent++
	m.again = true
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
		settled, changed, err := m.settled, m.changed, m.outcome
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

// rest is the minimum time since the last commit before work is done that could wait for more changes.
const rest = time.Second

// soon is the minimum where only commits that follow each other at once are waited for.
const soon = rest / 4

// maintain is the maintainer.
func (d *DB) maintain() {
	m := &d.maintainer
	defer close(m.ended)
	for {
		asked := m.begin()
		seq := d.st.Seq()
		worked := d.pass(m.ctx)
		if m.ctx.Err() != nil {
			return
		}
		if !worked || d.st.Seq() != seq && !m.encoded { // while commits of others keep coming there is always work
			m.mu.Lock()
			m.settled, m.outcome = asked, m.now.Err
			m.now.Task, m.now.Done, m.now.Total = "", 0, 0
			close(m.changed)
			m.changed = make(chan struct{})
			m.mu.Unlock()
		}
		if worked {
			continue
		}
		var timer <-chan time.Time
		switch {
		case m.soon:
			timer = time.After(soon)
		case m.later:
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

// task is one kind of work on the present state. It reports whether it did any work.
type task struct {
	name string
	do   func(ctx context.Context, s *State) (worked bool, err error)
	free bool // no state may be in use for it, and it gets none
	maps bool // it closes files, or frees their memory
}

// pass runs each task once, so that none delays the others, and reports whether any did work.
func (d *DB) pass(ctx context.Context) (worked bool) {
	m := &d.maintainer
	m.later, m.soon, m.encoded = false, false, false
	tasks := []task{
		{name: "clear", do: d.clear},
		{name: "repair", do: d.repair},
		{name: encodeTask, do: d.encodeSome},
		{name: "factor", do: d.factor},
		{name: "words", do: d.compactWords},
		{name: "metadata", do: d.compactColumns},
		{name: "sums", do: d.compactSums},
		{name: "graph", do: d.growGraph},
		{name: "links", do: d.linkTail},
		{name: "local bridges", do: d.followLocal},
		{name: "save", do: d.saveIfDue},
		{name: "map", do: d.mapSaved, maps: true},
		{name: "vectors", do: d.forgetVectors, maps: true},
		{name: "tables", do: d.forgetTables, maps: true},
		{name: "space", do: d.tidy},
		{name: "compact", do: d.compact, free: true}, // a state in use keeps what it is to remove
	}
	for _, t := range tasks {
		if ctx.Err() != nil {
			return worked
		}
		m.mu.Lock()
		failed := m.failed[t.name] != nil
		m.mu.Unlock()
		if failed && !(t.name == encodeTask && d.encodeAgain()) {
			continue // until Flush, or the database is opened again
		}
		w, err := d.run(ctx, t)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s: %w", t.name, err)
			d.Repair(&err)
			d.warn("work in the background failed", "task", t.name, "error", err)
			m.mu.Lock()
			m.failed[t.name], m.now.Err = err, err
			m.later = m.later || t.name == encodeTask
			m.mu.Unlock()
		}
		worked = worked || w && err == nil
	}
	return worked
}

func (d *DB) run(ctx context.Context, t task) (worked bool, err error) {
	defer snapshot.Guard(&err)()
	if !t.maps {
		defer d.forgetting()()
	}
	if t.free {
		return t.do(ctx, nil)
	}
	ref := d.cell.Acquire() // not nil: Close ends the maintainer before it clears the cell
	defer ref.Release()
	return t.do(ctx, ref.Value)
}

// change publishes the present state as changed by edit.
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
