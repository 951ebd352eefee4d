package state

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/rcu"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Options shape a DB.
type Options struct {
	Dir        string
	Dim, Vocab int
	Metric     metric.Metric
	Index      string // one of index.Kinds; IndexAuto chooses by size, and "" does where no other kind is there
	GraphAbove int    // chunks above which the index that is chosen is a graph
	Analyzer   *text.Analyzer
	Lambda     float64              // of RLR
	Local      bool                 // local bridges from the start
	MaxBytes   int64                // most that is kept in memory beside the float32 vectors; 0 for no bound
	Impacts    string               // digest of the model that gives impacts of words; "" for none
	CheckCodes func([]byte) error   // what is wrong with codes of token states; nil for no checks
	Bridges    func(s *State) error // fills in the fitted bridges of the first state
	Logger     *slog.Logger
	Progress   func(stage string, done, total int) // of Open
	ReadOnly   bool
	NoSync     bool

	ReclaimAfter time.Duration // rest before space is reclaimed unasked; 0 for the default
}

// DB is the derived state of an open database, and makes its commits. Its methods are
// safe for concurrent use unless they say otherwise.
type DB struct {
	o        Options
	st       *store.Store
	analyzer *text.Analyzer

	cell rcu.Cell[*State] // what searches read

	turn     turn       // held by whoever prepares and publishes a state
	now      *State     // the present one; guarded by turn, and stays in cell
	pending  int        // changes since the snapshots; guarded by turn
	unsaved  bool       // something was built that takes long; guarded by turn
	saved    uint64     // commit of the snapshots; guarded by turn
	backlogs []*backlog // of long works in progress; guarded by turn
	undone   []uint64   // chunks of commits that failed, to be taken out of the index; guarded by turn

	vectors atomic.Pointer[Vectors] // of the present state
	before  atomic.Pointer[Vectors] // of states before it that are in use

	drops         queue   // chunks that no state sees any more
	localBacklog  backlog // of the local bridges; guarded by turn
	committed     moment  // the last commit
	encode        atomic.Pointer[Encode]
	links         atomic.Int64  // chunks that were linked since links were saved
	localWanted   atomic.Bool   // local bridges are asked for
	localEach     atomic.Int64  // bytes a chunk that the last ones took
	compactWanted atomic.Bool   // Compact is asked for
	refused       atomic.Bool   // documents were, for their memory, since some were last stored
	damaged       atomic.Uint32 // parts that searches found damaged
	lost          atomic.Bool   // a vector was asked for that is absent or damaged
	searching     atomic.Int64  // searches in progress
	searches      atomic.Uint64 // that have begun
	searched      moment        // the end of the last one
	touched       atomic.Bool   // some began, or there were commits, since the memory of vectors was given back

	maintainer maintainer
	rows       []*snapshot.File // where vectors of the index lie, or did; the maintainer's
	wordsFile  *snapshot.File   // where words lie, or nil; the maintainer's
	mu         sync.Mutex       // guards the rest
	mapped     []*snapshot.File
	unused     []*snapshot.File   // of these, what is to be closed
	fresh      map[parts]*written // of these, what vectors and words are to go over to
}

// Index is the kind of index requested at this opening or an earlier one, or "".
func (d *DB) Index() string { return d.o.Index }

// Acquire returns the present state, nil once the database is closed. The caller
// releases it.
func (d *DB) Acquire() *Ref { return d.cell.Acquire() }

// Search marks a search as running until the returned function is called; meanwhile
// background work takes at most one core.
func (d *DB) Search() func() {
	d.searching.Add(1)
	d.searches.Add(1)
	if !d.touched.Load() {
		d.touched.Store(true)
		d.wake()
	}
	return func() {
		d.searched.set()
		d.searching.Add(-1)
	}
}

// quiet is the time after the last search from which all cores may be used.
const quiet = 2 * time.Second

// workers returns how many goroutines background work may use.
func (d *DB) workers() int {
	if d.searching.Load() > 0 || d.searched.since() < quiet {
		return 1
	}
	return max(1, runtime.GOMAXPROCS(0))
}

// vector is the stored vector of a chunk of any state in use, nil for others; space is that of index.Index's Vector.
func (d *DB) vector(id uint64, space *[]float32) []float32 {
	if x := d.vectors.Load(); x != nil {
		if v := x.Vector(id, space); v != nil {
			return v
		}
	}
	if x := d.before.Load(); x != nil {
		if v := x.Vector(id, space); v != nil {
			return v
		}
	}
	d.lost.Store(true)
	return nil
}

// ownVector is vector for callers that keep it.
func (d *DB) ownVector(id uint64) []float32 { return d.vector(id, nil) }

// Settled waits until every commit so far is the present state.
func (d *DB) Settled(ctx context.Context) error {
	if err := d.turn.lock(ctx); err != nil {
		return err
	}
	d.turn.unlock()
	return nil
}

// Stop tells the maintainer to end, and does not wait for it.
func (d *DB) Stop() { d.maintainer.stop() }

// Present is the present state without a reference, for callers that know that no commit
// and no maintainer runs, such as tests.
func (d *DB) Present() *State { return d.now }

// SetBridges publishes a state with other fitted bridges. edit gets a copy of the map.
func (d *DB) SetBridges(ctx context.Context, edit func(s *State, bridges map[string]*Bridge)) error {
	return d.change(ctx, func(next *State) error {
		bridges := make(map[string]*Bridge, len(next.Bridges)+1)
		maps.Copy(bridges, next.Bridges)
		next.Bridges = bridges
		edit(next, bridges)
		return nil
	})
}

// Close ends the maintainer, saves the derived state, and gives everything back. The
// caller ends all calls first, and then closes the store.
func (d *DB) Close() error {
	d.maintainer.end()
	var err error
	if !d.o.ReadOnly && !d.little() {
		err = d.save(context.Background())
	}
	return errors.Join(err, d.Abandon())
}

// Abandon gives everything back without saving.
func (d *DB) Abandon() error {
	d.maintainer.end()
	views := d.now.views
	d.cell.Clear(func() { views.drop() })
	return d.unmap()
}

func (d *DB) unmap() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, f := range d.mapped {
		errs = append(errs, f.Close())
	}
	d.mapped = nil
	return errors.Join(errs...)
}

func (d *DB) warn(msg string, args ...any) {
	if d.o.Logger != nil {
		d.o.Logger.Warn(msg, append([]any{"dir", d.o.Dir}, args...)...)
	}
}

func (d *DB) progress(stage string, done, total int) {
	if d.o.Progress != nil {
		d.o.Progress(stage, done, total)
	}
}
