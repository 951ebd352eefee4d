package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
)

var ctx = context.Background()

// disk is where a test has its blocks.
type disk struct {
	dir string
	err error
	n   int
}

func (d *disk) write(name string, write func(w *snapshot.Writer) error) (*snapshot.File, error) {
	if d.err != nil {
		return nil, d.err
	}
	d.n++
	if err := snapshot.Write(d.path(name), snapshot.Header{Kind: name, Version: 1}, write); err != nil {
		return nil, err
	}
	return d.open(name)
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name+".snap") }

func (d *disk) open(name string) (*snapshot.File, error) { return snapshot.Open(d.path(name)) }

func codesOf(id uint64) []byte {
	r := rand.New(rand.NewPCG(id, 7))
	b := make([]byte, 1+r.IntN(300))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// model is what a Codes must hold, with the present one.
type model struct {
	t    *testing.T
	d    *disk
	c    *Codes
	live map[uint64]bool // ordinals
	next uint64
	want map[uint64][]byte
	r    *rand.Rand
}

func newModel(t *testing.T, seed uint64) *model {
	return &model{t: t, d: &disk{dir: t.TempDir()}, c: New(), live: map[uint64]bool{}, next: 1, want: map[uint64][]byte{}, r: rand.New(rand.NewPCG(seed, 1))}
}

func (m *model) sees(id uint64) bool { return m.live[chunk.Ord(id)] }

// commit is what a commit changes: some documents come, one of five without codes, and
// some go.
func (m *model) commit(come, go_ int) {
	m.t.Helper()
	var came []Chunk
	var gone []uint64
	for _, ord := range slices.Sorted(maps.Keys(m.live)) {
		if go_ > 0 && m.r.IntN(len(m.live)) < 2*go_ {
			go_--
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
			id := chunk.ID(m.next, n)
			v := Chunk{ID: id}
			if m.next%5 != 0 {
				v.Codes = codesOf(id)
				m.want[id] = v.Codes
			}
			came = append(came, v)
		}
		m.next += 1 + m.r.Uint64N(3)
	}
	next, err := m.c.Next(came, gone)
	if err != nil {
		m.t.Fatal(err)
	}
	m.c = next
}

func (m *model) check(when string) {
	m.t.Helper()
	holds(m.t, when, m.c, m.want)
	if n := m.c.Len(); n != len(m.want) {
		m.t.Fatalf("%s: %d chunks, want %d (%v)", when, n, len(m.want), m.c)
	}
	for ord := m.next; ord < m.next+3; ord++ {
		if b, err := m.c.Get(ord); b != nil || err != nil {
			m.t.Fatalf("%s: codes of a version that never was: %v", when, err)
		}
	}
}

func holds(t *testing.T, when string, c *Codes, want map[uint64][]byte) {
	t.Helper()
	for id, codes := range want {
		if got, err := c.Get(id); err != nil || !bytes.Equal(got, codes) {
			t.Fatalf("%s: chunk %d of version %d: %d bytes, want %d; %v", when, chunk.Number(id), chunk.Ord(id), len(got), len(codes), err)
		}
	}
}

func (m *model) save() *snapshot.File {
	m.t.Helper()
	path := m.d.path(Kind)
	if err := snapshot.Write(path, snapshot.Header{Kind: Kind, Version: 1}, func(w *snapshot.Writer) error { return m.c.Save(ctx, w, m.sees) }); err != nil {
		m.t.Fatal(err)
	}
	f, err := snapshot.Open(path)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { f.Close() })
	return f
}

