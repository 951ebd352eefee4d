package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGate counts what one bit of each component of an edge would save: how many
// vectors a search compares by int8 codes, and how many it would if it first
// estimated, by the signs of an edge, how near the neighbour it leads to is. It
// takes minutes, and vectors of real texts (cosine):
//
//	lexsem embed --format fbin --out base.fbin TEXTS.jsonl
//	LEXSEM_GATE_BASE=base.fbin LEXSEM_GATE_QUERIES=a.fbin,b.fbin go test -v -timeout 60m -run 'TestGate$' ./index
//
// Each line tells recall@10 against the exact scan, and of a query in the mean: comparisons on
// layer 0 ("walk"), those before it ("descent"), nodes whose links were read ("expanded").
func TestGate(t *testing.T) {
	base := os.Getenv("LEXSEM_GATE_BASE")
	if base == "" {
		t.Skip("takes minutes; set LEXSEM_GATE_BASE and LEXSEM_GATE_QUERIES to .fbin files")
	}
	rows, dim := readGate(t, base)
	n := len(rows) / dim
	if n < 2048 { // the most pivots that are chosen
		t.Fatalf("%s has %d vectors; name a file of 2,048 at least", base, n)
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i)
	}
	built := map[string]Index{}
	for _, kind := range []string{KindFlat, KindHNSWInt8} {
		ix, err := New(kind, Options{Dim: dim, Seed: 1})
		if err == nil {
			err = ix.Add(ids, rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		built[kind] = ix
	}
	h := built[KindHNSWInt8].(*hnsw)
	h.pivots = pivots{} // the trial goes down the layers
	links := 0
	for i := range n {
		links += len(h.links(uint32(i), 0))
	}
	t.Logf("%d vectors, %.1f links on layer 0", n, float64(links)/float64(n))
	for _, name := range strings.Split(os.Getenv("LEXSEM_GATE_QUERIES"), ",") {
		q, d := readGate(t, name)
		if d != dim {
			t.Fatalf("%s has dimension %d, not %d", name, d, dim)
		}
		g := &gateTrial{h: h, dim: dim, queries: q, mem: h.mem.Load(), w: newWalker(h)}
		g.w.mem = g.mem
		for i := 0; i < len(q); i += dim {
			near, err := built[KindFlat].Search(nil, q[i:i+dim], SearchOptions{K: 10})
			if err != nil {
				t.Fatal(err)
			}
			g.worst = append(g.worst, near[len(near)-1].Distance)
		}
		g.report(t, name)
	}
}

func readGate(t *testing.T, path string) (rows []float32, dim int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 8 {
		t.Fatalf("%s is no .fbin file", path)
	}
	n, d := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	b = b[8:]
	if len(b) != 4*n*d {
		t.Fatalf("%s is no .fbin file", path)
	}
	rows = make([]float32, n*d)
	for i := range rows {
		rows[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return rows, d
}

// gateTrial walks a graph as a search does, and counts.
type gateTrial struct {
	h       *hnsw
	dim     int
	mem     *memory
	w       *walker
	queries []float32
	worst   []float32 // the true distance of the tenth of each query

	turn  func(dst, x []float32) // the rotation
	size  int                    // of what it makes
	rows  []float32              // the vectors, rotated
	bits  int                    // of a component of the query, rotated; 0 for floats
	turnq []float32              // the query, rotated
	bar   []float32              // less the node that is expanded
	eps   float64                // negative: no gate
	above bool                   // the gate on the upper layers too

	pivots []uint32
	signs  []float32 // of what the pivots are beyond their mean, as ±f
	mean   []float32
	along  []float32 // <pivot - mean, mean>

	walked, descended, expanded int
}

func (g *gateTrial) report(t *testing.T, name string) {
	efs := []int{16, 24, 32, 48, 64}
	g.rotate("overlapping")
	line := func(what string, start func(q *query) []cand, ef int) {
		recall := g.run(t, start, ef)
		n := float64(len(g.worst))
		t.Logf("%s | %s | ef %d | recall %.4f | walk %.1f | descent %.1f | expanded %.1f", name, what, ef, recall,
			float64(g.walked)/n, float64(g.descended)/n, float64(g.expanded)/n)
	}
	g.eps = -1
	for _, ef := range efs {
		line("today", g.descend, ef)
	}
	for _, g.eps = range []float64{1, 1.5, 1.9} {
		for _, ef := range efs {
			line(fmt.Sprintf("gate %.1f", g.eps), g.descend, ef)
		}
	}
	g.eps, g.above = 1, true
	for _, ef := range efs {
		line("gate 1.0, in the descent too", g.descend, ef)
	}
	g.above = false
	for _, rotation := range []string{"none", "blocks", "padded"} {
		g.rotate(rotation)
		line("gate 1.0, rotation "+rotation, g.descend, 24)
	}
	g.rotate("overlapping")
	for _, g.bits = range []int{8, 6, 4} {
		line(fmt.Sprintf("gate 1.0, query of %d bits", g.bits), g.descend, 24)
	}
	g.bits = 0
	for _, n := range []int{256, 512, 1024, 2048} {
		g.choosePivots(n)
		for _, best := range []int{1, 4, 8} {
			for _, ef := range []int{16, 24, 48} {
				line(fmt.Sprintf("gate 1.0, best %d of %d pivots", best, n), func(q *query) []cand { return g.sweep(q, best) }, ef)
			}
		}
	}
}

// rotate makes the rotation of that name and rotates all vectors: four rounds of a
// change of signs and Hadamard transforms, which want a power of two of
// components. "blocks" transforms 256 and 128 of 384 by themselves, "padded" makes 512
// of them by zeros, "overlapping" transforms the first 256 and the last 256 in turns.
func (g *gateTrial) rotate(name string) {
	half := 1
	for half*2 <= g.dim {
		half *= 2
	}
	g.size = g.dim
	if name == "padded" && half < g.dim {
		half *= 2
		g.size = half
	}
	r := rand.New(rand.NewPCG(5, 5))
	signs := make([]float32, 4*g.size)
	for i := range signs {
		signs[i] = float32(1 - 2*r.IntN(2))
	}
	g.turn = func(dst, x []float32) {
		clear(dst[copy(dst, x):])
		for round := 0; round < 4 && name != "none"; round++ {
			for j := range dst {
				dst[j] *= signs[round*g.size+j]
			}
			switch {
			case name == "overlapping" && round%2 == 1:
				trialHadamard(dst[g.size-half:])
			case name == "overlapping":
				trialHadamard(dst[:half])
			default:
				for at, part := 0, half; at < g.size; part /= 2 {
					if part <= g.size-at {
						trialHadamard(dst[at : at+part])
						at += part
					}
				}
			}
		}
	}
	n := g.h.n
	g.rows = make([]float32, n*g.size)
	for i := range n {
		g.turn(g.rows[i*g.size:(i+1)*g.size], g.mem.rows.row(uint32(i)))
	}
	g.turnq, g.bar = make([]float32, g.size), make([]float32, g.size)
}

func trialHadamard(x []float32) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			for j := i; j < i+h; j++ {
				x[j], x[j+h] = x[j]+x[j+h], x[j]-x[j+h]
			}
		}
	}
	f := float32(1 / math.Sqrt(float64(len(x))))
	for i := range x {
		x[i] *= f
	}
}

