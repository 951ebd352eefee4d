package index

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
	"github.com/lexsem/lexsem/internal/vec"
)

// compact makes a compact index of n random vectors, a few of them far longer
// than the others or far shorter, one with a component that outweighs the rest.
func compact(t *testing.T, n, dim int, metric string, sizes []float32) (*hnsw, []float32) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	rows, ids := make([]float32, n*dim), make([]uint64, n)
	for i := range n {
		ids[i] = uint64(i)
		for j := range dim {
			rows[i*dim+j] = float32(r.NormFloat64()) * sizes[i%len(sizes)]
		}
	}
	rows[5*dim] = 50
	x, err := New(KindHNSWCompact, Options{Dim: dim, Metric: metric, EfConstruction: 40})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add(ids, rows); err != nil {
		t.Fatal(err)
	}
	return x.(*hnsw), rows
}

// decoded is a row as its codes have it.
func (c *codes) decoded(slot uint32) []float32 {
	codes, row := make([]int8, c.width()), make([]float32, c.width())
	vec.UnpackInt4(codes, c.rows.row(slot))
	for i, k := range codes {
		row[i] = c.scales.row(slot)[0] * float32(k)
	}
	return row
}

// TestCompactBound asks scans with what the codes of a row have lost, in whose direction they err
// most: no row may be nearer than its bound, nor farther, and bounds are as near as what is lost allows.
func TestCompactBound(t *testing.T) {
	const n, dim = 120, 33
	for _, metric := range Metrics() {
		h, _ := compact(t, n, dim, metric, []float32{1, 3e-2, 40, 1e-25})
		x := h.now.mem
		s := newScanner(x, nil)
		for asked := range uint32(n) {
			q := make([]float32, dim)
			copy(q, x.rows.row(asked))
			if lost := x.codes.decoded(asked); asked%3 > 0 {
				vec.Axpy(q, -1, lost[:dim])
			}
			if asked%3 == 2 {
				vec.Axpy(q, .5, x.rows.row((asked+1)%n))
			}
			ids, truth := make([]uint64, n), make([]float32, n)
			for i := range ids {
				ids[i] = x.id(uint32(i))
			}
			if err := h.Scores(truth, q, ids); err != nil {
				t.Fatal(err)
			}
			s.begin(h.now, q, SearchOptions{K: n})
			if err := s.scan(); err != nil {
				t.Fatal(err)
			}
			if len(s.near) != n {
				t.Fatalf("%d of %d", len(s.near), n)
			}
			for _, m := range s.near {
				if d, high := truth[m.slot], m.low+2*s.err(m.slot); d < m.low || d > high*(1+1e-6)+1e-6 {
					t.Fatalf("%s: distance %g of %d from %d is not within %g and %g", metric, d, m.slot, asked, m.low, high)
				}
				lost := append([]float32(nil), x.rows.row(m.slot)...)
				vec.Axpy(lost, -1, x.codes.decoded(m.slot)[:dim])
				norm := x.codes.norm(m.slot)
				most := s.decoded*(vec.Norm(lost)+vec.LostInt4*norm) + s.perNorm*norm + 1e-6*(s.q.norm*s.q.norm+norm*norm)
				if err := s.err(m.slot); err > most*1.001 {
					t.Fatalf("%s: the codes of %d are said to err by %g, by what they lose at most %g", metric, m.slot, err, most)
				}
			}
		}
	}
}

