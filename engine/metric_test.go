package engine_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// Databases where lengths count are held to an oracle: the vectors that were given, each
// compared with the query in float64.

// lengthy is the dimension of its vectors.
const lengthy = 12

// lengths are the metrics under which lengths count.
var lengths = []string{index.Dot, index.L2}

// anyLength is a random vector of a length from 0.01 to 100.
func anyLength(r *rand.Rand) []float32 {
	v := make([]float32, lengthy)
	f := math.Pow(10, 4*r.Float64()-2)
	for i := range v {
		v[i] = float32(f * r.NormFloat64())
	}
	return v
}

type oracle struct {
	metric string
	r      *rand.Rand
	docs   map[string]engine.Document // with the vectors that were given
}

func newOracle(metric string) *oracle {
	return &oracle{metric, rand.New(rand.NewPCG(7, 7)), map[string]engine.Document{}}
}

// doc is document i with a vector of any length, sometimes zero, that another has, or that
// points where another does.
func (o *oracle) doc(i int) engine.Document {
	d := docs(i, i+1)[0]
	d.Vector = anyLength(o.r)
	other, ok := o.docs[fmt.Sprint("d", i-1)]
	switch {
	case i%29 == 0:
		clear(d.Vector)
	case ok && i%17 == 0:
		d.Vector = slices.Clone(other.Vector)
	case ok && i%13 == 0:
		for j, x := range other.Vector {
			d.Vector[j] = 3 * x
		}
	}
	o.docs[d.ID] = d
	return d
}

func (o *oracle) some(lo, hi int) (ds []engine.Document) {
	for i := lo; i < hi; i++ {
		ds = append(ds, o.doc(i))
	}
	return ds
}

// score is that of two vectors, with what rounding may take from it.
func (o *oracle) score(q, v []float32) (s, rounding float64) {
	var dot, l2, qq, vv float64
	for i := range q {
		x, y := float64(q[i]), float64(v[i])
		dot, l2, qq, vv = dot+x*y, l2+(x-y)*(x-y), qq+x*x, vv+y*y
	}
	if o.metric == index.Dot {
		return dot, 1e-5 * math.Sqrt(qq*vv)
	}
	return -l2, 1e-5 * l2
}

func cosineOf(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa) / math.Sqrt(bb)
}

// check holds what a database has and finds to the oracle.
func (o *oracle) check(t *testing.T, e *engine.Engine, when string) {
	t.Helper()
	for id, d := range o.docs {
		got, err := e.Get(t.Context(), id)
		if err != nil || !sameBits(got.Vector, d.Vector) || got.Text != d.Text {
			t.Fatalf("%s: %s has %v, was given %v (%v)", when, id, got.Vector, d.Vector, err)
		}
	}
	for round := range 6 {
		q := engine.Query{Vector: anyLength(o.r), K: 10}
		if round == 5 {
			clear(q.Vector)
		}
		if round%2 == 1 {
			q.Filter = filter.Lt("n", 60)
		}
		o.found(t, when, q, search(t, e, q))
		batch, err := e.SearchBatch(t.Context(), []engine.Query{q, q})
		if err != nil {
			t.Fatal(err)
		}
		o.found(t, when+", in a batch", q, batch[1])
	}
	s, err := e.Stats(t.Context())
	if err != nil || s.Metric != o.metric || s.Default != engine.VariantNone || s.Documents != len(o.docs) || s.TokenStates.Mode != engine.TokenStatesOff {
		t.Fatalf("%s: %+v, %v", when, s, err)
	}
}