// TestModel: whatever commits, blocks, joined blocks and openings do, each chunk has its
// codes, and older ones stay as they were.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		m := newModel(t, seed)
		type old struct {
			c    *Codes
			want map[uint64][]byte
		}
		var olds []old
		for step := range 60 {
			when := fmt.Sprintf("seed %d, step %d", seed, step)
			olds = append(olds, old{m.c, maps.Clone(m.want)})
			m.commit(m.r.IntN(6), m.r.IntN(5))
			m.check(when)
			switch m.r.IntN(6) {
			case 0: // beside commits
				base, live := m.c, maps.Clone(m.live)
				fresh, err := base.Sealed(ctx, m.d.write, func(id uint64) bool { return live[chunk.Ord(id)] })
				if err != nil {
					t.Fatal(err)
				}
				m.commit(m.r.IntN(3), m.r.IntN(3))
				next, ok := m.c.Rebase(base, fresh, m.sees)
				if !ok {
					t.Fatalf("%s: not rebased", when)
				}
				m.c = next
			case 1:
				fresh, err := m.c.Sealed(ctx, m.d.write, nil)
				if err != nil {
					t.Fatal(err)
				}
				if base := m.c; base.Unsealed() > 0 { // what was made of base meanwhile is of no use any more
					if _, ok := fresh.Rebase(base, fresh, m.sees); ok {
						t.Fatalf("%s: rebased on another", when)
					}
				}
				m.c = fresh
			case 2:
				for m.c.Wasteful() {
					base := m.c
					fresh, err := base.Compacted(ctx, m.d.write, m.sees)
					if err != nil {
						t.Fatal(err)
					}
					m.commit(m.r.IntN(2), m.r.IntN(3))
					next, ok := m.c.Rebase(base, fresh, m.sees)
					if !ok {
						t.Fatalf("%s: not rebased", when)
					}
					m.c = next
				}
			case 3:
				c, err := Open(m.save(), m.next, m.d.open)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				m.c = c
			}
			m.check(when)
			if err := m.c.Verify(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for i, o := range olds { // documents that have gone since included
			holds(t, fmt.Sprintf("seed %d, before step %d", seed, i), o.c, o.want)
		}
	}
}