// run asks all queries and returns the recall of the ten nearest.
func (g *gateTrial) run(t *testing.T, start func(q *query) []cand, ef int) float64 {
	g.walked, g.descended, g.expanded = 0, 0, 0
	w, hits := g.w, 0
	for i, worst := range g.worst {
		q := g.queries[i*g.dim : (i+1)*g.dim]
		w.begin(g.h.now, q, SearchOptions{K: 10})
		g.turn(g.turnq, w.q.row)
		if g.bits > 0 {
			top := float32(0)
			for j := 0; j < g.size; j += 4 {
				s := float32(0)
				for _, x := range g.turnq[j : j+4] {
					s += max(x, -x)
				}
				top = max(top, s)
			}
			d := top / (float32(int(1)<<g.bits) - 3)
			for j, x := range g.turnq {
				g.turnq[j] = float32(math.Round(float64(x/d))) * d
			}
		}
		var want []cand
		if g.eps < 0 {
			want = slices.Clone(g.h.pool(w, ef))
		}
		w.anew()
		pool := g.walk(&w.q, start(&w.q), ef)
		if g.eps < 0 && !slices.Equal(pool, want) {
			t.Fatalf("query %d: the trial's walk without a gate is not that of a search", i)
		}
		if _, err := w.offer(pool); err != nil {
			t.Fatal(err)
		}
		for _, near := range w.top.heap {
			if near.Distance <= worst+1e-6 {
				hits++
			}
		}
	}
	return float64(hits) / float64(10*len(g.worst))
}

