package index

import (
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/internal/section"
)

// KindFlat compares the query with every vector: exact, without build time,
// and the measure of every other kind. A search costs Dim·Len multiplications
// and holds a read lock meanwhile; Add and Delete take a write lock for the
// time it takes to copy the vectors. SearchOptions.Allow is asked before a
// distance is computed, so a narrow filter makes a search cheaper; it must not
// call the index.
var KindFlat = registerKind("flat", kind{
	new: func(o Options) Index { return newFlat(o, false) },
	load: func(o Options, r *section.Reader, keep bool) (Index, error) {
		return loadFlat(newFlat(o, false), r, keep)
	},
})

// KindFlatInt8 is KindFlat with int8 codes beside the vectors. A search
// compares codes, which are a quarter of the bytes, and then the vectors of
// those that may be among the nearest by the bound of the codes' error. So its
// answers are those of KindFlat, exactly, some five times as fast; it takes
// Dim + 4 bytes a vector more (+ 8 under dot and l2). Where vectors are long
// against the distances between them, as l2 allows, few can be left out, and
// the gain is lost.
var KindFlatInt8 = registerKind("flat-int8", kind{
	new: func(o Options) Index { return newFlat(o, true) },
	load: func(o Options, r *section.Reader, keep bool) (Index, error) {
		return loadFlat(newFlat(o, true), r, keep)
	},
})

// flat keeps its vectors dense: slots 0 to len(ids)-1 are all in use, and a
// deleted one is filled with the last.
type flat struct {
	o Options
	m *metric

	write sync.Mutex   // held by Add, Delete and WriteTo
	mu    sync.RWMutex // held for writing only while data change
	rows  arena[float32]
	codes *codes   // nil without
	ids   []uint64 // by slot
	slots idTable

	scratch sync.Pool // of *flatScratch
}

// flatScratch is what a search needs besides its answer.
type flatScratch struct {
	dist []float32 // flatBlock distances
	top  topK
	g    gather
	q    query // with codes only
	scan codeScan
	// pick shows what allow lets through to codes.scan; made once, so that
	// searches allocate nothing.
	allow func(id uint64) bool
	pick  picker
}

// flatBlock is the number of rows between two looks at the heap.
const flatBlock = 128

func newFlat(o Options, coded bool) *flat {
	f := &flat{o: o, m: metrics[o.Metric], rows: newArena[float32](o.Dim)}
	f.slots.id = func(slot uint32) uint64 { return f.ids[slot] }
	if coded {
		f.codes = newCodes(o.Dim, f.m)
	}
	f.scratch.New = func() any {
		s := &flatScratch{dist: make([]float32, flatBlock), g: gather{m: f.m, rows: &f.rows, q: make([]float32, o.Dim)}}
		if coded {
			s.q = query{row: s.g.q, code: make([]int8, o.Dim)}
			s.pick = func(from int, out []uint32) (int, int) {
				n, ids, allow := 0, f.ids, s.allow
				for ; from < len(ids) && n < len(out); from++ {
					if allow(ids[from]) {
						out[n] = uint32(from)
						n++
					}
				}
				return n, from
			}
		}
		return s
	}
	return f
}

func (f *flat) kind() string {
	if f.codes != nil {
		return KindFlatInt8
	}
	return KindFlat
}

func (f *flat) Dim() int { return f.o.Dim }

func (f *flat) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.ids)
}

func (f *flat) Add(ids []uint64, vectors []float32) error {
	if err := f.m.checkRows(len(ids), vectors, f.o.Dim); err != nil {
		return err
	}
	f.write.Lock()
	defer f.write.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ids)+len(ids) > MaxLen {
		return fmt.Errorf("%d vectors and %d more: %w", len(f.ids), len(ids), ErrFull)
	}
	n := len(f.ids)
	for _, id := range ids {
		if _, ok := f.slots.get(id); !ok {
			n++
		}
	}
	f.rows.reserve(n)
	if f.codes != nil {
		f.codes.reserve(n)
	}
	for i, id := range ids {
		slot, ok := f.slots.get(id)
		if !ok {
			slot = uint32(len(f.ids))
			f.ids = append(f.ids, id)
			f.slots.put(id, slot)
		}
		row := f.rows.row(slot)
		f.m.put(row, vectors[i*f.o.Dim:(i+1)*f.o.Dim])
		if f.codes != nil {
			f.codes.put(slot, row)
		}
	}
	return nil
}

