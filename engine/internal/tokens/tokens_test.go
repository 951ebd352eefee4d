package tokens

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// file writes the sections of a file and opens it.
func file(t *testing.T, dir, kind string, write func(w *snapshot.Writer)) *snapshot.File {
	t.Helper()
	path := filepath.Join(dir, kind+".snap")
	if err := snapshot.Write(path, snapshot.Header{Kind: kind, Version: 1}, func(w *snapshot.Writer) error { write(w); return nil }); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// model is what a List must hold, with the present one.
type model struct {
	t    *testing.T
	l    *List
	live map[uint64]bool // ordinals
	next uint64
	want map[uint64]int
	r    *rand.Rand
}

func newModel(t *testing.T, seed uint64) *model {
	return &model{t: t, l: New(), live: map[uint64]bool{}, next: 1, want: map[uint64]int{}, r: rand.New(rand.NewPCG(seed, 1))}
}

func (m *model) sees(id uint64) bool { return m.live[chunk.Ord(id)] }

// commit is what a commit changes: some documents come, one of five without codes, and some go.
func (m *model) commit(come, leave int) {
	m.t.Helper()
	if m.l.Wasteful() {
		m.l = m.l.Only(m.sees)
	}
	var came []Chunk
	var gone []uint64
	for _, ord := range slices.Sorted(maps.Keys(m.live)) {
		if leave > 0 && m.r.IntN(len(m.live)) < 2*leave {
			leave--
			delete(m.live, ord)
			for n := range 3 {
				gone = append(gone, chunk.ID(ord, n))
				delete(m.want, chunk.ID(ord, n))
			}
		}
	}
	for range come {
		m.live[m.next] = true
		for n := range 1 + m.r.IntN(3) {
			c := Chunk{ID: chunk.ID(m.next, n)}
			if m.next%5 != 0 {
				c.Bytes = 1 + m.r.IntN(300)
				m.want[c.ID] = c.Bytes
			}
			came = append(came, c)
		}
		m.next += 1 + m.r.Uint64N(3)
	}
	next, err := m.l.Next(came, gone)
	if err != nil {
		m.t.Fatal(err)
	}
	m.l = next
}

func (m *model) check(when string) {
	m.t.Helper()
	holds(m.t, when, m.l, m.want)
	sum := int64(0)
	for _, n := range m.want {
		sum += int64(n)
	}
	if m.l.Len() != len(m.want) || m.l.Stored() != sum {
		m.t.Fatalf("%s: %d chunks of %d bytes, want %d of %d", when, m.l.Len(), m.l.Stored(), len(m.want), sum)
	}
	if n := len(m.l.ids); n > 2*len(m.want)+1024+100 {
		m.t.Fatalf("%s: %d entries for %d chunks", when, n, len(m.want))
	}
}

func holds(t *testing.T, when string, l *List, want map[uint64]int) {
	t.Helper()
	for id, n := range want {
		if got := l.Bytes(id); got != n || !l.Has(id) {
			t.Fatalf("%s: chunk %d of version %d: %d bytes, want %d", when, chunk.Number(id), chunk.Ord(id), got, n)
		}
	}
	if l.Has(1 << 40) {
		t.Fatalf("%s: codes of a version that never was", when)
	}
}

// TestModel: whatever commits and openings do, each chunk has its size, and older lists stay as they were.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		m, dir := newModel(t, seed), t.TempDir()
		type old struct {
			l    *List
			want map[uint64]int
		}
		var olds []old
		for step := range 200 {
			when := fmt.Sprintf("seed %d, step %d", seed, step)
			if step%10 == 0 {
				olds = append(olds, old{m.l, maps.Clone(m.want)})
			}
			m.commit(m.r.IntN(40), m.r.IntN(40))
			m.check(when)
			if m.r.IntN(20) == 0 {
				l, err := Open(file(t, dir, fmt.Sprint("tokens", step), func(w *snapshot.Writer) { m.l.Save(w, m.sees) }), m.next)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				m.l = l
				m.check(when + ", opened")
			}
		}
		for _, o := range olds { // documents that have gone since included
			holds(t, fmt.Sprintf("seed %d, before", seed), o.l, o.want)
		}
	}
}

func TestOutOfOrder(t *testing.T) {
	l, err := New().Next([]Chunk{{5, 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint64{5, 4} {
		if _, err := l.Next([]Chunk{{id, 1}}, nil); !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	}
}

const blockOfTest = Kind + "-0123456789abcdef"

// TestRefused: files that Save does not write are refused, as those of older programs are.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		version    uint32
		ids        []uint64
		sizes      []uint32
		head, size bool
		limit      uint64
	}{
		"":                 {2, []uint64{4}, []uint32{5}, true, true, 9},
		"an older version": {1, []uint64{4}, []uint32{5}, true, true, 9},
		"a newer version":  {3, []uint64{4}, []uint32{5}, true, true, 9},
		"above the limit":  {2, []uint64{4}, []uint32{5}, true, true, 4},
		"ids out of order": {2, []uint64{5, 4}, []uint32{1, 2}, true, true, 9},
		"no codes":         {2, []uint64{4}, []uint32{0}, true, true, 9},
		"endless":          {2, []uint64{4}, []uint32{1<<31 + 1}, true, true, 9},
		"fewer sizes":      {2, []uint64{4, 5}, []uint32{1}, true, true, 9},
		"more sizes":       {2, []uint64{4}, []uint32{1, 2}, true, true, 9},
		"without a head":   {2, []uint64{4}, []uint32{5}, false, true, 9},
		"without sizes":    {2, []uint64{4}, nil, true, false, 9},
	} {
		l, err := Open(file(t, t.TempDir(), Kind, func(w *snapshot.Writer) {
			if c.head {
				w.Begin(sectionHead)
				w.U32(c.version)
			}
			w.Begin(sectionIDs)
			w.Uint64s(c.ids)
			if c.size {
				w.Begin(sectionSizes)
				w.Uint32s(c.sizes)
			}
		}), c.limit)
		if name != "" {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		holds(t, "read", l, map[uint64]int{4: 5})
	}
}

// TestDamage: a byte that is another, anywhere in the file, is noticed.
func TestDamage(t *testing.T) {
	m, dir := newModel(t, 9), t.TempDir()
	m.commit(60, 0)
	file(t, dir, Kind, func(w *snapshot.Writer) { m.l.Save(w, m.sees) })
	path := filepath.Join(dir, Kind+".snap")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		bad := slices.Clone(good)
		bad[m.r.IntN(len(bad))] ^= 1 << m.r.IntN(8)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := snapshot.Open(path)
		if err == nil {
			var l *List
			if l, err = Open(f, m.next); err == nil {
				holds(t, "damaged", l, m.want) // the bit lay in unused bytes
			}
			f.Close()
		}
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, snapshot.ErrDamaged) && !errors.Is(err, snapshot.ErrForeign) {
			t.Fatal(err)
		}
	}
}

func TestBlockName(t *testing.T) {
	if got := BlockName(filepath.Join("x", blockOfTest+".snap")); got != blockOfTest {
		t.Errorf("%q", got)
	}
	for _, other := range []string{"tokens.snap", "tokens-1.snap", blockOfTest, "words.snap", blockOfTest + ".snap.lexsem-tmp-1"} {
		if got := BlockName(other); got != "" {
			t.Errorf("%q is %q", other, got)
		}
	}
}
