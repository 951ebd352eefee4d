package ann

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/bench/vectors"
)

func TestExactIndexFindsAll(t *testing.T) {
	for _, deleted := range []float64{0, .3} {
		r, err := Run(context.Background(), Options{Index: "flat", N: 800, NumQueries: 50, Dim: 24, Delete: deleted, Threads: 2, timed: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Points) != 1 || r.N != 800 || r.Dim != 24 || r.Deleted != int(deleted*800) {
			t.Fatalf("report is %+v", r)
		}
		p := r.Points[0]
		if p.Recall != 1 || p.Panics != 0 || p.Ghosts != 0 || p.QPS <= 0 || p.CPU <= 0 || p.P50 <= 0 || p.P99 < p.P50 {
			t.Errorf("deleted %v: %+v", deleted, p)
		}
		if r.BytesPerVector < 24*4 || r.BytesPerVector > 24*4*10 {
			t.Errorf("%v bytes a vector of 24 floats", r.BytesPerVector)
		}
	}
}

// TestEveryIndexOfOursFinds holds each kind to a recall that any sound index
// reaches on so few vectors.
func TestEveryIndexOfOursFinds(t *testing.T) {
	for _, kind := range index.Kinds() {
		r, err := Run(context.Background(), Options{Index: kind, N: 1000, NumQueries: 50, Dim: 24, Delete: .2, Ef: []int{64}, timed: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Points[0]; p.Recall < .95 || p.Panics != 0 || p.Ghosts != 0 {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}

// TestANNInAFolder builds in steps that do not go into the number of vectors, on files that are mapped.
func TestANNInAFolder(t *testing.T) {
	dir := t.TempDir()
	o := Options{Index: "hnsw-int8", N: 2500, NumQueries: 50, Dim: 24, Ef: []int{1, 200}, Dir: dir, Step: 900, Threads: 2, timed: time.Millisecond}
	var built []int
	o.Progress = func(p bench.Progress) {
		if p.Stage == "build" {
			built = append(built, p.Done)
		}
	}
	r, err := Run(context.Background(), o)
	if err != nil || !slices.Equal(built, []int{900, 1800, 2500}) {
		t.Fatal(built, err)
	}
	if few, many := r.Points[0], r.Points[1]; few.Recall > .99 || many.Recall < .99 || many.CPU <= 0 {
		t.Errorf("recall of few and many candidates: %+v", r.Points)
	}
	if r.OpenSeconds <= 0 || r.SaveSeconds <= 0 || r.BytesPerVector < 24*5 || r.BytesPerVector > 24*5*5 {
		t.Errorf("report is %+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(p bench.Progress) {
		if p.Stage == "build" && p.Done > 900 {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	built = nil
	o.Progress = func(p bench.Progress) {
		if p.Stage == "build" {
			built = append(built, p.Done)
		}
	}
	again, err := Run(context.Background(), o)
	if err != nil || !slices.Equal(built, []int{2500}) {
		t.Fatalf("what was ended did not go on: %v, %v", built, err)
	}
	if few, many := again.Points[0], again.Points[1]; few.Recall > .99 || many.Recall < .99 || again.BytesPerVector > 1.1*r.BytesPerVector {
		t.Errorf("what was ended finds less: %+v", again)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestANNInAFolderOfOthers: of what a folder has, a run takes what is whole and was made with its options. What a process that was killed has
// left of a file goes; two processes do not build one index.
func TestANNInAFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	o := Options{Index: "hnsw-int8", N: 300, NumQueries: 5, Dim: 8, Ef: []int{20}, Dir: dir, Step: 100, timed: time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(p bench.Progress) {
		if p.Stage == "build" && p.Done == 200 {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Progress = nil
	o, _, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBuilt(o)
	if err != nil || b.Done != 200 {
		t.Fatalf("%+v, %v", b, err)
	}
	if _, err := Run(context.Background(), o); !errors.Is(err, bench.ErrOption) {
		t.Errorf("another process builds: %v", err)
	}
	if err := b.close(false); err != nil {
		t.Fatal(err)
	}
	index, state := b.index(200), b.state()
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := func(s string) func() { return func() { write(state, []byte(s)) } }
	for what, damage := range map[string]func(){
		"an index that is cut":          func() { write(index, good[:len(good)/2]) },
		"an index that is not there":    func() { write(index, good); write(state, []byte(`{"done":300}`)) },
		"an index of others":            func() { write(b.index(100), good); write(state, []byte(`{"done":100}`)) },
		"more than there are":           text(`{"done":400}`),
		"less than none":                text(`{"done":-100}`),
		"a state that is cut":           text(`{"do`),
		"an index that is another file": func() { write(index, []byte("x")) },
	} {
		write(index, good)
		write(state, []byte(`{"done":200}`))
		damage()
		if r, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "to build anew") || !strings.Contains(err.Error(), b.dir) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	write(index, good)
	write(state, []byte(`{"done":200}`))
	left := filepath.Join(b.dir, "300.snap"+atomicfile.Mark+"1")
	write(left, good)
	if b, err = openBuilt(o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a kill has left is there: %v", err)
	}
	if err := b.close(false); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Seed = 2
	if r, err := Run(context.Background(), other); err != nil || r.Points[0].Recall < .9 {
		t.Errorf("of another seed: %+v, %v", r, err)
	}
	if r, err := Run(context.Background(), o); err != nil || r.Points[0].Recall < .9 {
		t.Errorf("beside that of another seed: %+v, %v", r, err)
	}
}

// TestANNOfDamage: a distance that cannot be had ends the measurement; it is no neighbour that was missed.
func TestANNOfDamage(t *testing.T) {
	base, queries := vectors.TextLike(50, 2, 8, 1)
	ix, err := index.New(index.KindFlat, index.Options{Dim: 8})
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Add([]uint64{1}, base.Row(1)); err != nil {
		t.Fatal(err)
	}
	m := measurement{ix: ix, queries: queries, worst: make([]float32, 2), alive: 50, distance: func(int, uint64) (float32, error) { return 0, index.ErrCorrupt }}
	if _, err := m.point(t.Context(), 10); !errors.Is(err, index.ErrCorrupt) {
		t.Errorf("damage: %v", err)
	}
}

func TestANNFromFiles(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, write func(f *os.File) error) string {
		name = filepath.Join(dir, name)
		if err := atomicfile.Write(name, write); err != nil {
			t.Fatal(err)
		}
		return name
	}
	base, queries := vectors.TextLike(300, 20, 16, 5)
	for i := range base.Data { // lengths do not matter by cosine
		base.Data[i] *= 7
	}
	b := save("base.fbin", func(f *os.File) error { return vectors.Write(f, base) })
	q := save("queries.fbin", func(f *os.File) error { return vectors.Write(f, queries) })
	o := Options{Base: b, Queries: q, Index: "flat", timed: time.Millisecond}
	r, err := Run(context.Background(), o)
	if err != nil || r.N != 300 || r.Dim != 16 || r.Queries != 20 || r.Points[0].Recall != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	// A truth that names far vectors as the nearest makes everything right; one
	// that names ten copies of the single nearest leaves one right a query.
	truth := &vectors.Truth{K: 10}
	exact, err := index.New(index.KindFlat, index.Options{Dim: 16})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uint64, base.Len())
	for i := range ids {
		ids[i] = uint64(i)
	}
	if err := exact.Add(ids, base.Data); err != nil {
		t.Fatal(err)
	}
	for i := range queries.Len() {
		near, err := exact.Search(nil, queries.Row(i), index.SearchOptions{K: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			truth.IDs = append(truth.IDs, int32(near[0].ID))
		}
	}
	o.Truth = save("truth.ibin", func(f *os.File) error { return writeTruth(f, truth) })
	if r, err = Run(context.Background(), o); err != nil || r.Points[0].Recall != .1 {
		t.Errorf("recall is %+v, %v, want .1 for one right of ten", r, err)
	}
	for name, bad := range map[string]Options{
		"truth of other queries": {Base: b, Queries: b, Truth: o.Truth, Index: "flat"},
		"other dimension":        {Base: b, Queries: save("d.fbin", func(f *os.File) error { return vectors.Write(f, &vectors.Set{Dim: 8, Data: make([]float32, 16)}) }), Index: "flat"},
		"zero vector":            {Base: b, Queries: save("z.fbin", func(f *os.File) error { return vectors.Write(f, &vectors.Set{Dim: 16, Data: make([]float32, 16)}) }), Index: "flat"},
		"few neighbours":         {Base: b, Queries: q, Truth: save("t.ibin", func(f *os.File) error { return writeTruth(f, &vectors.Truth{K: 1, IDs: make([]int32, 20)}) }), Index: "flat"},
	} {
		if _, err := Run(context.Background(), bad); !errors.Is(err, vectors.ErrFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANNRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want error
	}{
		"unknown index":           {Options{Index: "nothing"}, bench.ErrUnknownName},
		"negative n":              {Options{N: -1}, bench.ErrOption},
		"ef of 0":                 {Options{Ef: []int{0}}, bench.ErrOption},
		"no ef":                   {Options{Ef: []int{}}, bench.ErrOption},
		"delete all":              {Options{Delete: 1}, bench.ErrOption},
		"queries without base":    {Options{Queries: "x"}, bench.ErrOption},
		"base without queries":    {Options{Base: "x"}, bench.ErrOption},
		"base that is not":        {Options{Base: "none", Queries: "none"}, os.ErrNotExist},
		"one link a node":         {Options{Index: "hnsw", M: -1}, bench.ErrOption},
		"share is not a number":   {Options{Delete: nan()}, bench.ErrOption},
		"folder, exact":           {Options{Dir: "x", Index: "flat"}, bench.ErrOption},
		"folder, deletes":         {Options{Dir: "x", Index: "hnsw", Delete: .1}, bench.ErrOption},
		"folder, not of ours":     {Options{Dir: "x", Index: "coder"}, bench.ErrOption},
		"folder, one link a node": {Options{Dir: os.TempDir(), Index: "hnsw", M: 1}, bench.ErrOption},
		"folder, negative step":   {Options{Dir: "x", Index: "hnsw", Step: -1}, bench.ErrOption},
		"folder that is not":      {Options{Dir: "none", Index: "hnsw", N: 10}, os.ErrNotExist},
	} {
		if c.o.Index == "" {
			c.o.Index = "flat"
		}
		if _, err := Run(context.Background(), c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func nan() float64 { zero := 0.; return zero / zero }

// TestANNReportJSON holds the names that others read.
func TestANNReportJSON(t *testing.T) {
	r, err := Run(context.Background(), Options{Index: "flat", N: 50, NumQueries: 5, Dim: 8, timed: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"n", "dim", "index", "build_seconds", "build_cpu_seconds", "bytes_per_vector", "points",
		"ef", "recall@10", "qps", "p50_us", "p99_us", "cpu_us", "allocs_per_query", "panics", "ghosts"} {
		if !bytes.Contains(b, []byte(`"`+key+`":`)) {
			t.Errorf("%s is missing in %s", key, b)
		}
	}
}

func TestTextLike(t *testing.T) {
	a, qa := vectors.TextLike(200, 10, 32, 1)
	b, qb := vectors.TextLike(200, 10, 32, 1)
	c, _ := vectors.TextLike(200, 10, 32, 2)
	if string(bits(a)) != string(bits(b)) || string(bits(qa)) != string(bits(qb)) || string(bits(a)) == string(bits(c)) {
		t.Error("the vectors do not depend on the seed alone")
	}
	for i := range a.Len() {
		if d := distance(a.Row(i), a.Row(i)); d > 1e-6 || d < -1e-6 {
			t.Fatalf("vector %d has a length other than 1", i)
		}
	}
}

func bits(v *vectors.Set) []byte {
	var b bytes.Buffer
	vectors.Write(&b, v)
	return b.Bytes()
}

// writeTruth writes a truth in the .ibin layout.
func writeTruth(w io.Writer, t *vectors.Truth) error {
	head := []uint32{uint32(len(t.IDs) / t.K), uint32(t.K)}
	return errors.Join(binary.Write(w, binary.LittleEndian, head), binary.Write(w, binary.LittleEndian, t.IDs))
}
