package store

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	modelOps  = flag.Int("store.ops", 5000, "operations of the model test")
	modelSeed = flag.Uint64("store.seed", 0, "seed of the model test, 0 for a new one")
)

// model is what the store must equal.
type model struct {
	docs map[string]*Document
	ords map[string]uint64
	next uint64
	seq  uint64
	base uint64
	log  map[uint64][]Change // by seq
}

func (m *model) clone() *model {
	c := *m
	c.docs, c.ords, c.log = maps.Clone(m.docs), maps.Clone(m.ords), maps.Clone(m.log)
	return &c
}

func (m *model) put(d *Document) Change {
	c := Change{ID: d.ID, New: m.next, Old: m.ords[d.ID]}
	m.docs[d.ID], m.ords[d.ID] = d, m.next
	m.next++
	m.log[m.seq+1] = append(m.log[m.seq+1], c)
	return c
}

func (m *model) delete(id string) (Change, bool) {
	old, ok := m.ords[id]
	if !ok {
		return Change{}, false
	}
	delete(m.docs, id)
	delete(m.ords, id)
	c := Change{ID: id, Old: old}
	m.log[m.seq+1] = append(m.log[m.seq+1], c)
	return c, true
}

// check compares everything that can be read.
func (m *model) check(t *testing.T, s *Store) {
	t.Helper()
	if s.Len() != len(m.docs) || s.Seq() != m.seq {
		t.Fatalf("len %d, want %d; seq %d, want %d", s.Len(), len(m.docs), s.Seq(), m.seq)
	}
	if err := s.last.countNew(); err != nil {
		t.Fatalf("an opening after a kill would refuse: %v", err)
	}
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	truncated := 0
	for _, d := range m.docs {
		if d.Truncated > 0 {
			truncated++
		}
	}
	if v.Truncated() != truncated {
		t.Fatalf("%d truncated documents, want %d", v.Truncated(), truncated)
	}
	v.Close()
	byOrd := map[uint64]string{}
	for id, ord := range m.ords {
		byOrd[ord] = id
		if got, ok, err := s.Lookup(id); err != nil || !ok || got != ord {
			t.Fatalf("lookup %q: %d %v %v, want %d", id, got, ok, err, ord)
		}
		if got, err := s.Get(t.Context(), ord); err != nil || !reflect.DeepEqual(got, m.docs[id]) {
			t.Fatalf("get %q: %v\n got %.300v\nwant %.300v", id, err, got, m.docs[id])
		}
	}
	var rows, texts []uint64
	err = s.Scan(ctx, 0, func(ord uint64, rs []Row) error {
		d := m.docs[byOrd[ord]]
		if d == nil || len(rs) != len(d.Rows) {
			return fmt.Errorf("rows of %d differ", ord)
		}
		for i, r := range rs {
			if !slices.Equal(d.Rows[i].Vector, r.Vector) || !slices.Equal(d.Rows[i].Tokens, r.Tokens) {
				return fmt.Errorf("row %d of %d differs", i, ord)
			}
		}
		rows = append(rows, ord)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.ScanDocuments(ctx, 0, func(ord uint64, d *Document) error {
		w := m.docs[byOrd[ord]]
		if w == nil || d.ID != w.ID || d.Title != w.Title || d.Text != w.Text || !bytes.Equal(d.Metadata, w.Metadata) {
			return fmt.Errorf("document %d differs", ord)
		}
		texts = append(texts, ord)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(maps.Keys(byOrd)); !slices.Equal(rows, want) || !slices.Equal(texts, want) {
		t.Fatalf("scans met %d rows and %d texts, want %d", len(rows), len(texts), len(want))
	}
	for after := m.base; after <= m.seq; after += 1 + (m.seq-m.base)/7 {
		got := map[uint64][]Change{}
		if err := s.Log(ctx, after, func(seq uint64, c Change) error { got[seq] = append(got[seq], c); return nil }); err != nil {
			t.Fatal(err)
		}
		for seq := m.base + 1; seq <= m.seq; seq++ {
			if want := m.log[seq]; seq > after && !slices.Equal(got[seq], want) || seq <= after && got[seq] != nil {
				t.Fatalf("log after %d, batch %d: %v, want %v", after, seq, got[seq], want)
			}
		}
	}
}

// TestModel runs random batches, reopenings and compactions against maps.
func TestModel(t *testing.T) {
	t.Parallel()
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -store.seed)", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s := open(t, dir, small)
	m := &model{docs: map[string]*Document{}, ords: map[string]uint64{}, next: 1, log: map[uint64][]Change{}}
	for ops := 0; ops < *modelOps; {
		switch k := r.IntN(100); {
		case k < 4:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, small)
		case k < 10:
			upTo := m.base + r.Uint64N(m.seq-m.base+1)
			if err := s.Compact(ctx, upTo); err != nil {
				t.Fatal(err)
			}
			m.base = upTo
		case k < 14:
			m.check(t, s)
		default:
			after, n := batch(t, s, r, m)
			ops += n
			m = after
		}
	}
	m.check(t, s)
	if r, err := s.Verify(ctx, nil); err != nil || r.Documents != len(m.docs) {
		t.Fatalf("verify %+v %v", r, err)
	}
}

// batch runs one random batch on both and returns the model after it.
func batch(t *testing.T, s *Store, r *rand.Rand, m *model) (*model, int) {
	t.Helper()
	n := m.clone()
	b := begin(t, s)
	size := 1 + r.IntN(40)
	for range size {
		id := fmt.Sprintf("id-%d", r.IntN(300))
		if r.IntN(4) == 0 {
			c, ok, err := b.Delete(ctx, id)
			if wc, wok := n.delete(id); err != nil || ok != wok || c != wc {
				t.Fatalf("delete %q: %+v %v %v, want %+v %v", id, c, ok, err, wc, wok)
			}
			continue
		}
		d := doc(id, r.IntN(1000))
		switch r.IntN(60) {
		case 0: // several parts, more than one transaction
			d.Text = strings.Repeat("long text ", 1+r.IntN(200_000))
			d.Rows[len(d.Rows)-1].End = len(d.Text)
		case 1:
			d.Metadata, d.Title, d.Text, d.Rows = nil, "", "", []Row{{Vector: d.Rows[0].Vector}}
		}
		if c, err := b.Put(ctx, d); err != nil || c != n.put(d) {
			t.Fatalf("put: %+v %v", c, err)
		}
	}
	if r.IntN(5) == 0 {
		if err := b.Discard(); err != nil {
			t.Fatal(err)
		}
		return m, size
	}
	seq, err := b.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(n.log[n.seq+1]) > 0 {
		n.seq++
	}
	if seq != n.seq {
		t.Fatalf("seq %d, want %d", seq, n.seq)
	}
	return n, size
}