// TestCompactDoubt holds doubt to be three deviations of how codes tell two rows apart.
func TestCompactDoubt(t *testing.T) {
	const n, dim = 400, 96
	for _, metric := range Metrics() {
		h, rows := compact(t, n, dim, metric, []float32{1})
		x := h.mem.Load()
		w := newWalker(h)
		w.mem = x
		w.begin(h.now, rows[9*dim:10*dim], SearchOptions{K: 1})
		some := []uint32{17, 3, 44, 5, 60, 9, 1}
		for n := range some {
			all := append([]float32(nil), w.distances(&w.q, some[:n+1])...)
			for i, d := range all {
				if one := w.distance(&w.q, some[i]); one != d {
					t.Fatalf("%s: distance %d of %d is %g, by itself %g", metric, i, n+1, d, one)
				}
			}
		}
		var sum, beyond, pairs float64
		for i := 10; i < n; i += 3 { // the first rows are special
			w.begin(h.now, rows[(i-1)*dim:i*dim], SearchOptions{K: 1})
			slots := []uint32{uint32(i), uint32((i + 7) % n)}
			if slots[1] == 5 {
				continue
			}
			told := append([]float32(nil), w.distances(&w.q, slots)...)
			truth := make([]float32, 2)
			if err := h.Scores(truth, w.q.row, []uint64{x.id(slots[0]), x.id(slots[1])}); err != nil {
				t.Fatal(err)
			}
			off := float64((told[1] - told[0]) - (truth[1] - truth[0]))
			share := off / float64(x.codes.doubt(&w.q, slots[0]))
			sum += share * share
			pairs++
			if math.Abs(share) > 1 {
				beyond++
			}
		}
		if rms := math.Sqrt(sum / pairs); rms < .25 || rms > .4 || beyond/pairs > .02 {
			t.Errorf("%s: doubt is %.2f deviations, and %g of %g pairs are beyond", metric, 1/rms, beyond, pairs)
		}
	}
}

// TestCompactMemory holds an index that was opened to what it may take beside the
// float32 vectors.
func TestCompactMemory(t *testing.T) {
	const n, dim = 8192, 16
	h, _ := compact(t, n, dim, Cosine, []float32{1})
	var buf bytes.Buffer
	w := snapshot.NewWriter(&buf, snapshot.Header{Kind: "vectors", Version: 1})
	if err := errors.Join(h.Save(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Parse(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	o := h.o
	x, err := Open(KindHNSWCompact, o, f)
	if err != nil {
		t.Fatal(err)
	}
	m := x.Bytes()
	if codes := m.Codes; codes != n*(dim/2+4+1) {
		t.Errorf("codes take %g bytes a vector", float64(codes)/n)
	}
	if each := float64(m.Total()-m.Vectors) / n; each > .5*dim+146 {
		t.Errorf("%.1f bytes a vector: %+v", each, m)
	}
	data := snapshottest.Rewritten(t, buf.Bytes(), append(graphTags, tagLosts), func(i int, payload []byte) []byte {
		if i == len(graphTags) {
			payload[77] = 0xff
		}
		return payload
	})
	if f, err = snapshot.Parse(data); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(KindHNSWCompact, o, f); !errors.Is(err, ErrCorrupt) {
		t.Errorf("less than nothing is lost: %v", err)
	}
}

// TestCompactRecall asks for what int8 codes find at the same width and links.
func TestCompactRecall(t *testing.T) {
	const n, dim, k = 3000, 128, 10
	h, rows := compact(t, n, dim, Cosine, []float32{1})
	if h.o.M != 12 {
		t.Errorf("M is %d", h.o.M)
	}
	eight, err := New(KindHNSWInt8, Options{Dim: dim, M: 12, EfConstruction: 40})
	if err != nil {
		t.Fatal(err)
	}
	if err := eight.Add(pivotIDs(0, n), rows); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for i := range 100 {
		q := append([]float32(nil), rows[i*29*dim:(i*29+1)*dim]...)
		vec.Axpy(q, .7, rows[(i*29+1)*dim:(i*29+2)*dim])
		want, err := h.base.Search(nil, q, SearchOptions{K: k})
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string]Index{"four": h, "eight": eight} {
			got, err := x.Search(nil, q, SearchOptions{K: k, Ef: 24})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range got {
				for _, b := range want {
					if a.ID == b.ID {
						found[name]++
					}
				}
			}
		}
	}
	t.Log(fmt.Sprint(found))
	if found["four"] < found["eight"]*97/100 {
		t.Errorf("%d are found by codes of four bits, %d by bytes", found["four"], found["eight"])
	}
}