// found holds an answer to a query that is a vector to the oracle.
func (o *oracle) found(t *testing.T, when string, q engine.Query, res engine.Result) {
	t.Helper()
	var scores []float64
	for _, d := range o.docs {
		if n := d.Metadata["n"].(int); q.Filter.IsZero() || n < 60 {
			s, _ := o.score(q.Vector, d.Vector)
			scores = append(scores, s)
		}
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	if tr := res.Trace; len(res.Hits) != min(q.K, len(scores)) || tr.Metric != o.metric || tr.Variant != engine.VariantNone || tr.Turned != 1 || tr.Fusion != "" {
		t.Fatalf("%s: %d hits, %+v", when, len(res.Hits), tr)
	}
	for i, h := range res.Hits {
		v := o.docs[h.ID].Vector
		want, rounding := o.score(q.Vector, v)
		if math.Abs(float64(h.Score)-want) > rounding || h.Score != h.Modulated || h.Score == 0 && math.Signbit(float64(h.Score)) {
			t.Fatalf("%s: %s scores %v (%v), want %v", when, h.ID, h.Score, h.Modulated, want)
		}
		if want < scores[i]-rounding-1e-5*math.Abs(scores[i]) {
			t.Fatalf("%s: hit %d is %s with %v, want one with %v", when, i, h.ID, want, scores[i])
		}
		if c := cosineOf(q.Vector, v); math.Abs(float64(h.Cosine)-c) > 1e-5 {
			t.Fatalf("%s: %s has the cosine %v, want %v", when, h.ID, h.Cosine, c)
		}
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestLengthsCount: in databases of dot products and of distances vectors stay as they
// were given, and are compared so, through all that a database goes through.
func TestLengthsCount(t *testing.T) {
	t.Parallel()
	for _, metric := range lengths {
		for _, kind := range []string{"", index.KindFlat, index.KindHNSWInt8} {
			t.Run(metric+kind, func(t *testing.T) {
				t.Parallel()
				livesWithLengths(t, metric, kind)
			})
		}
	}
}

func livesWithLengths(t *testing.T, metric, kind string) {
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	o := newOracle(metric)
	made := engine.Options{Dim: lengthy, Metric: metric, Index: kind}
	again := engine.Options{Index: kind}

	e := openWith(t, dir("db"), nil, made)
	add(t, e, o.some(0, 150))
	o.check(t, e, "added")

	// The same direction at another length is another vector.
	d := o.docs["d7"]
	if r, err := e.Upsert(t.Context(), []engine.Document{d}); err != nil || r.Unchanged != 1 {
		t.Fatalf("the same again: %+v, %v", r, err)
	}
	d.Vector = slices.Clone(d.Vector)
	for i := range d.Vector {
		d.Vector[i] *= 2
	}
	o.docs["d7"] = d
	if r, err := e.Upsert(t.Context(), append(o.some(140, 160), d)); err != nil || r.Replaced != 10 || r.Added != 10 || r.Unchanged != 1 { // one was zero and is again
		t.Fatalf("replaced: %+v, %v", r, err)
	}
	if _, err := e.Patch(t.Context(), []engine.Patch{{ID: "d9", Metadata: map[string]any{"more": true}}}); err != nil {
		t.Fatal(err)
	}
	drop := func(ids ...string) {
		t.Helper()
		if n, err := e.Delete(t.Context(), ids); err != nil || n != len(ids) {
			t.Fatal(n, err)
		}
		for _, id := range ids {
			delete(o.docs, id)
		}
	}
	drop("d3", "d58", "d150")
	o.check(t, e, "changed")
	closeIt(t, e)

	opening := again
	opening.Progress = func(p engine.Progress) {
		if p.Stage == "rebuild" {
			t.Errorf("opening makes something anew: %+v", p)
		}
	}
	e = openWith(t, dir("db"), nil, opening)
	o.check(t, e, "reopened")
	if _, err := os.Stat(filepath.Join(dir("db"), "derived", "sums.snap")); !os.IsNotExist(err) {
		t.Errorf("sums were saved: %v", err)
	}
	add(t, e, o.some(200, 220))
	drop("d10")
	// A kill leaves what is on disk: commits come back from the log, behind the snapshots.
	if err := os.CopyFS(dir("killed"), os.DirFS(dir("db"))); err != nil {
		t.Fatal(err)
	}
	killed := openWith(t, dir("killed"), nil, again)
	o.check(t, killed, "after a kill")
	closeIt(t, killed)
	if err := os.RemoveAll(filepath.Join(dir("killed"), "derived")); err != nil {
		t.Fatal(err)
	}
	killed = openWith(t, dir("killed"), nil, again)
	o.check(t, killed, "without derived state")
	closeIt(t, killed)

	if kind == "" || trial.Long() { // no way out reads the index
		o.waysOut(t, e, dir)
	}
	if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 || r.Vectors != len(o.docs) || r.Sampled != len(o.docs) || r.SelfRecall != 1 || r.Sums+r.Cells != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	o.fused(t, e)
	closeIt(t, e)
}

// waysOut exports, backs up and compacts a database, and holds what comes of it to the oracle.
func (o *oracle) waysOut(t *testing.T, e *engine.Engine, dir func(name string) string) {
	t.Helper()
	var out bytes.Buffer
	if n, err := e.Export(t.Context(), &out, archive.ExportOptions{Vectors: true}); err != nil || n != len(o.docs) {
		t.Fatal(n, err)
	}
	x, err := archive.NewExported(bytes.NewReader(out.Bytes()))
	if err != nil || x.Metric != o.metric {
		t.Fatalf("an export of metric %q: %v", x.Metric, err)
	}
	if err := x.Create(t.Context(), dir("imported")); err != nil {
		t.Fatal(err)
	}
	imported := openWith(t, dir("imported"), nil, engine.Options{})
	if r, err := imported.Import(t.Context(), x); err != nil || r.Added != len(o.docs) {
		t.Fatalf("%+v, %v", r, err)
	}
	o.check(t, imported, "imported")
	closeIt(t, imported)

	backup := dir("db.backup")
	if _, err := e.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	add(t, e, o.some(230, 240))
	if r, err := e.Backup(t.Context(), backup); err != nil || r.Part != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	raw, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Restore(t.Context(), dir("restored"), bytes.NewReader(raw), archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	restored := openWith(t, dir("restored"), nil, engine.Options{})
	o.check(t, restored, "restored")
	closeIt(t, restored)

	if err := e.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.check(t, e, "compacted")
}

// fused holds hybrid searches to the sum of reciprocal ranks, and MinScore and Explain to
// the scores.
func (o *oracle) fused(t *testing.T, e *engine.Engine) {
	t.Helper()
	q := engine.Query{Text: text(31), Vector: anyLength(o.r), K: 200}
	want := map[string]float64{}
	for _, mode := range []string{engine.ModeDense, engine.ModeLexical} {
		leg := q
		leg.Mode = mode
		for _, h := range search(t, e, leg).Hits {
			want[h.ID] += 1 / float64(60+h.Rank)
		}
	}
	res := search(t, e, q)
	if res.Trace.Fusion != fusion.RRF || res.Trace.Mode != engine.ModeHybrid || len(res.Hits) != len(o.docs) {
		t.Fatalf("%d hits, %+v", len(res.Hits), res.Trace)
	}
	for _, h := range res.Hits {
		dense, rounding := o.score(q.Vector, o.docs[h.ID].Vector)
		if math.Abs(float64(h.Score)-want[h.ID]) > 1e-6 || math.Abs(float64(h.Modulated)-dense) > rounding {
			t.Fatalf("%s scores %v and %v, want %v and %v", h.ID, h.Score, h.Modulated, want[h.ID], dense)
		}
	}
	if x, err := e.Explain(t.Context(), q, res.Hits[0].ID); err != nil || x.Rank != 1 || len(x.Terms) != 0 || len(x.Words) == 0 {
		t.Errorf("%+v, %v", x, err)
	}

	q = engine.Query{Vector: anyLength(o.r), K: 200}
	all := search(t, e, q).Hits
	q.MinScore = all[30].Score
	if some := search(t, e, q).Hits; q.MinScore == 0 || len(some) < 31 || len(some) == len(all) || some[len(some)-1].Score < q.MinScore {
		t.Errorf("%d of %d hits score at least %v", len(some), len(all), q.MinScore)
	}
	x, err := e.Explain(t.Context(), q, all[2].ID)
	if err != nil || x.Rank != 3 || !x.Attributed || float32(x.Plain) != x.Score || x.Bias != 0 || len(x.Tokens)+len(x.Dimensions) != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	if len(x.Terms) != 1 || x.Terms[0].Name != o.metric || x.Terms[0].Weight != 1 || float32(x.Terms[0].Value) != x.Score {
		t.Errorf("%+v", x.Terms)
	}
}

// TestGraphOfLengths: a graph that has taken over finds nearly all that a comparison finds.
func TestGraphOfLengths(t *testing.T) {
	t.Parallel()
	for _, metric := range lengths {
		o := newOracle(metric)
		e := openWith(t, t.TempDir(), nil, engine.Options{Dim: lengthy, Metric: metric, Index: index.KindHNSWInt8})
		ds := o.some(0, 3000)
		for i := range ds {
			ds[i].Text, ds[i].Metadata = "", nil
		}
		add(t, e, ds)
		gone := slices.Sorted(maps.Keys(o.docs))[:300]
		if _, err := e.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		for _, id := range gone {
			delete(o.docs, id)
		}
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		hits, good := 0, 0
		for range 40 {
			q := engine.Query{Vector: anyLength(o.r), K: 10}
			var scores []float64
			for _, d := range o.docs {
				s, _ := o.score(q.Vector, d.Vector)
				scores = append(scores, s)
			}
			slices.Sort(scores)
			worst := scores[len(scores)-q.K]
			for _, h := range search(t, e, q).Hits {
				s, rounding := o.score(q.Vector, o.docs[h.ID].Vector)
				if math.Abs(float64(h.Score)-s) > rounding {
					t.Fatalf("%s: %s scores %v, want %v", metric, h.ID, h.Score, s)
				}
				if hits++; s >= worst-rounding {
					good++
				}
			}
		}
		if hits != 400 || good < 360 {
			t.Errorf("%s: %d of %d hits are among the nearest", metric, good, hits)
		}
		if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 || r.Sampled < 800 || r.SelfRecall < 0.95 {
			t.Errorf("%s: %+v, %v", metric, r, err)
		}
		closeIt(t, e)
	}
}