// walk is walker.walk with the gate.
func (g *gateTrial) walk(q *query, from []cand, ef int) []cand {
	h, w := g.h, g.w
	p := w.pool[:0]
	w.anew()
	for _, c := range from {
		w.visit(c.slot)
		if len(p) < ef || c.d < p[ef-1].d {
			p, _ = insertCand(p, c, ef)
		}
	}
	for i := 0; i < len(p); {
		if p[i].slot&expanded != 0 {
			i++
			continue
		}
		us, next := []cand{p[i]}, i+1
		p[i].slot |= expanded
		if len(p) == ef { // two at once, as walker.walk
			for next < ef && p[next].slot&expanded != 0 {
				next++
			}
			if next < ef {
				us = append(us, p[next])
				p[next].slot |= expanded
				next++
			}
		}
		near := w.near[:0]
		for _, u := range us {
			g.expanded++
			if g.eps >= 0 && len(p) == ef {
				g.from(u.slot)
			}
			for _, s := range h.links(u.slot, 0) {
				if g.eps >= 0 && len(p) == ef && !g.lets(u, s, p[ef-1].d) {
					continue
				}
				if w.visit(s) {
					near = append(near, s)
				}
			}
		}
		w.near = near
		g.walked += len(near)
		for k, d := range w.distances(q, near) {
			if len(p) == ef && d >= p[ef-1].d {
				continue
			}
			var at int
			p, at = insertCand(p, cand{d, near[k]}, ef)
			next = min(next, at)
		}
		i = next
	}
	for i := range p {
		p[i].slot &^= expanded
	}
	w.pool = p
	return p
}

// from makes u the node whose edges lets is asked about.
func (g *gateTrial) from(u uint32) {
	row := g.rows[int(u)*g.size : (int(u)+1)*g.size]
	for i, x := range row {
		g.bar[i] = g.turnq[i] - x
	}
}

// lets says whether the neighbour s of u may be nearer than worst, by the signs
// of the edge. Cosine alone.
func (g *gateTrial) lets(u cand, s uint32, worst float32) bool {
	a, b := g.rows[int(u.slot)*g.size:], g.rows[int(s)*g.size:]
	a, b = a[:g.size], b[:g.size]
	var one, two, dot, along float32
	bar := g.bar[:g.size]
	for i, x := range a {
		r := b[i] - x
		sign := math.Float32bits(r) & (1 << 31)
		one += math.Float32frombits(math.Float32bits(r) &^ (1 << 31))
		two += r * r
		along += r * x
		dot += math.Float32frombits(math.Float32bits(bar[i]) ^ sign)
	}
	if two == 0 {
		return true
	}
	length := math.Sqrt(float64(two))
	c := float64(one) / (math.Sqrt(float64(g.size)) * length)
	est := float64(along) + float64(two/one*dot) // of <r, q>
	dq := math.Sqrt(2 * float64(max(u.d, 0)))
	err := g.eps * length * dq * math.Sqrt((1-c*c)/(c*c)) / math.Sqrt(float64(g.size-1))
	return float64(u.d)-est-err < float64(worst)
}

// descend is walker.descend, with the gate if g.above.
func (g *gateTrial) descend(q *query) []cand {
	h, w := g.h, g.w
	best := cand{w.distance(q, h.entry), h.entry}
	g.descended++
	for layer := h.top; layer > 0; layer-- {
		for moved := true; moved; {
			moved = false
			near := h.links(best.slot, layer)
			if g.above {
				g.from(best.slot)
				near = slices.DeleteFunc(slices.Clone(near), func(s uint32) bool { return !g.lets(best, s, best.d) })
			}
			g.descended += len(near)
			for i, d := range w.distances(q, near) {
				if d < best.d {
					best, moved = cand{d, near[i]}, true
				}
			}
		}
	}
	return []cand{best}
}

// choosePivots takes nodes at random.
func (g *gateTrial) choosePivots(n int) {
	r := rand.New(rand.NewPCG(6, 6))
	g.pivots = g.pivots[:0]
	g.mean, g.along = make([]float32, g.size), make([]float32, n)
	for _, i := range r.Perm(g.h.n)[:n] {
		g.pivots = append(g.pivots, uint32(i))
		for j, x := range g.rows[i*g.size : (i+1)*g.size] {
			g.mean[j] += x / float32(n)
		}
	}
	g.signs = make([]float32, n*g.size)
	for i, s := range g.pivots {
		row, sign := g.rows[int(s)*g.size:], g.signs[i*g.size:]
		var one, two float32
		for j, m := range g.mean {
			r := row[j] - m
			one += max(r, -r)
			two += r * r
			g.along[i] += r * m
		}
		for j, m := range g.mean {
			sign[j] = two / one
			if row[j] < m {
				sign[j] = -two / one
			}
		}
	}
}

// sweep estimates all pivots and compares the best.
func (g *gateTrial) sweep(q *query, best int) []cand {
	var list []cand
	bar := make([]float32, g.size)
	for j, m := range g.mean {
		bar[j] = g.turnq[j] - m
	}
	for i, s := range g.pivots {
		sign := g.signs[i*g.size : (i+1)*g.size]
		est := g.along[i]
		for j, x := range bar {
			est += sign[j] * x
		}
		if c := (cand{-est, s}); len(list) < best || c.d < list[best-1].d {
			list, _ = insertCand(list, c, best)
		}
	}
	near := make([]uint32, len(list))
	for i, c := range list {
		near[i] = c.slot
	}
	g.descended += len(near)
	for i, d := range g.w.distances(q, near) {
		list[i].d = d
	}
	return list
}
