package index

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/rcu"
)

// base is the common part of all kinds: the memory of vectors, their ids, and which of
// them are live. One writer at a time prepares additions in slots that no search reads
// and then publishes the next view. A search keeps the view that it started with, and
// holds no lock.
type base struct {
	kind    string
	o       Options
	m       *metric
	workers atomic.Int64

	write sync.Mutex             // held by whoever changes the index, from beginning to end
	mem   atomic.Pointer[memory] // the newest; stored by the writer
	slots idTable                // of live slots
	views rcu.Cell[*view]
	now   *view    // the newest; the writer's
	owned []bool   // chunks that the index may write to, the writer's
	wrote []uint64 // by chunk: saves, when it was last made the index's own; likewise
	saves uint64   // how many have begun; likewise

	scanners sync.Pool // of *scanner
}

func (b *base) init(kind string, o Options, by coding) {
	b.kind, b.o, b.m = kind, o, metrics[o.Metric]
	b.SetWorkers(o.Workers)
	mem := newMemory(o.Dim, b.m, by)
	b.mem.Store(mem)
	b.slots.mem = &b.mem
	b.publish(&view{mem: mem}, nil)
	b.scanners.New = func() any { return newScanner(mem, &b.slots) }
}

// publish makes v the view of later searches; see rcu.Cell.Publish.
func (b *base) publish(v *view, retire func()) {
	b.now = v
	b.views.Publish(v, retire)
}

// grow makes room for n slots in total, while searches go on.
func (b *base) grow(n int) {
	if old := b.mem.Load(); n > old.slots() {
		b.mem.Store(old.grown(n))
	}
	for len(b.owned) < len(b.mem.Load().rows.chunks) {
		b.owned, b.wrote = append(b.owned, true), append(b.wrote, b.saves)
	}
}

// own prepares chunks for writing: it copies those that are in a snapshot or shared with
// another index. The error is ErrCorrupt.
func (b *base) own(places []int) error {
	var foreign []int
	for _, p := range places {
		b.wrote[p] = b.saves
		if !b.owned[p] {
			b.owned[p] = true
			foreign = append(foreign, p)
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	var mem *memory
	err := guarded(func() (err error) {
		mem, err = b.mem.Load().copied(foreign)
		return err
	})
	if err != nil {
		for _, p := range foreign {
			b.owned[p] = false
		}
		return err
	}
	b.mem.Store(mem)
	return nil
}

// SetWorkers sets the number of goroutines of Add, Delete and SearchBatch from
// their next step on; 0 means as many as the Go runtime runs at once.
func (b *base) SetWorkers(n int) {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	b.workers.Store(int64(n))
}

func (b *base) parallel(n int, f func(i int)) { parallel(int(b.workers.Load()), n, f) }

func (b *base) Dim() int { return b.o.Dim }

func (b *base) Len() int {
	r := b.views.Acquire()
	defer r.Release()
	return r.Value.live
}

// IDs calls yield for every id, in any order, until it returns false.
func (b *base) IDs(yield func(id uint64) bool) {
	r := b.views.Acquire()
	defer r.Release()
	r.Value.each(func(slot uint32) bool { return yield(r.Value.mem.id(slot)) })
}

// Has is described at Index.
func (b *base) Has(id uint64) bool {
	_, ok := b.slots.slot(id)
	return ok
}

// Vector is described at Index.
func (b *base) Vector(id uint64, space *[]float32) []float32 {
	r := b.views.Acquire() // no slot found under it is used again meanwhile
	defer r.Release()
	x, slot := b.slots.at(id)
	if x == nil || x.rows.checkSlot(slot) != nil {
		return nil
	}
	if space == nil {
		space = new([]float32)
	}
	return x.read(slot, space)
}

func (b *base) Scores(dst []float32, q []float32, ids []uint64) error {
	return guarded(func() error { return b.scores(dst, q, ids) })
}

func (b *base) scores(dst []float32, q []float32, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("room for %d scores of %d ids: %w", len(dst), len(ids), errLength)
	}
	if err := b.m.checkQuery(q, b.o.Dim); err != nil {
		return err
	}
	s := b.scanners.Get().(*scanner)
	defer b.scanners.Put(s)
	s.ask(q)
	r := b.views.Acquire() // no slot found under it is used again meanwhile
	defer r.Release()
	store := func() {
		at, dist := s.g.flush()
		for j, d := range dist {
			dst[at[j]] = d
		}
	}
	for i, id := range ids {
		x, slot := b.slots.at(id)
		if x == nil {
			dst[i] = float32(math.NaN())
			continue
		}
		if err := x.rows.checkSlot(slot); err != nil {
			return err
		}
		if s.g.addSlot(uint32(i), x, slot) {
			store()
		}
	}
	store()
	return nil
}

// bytes is Bytes without a graph.
func (b *base) bytes() Memory {
	m := b.mem.Load().bytes()
	r := b.views.Acquire()
	defer r.Release()
	m.Tables += b.slots.bytes() + int64(r.Value.n/8)
	return m
}

// Search compares the query with every vector. Approximate indexes have their own Search.
func (b *base) Search(dst []Neighbor, q []float32, o SearchOptions) (got []Neighbor, err error) {
	if o.K < 1 {
		return dst, fmt.Errorf("k is %d: %w", o.K, errBadK)
	}
	if err := b.m.checkQuery(q, b.o.Dim); err != nil {
		return dst, err
	}
	got = dst
	defer unguard(debug.SetPanicOnFault(true), &err)
	s := b.scanners.Get().(*scanner)
	defer b.scanners.Put(s)
	r := b.views.Acquire()
	defer r.Release()
	if s.begin(r.Value, q, o) == 0 {
		return dst, o.done()
	}
	defer s.end()
	if err := s.scan(); err != nil {
		return dst, err
	}
	order(s.top.heap)
	return append(dst, s.top.heap...), nil
}

// lastOf returns the positions of ids, without those that occur again later.
func lastOf(ids []uint64) []int {
	rows := make([]int, 0, len(ids))
	if len(ids) == 1 {
		return append(rows, 0)
	}
	last := make(map[uint64]int, len(ids))
	for i, id := range ids {
		last[id] = i
	}
	for i, id := range ids {
		if last[id] == i {
			rows = append(rows, i)
		}
	}
	return rows
}