func (f *flat) Delete(ids []uint64) int {
	f.write.Lock()
	defer f.write.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, id := range ids {
		slot, ok := f.slots.get(id)
		if !ok {
			continue
		}
		n++
		f.slots.drop(id)
		last := uint32(len(f.ids) - 1)
		if slot != last {
			copy(f.rows.row(slot), f.rows.row(last))
			if f.codes != nil {
				f.codes.move(slot, last)
			}
			f.ids[slot] = f.ids[last]
			f.slots.put(f.ids[slot], slot)
		}
		f.ids = f.ids[:last]
	}
	f.rows.release(len(f.ids))
	if f.codes != nil {
		f.codes.release(len(f.ids))
	}
	return n
}

func (f *flat) Search(dst []Neighbor, q []float32, o SearchOptions) ([]Neighbor, error) {
	if o.K < 1 {
		return dst, fmt.Errorf("k is %d: %w", o.K, ErrBadK)
	}
	return f.search(dst, q, infinite, o)
}

// search appends the nearest o.K within a radius, all if that is 0.
func (f *flat) search(dst []Neighbor, q []float32, radius float32, o SearchOptions) ([]Neighbor, error) {
	if err := f.m.checkQuery(q, f.o.Dim); err != nil {
		return dst, err
	}
	s := f.scratch.Get().(*flatScratch)
	defer f.scratch.Put(s)
	f.m.put(s.g.q, q)
	f.mu.RLock()
	defer f.mu.RUnlock()
	s.top = topK{heap: s.top.heap[:0], k: atMost(o.K, len(f.ids)), radius: radius}
	if s.top.k == 0 {
		return dst, nil
	}
	switch {
	case f.codes != nil:
		f.scanCodes(s, o.Allow)
	case o.Allow != nil:
		f.scanAllowed(s, o.Allow)
	default:
		f.scan(s)
	}
	order(s.top.heap)
	return append(dst, s.top.heap...), nil
}

// scan shows every vector to s.top.
func (f *flat) scan(s *flatScratch) {
	for from := 0; from < len(f.ids); {
		rows, n := f.rows.run(from, min(flatBlock, len(f.ids)-from))
		f.m.rows(s.dist[:n], s.g.q, rows)
		s.top.pushAll(f.ids[from:from+n], s.dist[:n])
		from += n
	}
}

// scanCodes shows every vector that may be among the nearest to s.top.
func (f *flat) scanCodes(s *flatScratch, allow func(uint64) bool) {
	f.codes.fill(&s.q)
	var pick picker
	if allow != nil {
		s.allow, pick = allow, s.pick
	}
	f.codes.scan(&s.scan, &s.q, len(f.ids), s.top.k, s.top.radius, pick, nil)
	s.allow = nil
	for _, m := range s.scan.near {
		if s.g.add(m.slot) {
			f.flush(s)
		}
	}
	f.flush(s)
}

// scanAllowed shows every allowed vector to s.top.
func (f *flat) scanAllowed(s *flatScratch, allow func(uint64) bool) {
	g := &s.g
	for slot, id := range f.ids {
		if !allow(id) {
			continue
		}
		if g.add(uint32(slot)) {
			f.flush(s)
		}
	}
	f.flush(s)
}

func (f *flat) flush(s *flatScratch) {
	slots, dist := s.g.flush()
	for i, slot := range slots {
		s.top.push(Neighbor{f.ids[slot], dist[i]})
	}
}

func (f *flat) Scores(dst []float32, q []float32, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("room for %d scores of %d ids: %w", len(dst), len(ids), ErrLength)
	}
	if err := f.m.checkQuery(q, f.o.Dim); err != nil {
		return err
	}
	s := f.scratch.Get().(*flatScratch)
	defer f.scratch.Put(s)
	f.m.put(s.g.q, q)
	f.mu.RLock()
	defer f.mu.RUnlock()
	scores(dst, ids, &s.g, &f.slots)
	return nil
}
