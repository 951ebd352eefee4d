package tokens

import (
	"bytes"
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
				l, err := Open(file(t, dir, fmt.Sprint("tokens", step), func(w *snapshot.Writer) { m.l.Save(w, m.sees) }), m.next, nil)
				if err != nil || l.Loose() {
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

// older writes the sections of version 1.
func older(head func(w *snapshot.Writer), ids, ends []uint64) func(w *snapshot.Writer) {
	return func(w *snapshot.Writer) {
		if head != nil {
			w.Begin(sectionHead)
			head(w)
		}
		w.Begin(sectionIDs)
		w.Uint64s(ids)
		w.Begin(sectionEnds)
		w.Uint64s(ends)
		w.Begin("tk.codes")
		w.Write(bytes.Repeat([]byte("x"), int(slices.Max(append(ends, 0)))))
	}
}

const blockOfTest = Kind + "-0123456789abcdef"

// TestOlder: files with codes and blocks of them are read, and what cannot be is refused.
func TestOlder(t *testing.T) {
	head := func(n uint32, names ...string) func(w *snapshot.Writer) {
		return func(w *snapshot.Writer) {
			w.U32(1)
			w.U32(n)
			for _, name := range names {
				w.Text(name)
				w.U64(2)
				w.U64(1)
			}
		}
	}
	one := func(w *snapshot.Writer) { w.U32(3) }
	for name, c := range map[string]struct {
		write func(w *snapshot.Writer)
		limit uint64
	}{
		"":                  {older(head(1, blockOfTest), []uint64{4}, []uint64{5}), 9},
		"version":           {older(one, []uint64{4}, []uint64{5}), 9},
		"too few blocks":    {older(head(2, blockOfTest), nil, nil), 9},
		"too many blocks":   {older(head(0, blockOfTest), nil, nil), 9},
		"endless":           {older(head(1<<31), nil, nil), 9},
		"name":              {older(head(1, "tokens-../../etc/passwd!"), nil, nil), 9},
		"other name":        {older(head(1, "words"), nil, nil), 9},
		"twice":             {older(head(2, blockOfTest, blockOfTest), nil, nil), 9},
		"missing":           {older(head(1, Kind+"-ffffffffffffffff"), nil, nil), 9},
		"above the limit":   {older(head(1, blockOfTest), []uint64{4}, []uint64{5}), 4},
		"own before blocks": {older(head(1, blockOfTest), []uint64{3}, []uint64{5}), 9},
		"ids out of order":  {older(head(0), []uint64{5, 4}, []uint64{1, 2}), 9},
		"ends out of order": {older(head(0), []uint64{4, 5}, []uint64{2, 1}), 9},
		"no codes":          {older(head(0), []uint64{4, 5}, []uint64{2, 2}), 9},
		"fewer ends":        {older(head(0), []uint64{4, 5}, []uint64{1}), 9},
		"more ends":         {older(head(0), []uint64{4}, []uint64{1, 2}), 9},
		"without a head":    {older(nil, nil, nil), 9},
	} {
		dir := t.TempDir()
		file(t, dir, blockOfTest, older(nil, []uint64{1, 3}, []uint64{7, 9}))
		l, err := Open(file(t, dir, Kind, c.write), c.limit, func(name string) (*snapshot.File, error) {
			f, err := snapshot.Open(filepath.Join(dir, name+".snap"))
			if err != nil {
				err = fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			return f, err
		})
		if name != "" {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !l.Loose() {
			t.Fatal(err)
		}
		l = l.Only(func(id uint64) bool { return id != 1 })
		holds(t, "older", l, map[uint64]int{3: 2, 4: 5})
		if l.Len() != 2 || l.Stored() != 7 || l.Loose() || l.Has(1) {
			t.Errorf("%d chunks of %d bytes", l.Len(), l.Stored())
		}
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
			if l, err = Open(f, m.next, nil); err == nil {
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