// TestCompacted: blocks of which most is gone become small, and are joined.
func TestCompacted(t *testing.T) {
	m := newModel(t, 3)
	for range 8 {
		m.commit(40, 0)
		var err error
		if m.c, err = m.c.Sealed(ctx, m.d.write, m.sees); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := m.c.Bytes()
	m.commit(0, len(m.live)*3/4)
	for m.c.Wasteful() {
		fresh, err := m.c.Compacted(ctx, m.d.write, m.sees)
		if err != nil {
			t.Fatal(err)
		}
		m.c, _ = m.c.Rebase(m.c, fresh, m.sees)
	}
	m.check("compacted")
	if after, _ := m.c.Bytes(); after > before/2 || len(m.c.Names()) > 4 {
		t.Errorf("%d bytes of %d are left, in %d blocks", after, before, len(m.c.Names()))
	}
	m.commit(0, 1<<30)
	for len(m.live) > 0 {
		m.commit(0, 1<<30)
	}
	for m.c.Wasteful() {
		fresh, err := m.c.Compacted(ctx, m.d.write, m.sees)
		if err != nil {
			t.Fatal(err)
		}
		m.c, _ = m.c.Rebase(m.c, fresh, m.sees)
	}
	if n, _ := m.c.Bytes(); n != 0 || m.c.Len() != 0 {
		t.Errorf("%d bytes and %d chunks are left of nothing", n, m.c.Len())
	}
}

func TestOutOfOrder(t *testing.T) {
	m := newModel(t, 1)
	m.commit(9, 0)
	last := m.c.ids[len(m.c.ids)-1]
	if _, err := m.c.Next([]Chunk{{last, []byte("x")}}, nil); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	sealed, err := m.c.Sealed(ctx, m.d.write, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealed.Next([]Chunk{{1, []byte("x")}}, nil); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestErrors: what a call cannot write, or shall not, leaves the old as it was.
func TestErrors(t *testing.T) {
	m := newModel(t, 5)
	m.commit(100, 0)
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := m.c.Sealed(done, m.d.write, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	m.d.err = errors.New("no space")
	if _, err := m.c.Sealed(ctx, m.d.write, nil); !errors.Is(err, m.d.err) {
		t.Error(err)
	}
	m.check("after errors")
}

// TestDamage: a byte that is another, anywhere in any file, is noticed, and no other
// codes come of it.
func TestDamage(t *testing.T) {
	t.Parallel()
	m := newModel(t, 9)
	m.commit(60, 0)
	var err error
	if m.c, err = m.c.Sealed(ctx, m.d.write, nil); err != nil {
		t.Fatal(err)
	}
	m.commit(30, 10)
	m.save()
	for _, name := range append(m.c.Names(), Kind) {
		path := m.d.path(name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for try := range 120 {
			bad := slices.Clone(good)
			switch at := m.r.IntN(len(bad)); {
			case try%10 == 9:
				bad = bad[:at]
			default:
				bad[at] ^= 1 << m.r.IntN(8)
			}
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			met := func() error {
				f, err := m.d.open(Kind)
				if err != nil {
					return err
				}
				defer f.Close()
				c, err := Open(f, m.next, m.d.open)
				if err != nil {
					return err
				}
				for id, codes := range m.want {
					got, err := c.Get(id)
					if err != nil {
						return err
					}
					if !bytes.Equal(got, codes) {
						t.Fatalf("%s, try %d: other codes", name, try)
					}
				}
				return c.Verify(ctx)
			}()
			if met != nil && !errors.Is(met, ErrCorrupt) && !errors.Is(met, snapshot.ErrDamaged) && !errors.Is(met, snapshot.ErrForeign) {
				t.Fatalf("%s, try %d: %v", name, try, met)
			}
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForged: files with right checksums that say what cannot be are refused.
func TestForged(t *testing.T) {
	d := &disk{dir: t.TempDir()}
	good := newName()
	block := func(ids, ends []uint64, codes string) func(w *snapshot.Writer) {
		return func(w *snapshot.Writer) {
			w.Begin(sectionIDs)
			w.Uint64s(ids)
			w.Begin(sectionEnds)
			w.Uint64s(ends)
			w.Begin(sectionCodes)
			w.Write([]byte(codes))
		}
	}
	none := block(nil, nil, "")
	if _, err := d.write(good, func(w *snapshot.Writer) error { block([]uint64{1, 3}, []uint64{1, 2}, "ab")(w); return nil }); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		name         string
		chunks, gone uint64
	}
	head := func(v uint32, n uint32, entries ...entry) func(w *snapshot.Writer) {
		return func(w *snapshot.Writer) {
			w.Begin(sectionHead)
			w.U32(v)
			w.U32(n)
			for _, e := range entries {
				w.Text(e.name)
				w.U64(e.chunks)
				w.U64(e.gone)
			}
		}
	}
	is := entry{good, 2, 1}
	for name, c := range map[string]struct {
		head, block func(w *snapshot.Writer)
		limit       uint64
	}{
		"":                   {head(1, 1, is), block([]uint64{4}, []uint64{1}, "x"), 9},
		"version":            {head(2, 1, is), none, 9},
		"too few blocks":     {head(1, 2, is), none, 9},
		"too many blocks":    {head(1, 0, is), none, 9},
		"endless":            {head(1, 1<<31, is), none, 9},
		"name":               {head(1, 1, entry{"tokens-../../etc/passwd!", 2, 0}), none, 9},
		"other name":         {head(1, 1, entry{"words", 2, 0}), none, 9},
		"twice":              {head(1, 2, is, is), none, 9},
		"missing":            {head(1, 1, entry{newName(), 2, 0}), none, 9},
		"other count":        {head(1, 1, entry{good, 3, 0}), none, 9},
		"more gone":          {head(1, 1, entry{good, 2, 3}), none, 9},
		"above the limit":    {head(1, 1, is), block([]uint64{4}, []uint64{1}, "x"), 4},
		"own before blocks":  {head(1, 1, is), block([]uint64{3}, []uint64{1}, "x"), 9},
		"ids out of order":   {head(1, 0), block([]uint64{5, 4}, []uint64{0, 1}, "x"), 9},
		"ends out of order":  {head(1, 0), block([]uint64{4, 5}, []uint64{2, 1}, "x"), 9},
		"end behind codes":   {head(1, 0), block([]uint64{4, 5}, []uint64{1, 7}, "x"), 9},
		"codes of no chunk":  {head(1, 0), block(nil, nil, "x"), 9},
		"fewer ends":         {head(1, 0), block([]uint64{4, 5}, []uint64{1}, "x"), 9},
		"without own chunks": {head(1, 0), func(*snapshot.Writer) {}, 9},
		"without a head":     {func(*snapshot.Writer) {}, none, 9},
	} {
		f, err := d.write(Kind, func(w *snapshot.Writer) error { c.head(w); c.block(w); return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(f, c.limit, func(name string) (*snapshot.File, error) {
			f, err := d.open(name)
			if err != nil {
				err = fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			return f, err
		})
		if name == "" && err != nil || name != "" && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBlockName(t *testing.T) {
	name := newName()
	if got := BlockName(filepath.Join("x", name+".snap")); got != name || newName() == name {
		t.Errorf("%q", got)
	}
	for _, other := range []string{"tokens.snap", "tokens-1.snap", name, "words.snap", name + ".snap.lexsem-tmp-1"} {
		if got := BlockName(other); got != "" {
			t.Errorf("%q is %q", other, got)
		}
	}
}
