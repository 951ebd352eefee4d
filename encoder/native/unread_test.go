package native

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/provision"
)

// A model that is opened for few texts computes the same bits as another: in its first call, in calls at the same time,
// and after a call that was cancelled; in all kinds of files.
func TestUnreadMatricesComputeTheSame(t *testing.T) {
	m := large(8)
	dirs := map[string]string{"safetensors": folder(t, m, pooling.Mean), "shards": folder(t, m, pooling.Mean), "ONNX": folder(t, m, pooling.Mean)}
	sharded(t, m, dirs["shards"])
	weights := filepath.Join(dirs["ONNX"], fileSafetensors)
	if err := errors.Join(provision.ExportONNX(t.Context(), weights, filepath.Join(dirs["ONNX"], fileConfig), filepath.Join(dirs["ONNX"], fileONNX)), os.Remove(weights)); err != nil {
		t.Fatal(err)
	}
	_, file := packedModel(7)
	dirs["packed"] = packedFolder(t, file)
	maps.Copy(dirs, families(t))
	few, many := []int32{2, 9, 3}, make([]int32, fewTokens+1)
	for i := range many {
		many[i] = int32(3 + i%5)
	}
	for name, dir := range dirs {
		for _, precision := range []string{FP32, Int8} {
			whole, err := load(t.Context(), dir, Options{Precision: precision})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if whole.file != nil {
				defer whole.file.Close()
			}
			run := func(m *model, ids []int32) []float32 {
				ids = ids[:min(len(ids), m.positions)]
				x, err := m.forward(t.Context(), new(buffers), ids, nil, []int{len(ids)})
				if err != nil {
					t.Fatalf("%s, %s: %v", name, precision, err)
				}
				return x
			}
			want := map[int][]float32{len(few): run(whole, few), len(many): run(whole, many)}
			for _, calls := range [][][]int32{{few, few, many, few}, {many, few}} {
				m, err := load(t.Context(), dir, Options{Precision: precision, Late: true})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if lazy := m.unread != nil && m.layers[0].qkv.w == nil; lazy != (precision == FP32) {
					t.Errorf("%s, %s: matrices are left in the file: %v", name, precision, lazy)
				}
				for i, ids := range calls {
					for n := range 6 { // looks at the context
						if i != 1 {
							break
						}
						x := many[:min(len(many), m.positions)]
						if _, err := m.forward(&checks{t.Context(), n}, new(buffers), x, nil, []int{len(x)}); err != nil && !errors.Is(err, context.Canceled) {
							t.Fatal(err)
						}
					}
					if got := run(m, ids); !slices.Equal(got, want[len(ids)]) {
						t.Errorf("%s, %s: call %d of %d: other states", name, precision, i+1, len(calls))
					}
				}
				if m.file == nil {
					continue
				}
				if err := m.file.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A short first call borrows the memory of one layer, the next keeps all. Calls at the same time wait for each other,
// no longer than their contexts.
func TestUnreadMatricesAreKeptBySecondCall(t *testing.T) {
	m, err := load(t.Context(), folder(t, large(5), pooling.Mean), Options{Precision: FP32, Late: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.file.Close()
	ids := []int32{2, 9, 3}
	kept := func() (n int) {
		for i := range m.layers {
			for _, l := range m.layers[i].linears() {
				if l.w != nil {
					n++
				}
			}
		}
		return n
	}
	for i, want := range []int{0, 4 * len(m.layers)} {
		if _, err := m.forward(t.Context(), new(buffers), ids, nil, []int{3}); err != nil || kept() != want {
			t.Fatalf("after call %d: %d matrices in memory, want %d, %v", i+1, kept(), want, err)
		}
	}
	other, err := load(t.Context(), folder(t, large(5), pooling.Mean), Options{Precision: FP32, Late: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.file.Close()
	other.unread.turn <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := other.forward(ctx, new(buffers), ids, nil, []int{3}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another call reads: %v", err)
	}
	<-other.unread.turn
	want, err := m.forward(t.Context(), new(buffers), ids, nil, []int{3})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := other.forward(t.Context(), new(buffers), ids, nil, []int{3}); err != nil || !slices.Equal(got, want) {
				t.Errorf("beside others: other states, %v", err)
			}
		})
	}
	wg.Wait()
}

// A file that becomes shorter is an error of the call that reads it.
func TestUnreadMatricesOfACutFile(t *testing.T) {
	dir := folder(t, large(5), pooling.Mean)
	o := Options{Late: true, Probes: filepath.Join(t.TempDir(), "p.json")}
	open(t, dir, o)
	e := open(t, dir, o) // which knows its probe vectors
	path := filepath.Join(dir, fileSafetensors)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Skipf("an open file cannot be cut here: %v", err)
	}
	for range 2 {
		if _, err := e.Encode(t.Context(), encoder.Query, encoder.Texts("red"), encoder.NeedDense); !errors.Is(err, ErrModel) {
			t.Errorf("a file that became shorter: %v", err)
		}
	}
}

// The probe vectors of a file are taken only while nothing has changed that they depend on, and a file that is of no
// use is written anew.
func TestProbes(t *testing.T) {
	dir, path := folder(t, large(8), pooling.Mean), filepath.Join(t.TempDir(), "probes", "p.json")
	want := open(t, dir, Options{}).Fingerprint()
	mark := func() { // changes the vectors of the file, to see whether they are taken
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(raw, '[') + 2
		for raw[at] < '1' || raw[at] > '9' {
			at++
		}
		raw[at] = '1' + (raw[at]-'1'+1)%9
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same := func(o Options) bool {
		got := open(t, dir, o).Fingerprint()
		if err := encoder.Check("x", got, got); err != nil {
			t.Fatal(err)
		}
		return slices.Equal(got.Probe[0], want.Probe[0])
	}
	real := dir
	dir = filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, dir); err != nil {
		dir = real
	}
	o := Options{Probes: path}
	if !same(o) {
		t.Fatal("without a file: other vectors")
	}
	if mark(); same(o) {
		t.Error("the file is not read")
	}
	later := time.Now().Add(time.Hour)
	copied := func(text string) error { // as with cp -p
		file := filepath.Join(dir, "README.md")
		return errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, later, later))
	}
	if err := copied("first text"); err != nil || !same(o) {
		t.Fatalf("a new file: the vectors of before are taken; %v", err)
	}
	for name, change := range map[string]func() error{
		"weights":                   func() error { return os.Chtimes(filepath.Join(dir, fileSafetensors), later, later) },
		"of the same size and time": func() error { return copied("other text") },
		"a file":                    func() error { return os.WriteFile(filepath.Join(dir, "more.json"), nil, 0o600) },
		"damaged":                   func() error { return os.Truncate(path, 100) },
		"of other size":             func() error { return os.WriteFile(path, []byte(`{"of":"","probes":[[1],[1],[1],[1]]}`), 0o600) },
	} {
		mark()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if !same(o) {
			t.Errorf("%s: the vectors of before are taken", name)
		}
		if !same(o) {
			t.Errorf("%s: written wrongly", name)
		}
	}
	if dir != real {
		other := folder(t, large(9), pooling.Mean)
		was := want
		want = open(t, other, Options{}).Fingerprint()
		if err := errors.Join(os.Remove(dir), os.Symlink(other, dir)); err != nil {
			t.Fatal(err)
		}
		if !same(o) {
			t.Error("the link to the model has another target: the vectors of before are taken")
		}
		dir, want = real, was
		same(o)
	}
	if mark(); same(Options{Probes: path, MaxTokens: 5}) {
		t.Error("of texts that are cut: the vectors of whole ones")
	}
	for i := range 300 { // more than a model has
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i%26))+string(rune('a'+i/26))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !same(o) {
		t.Error("in a large folder: other vectors")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a large folder a file is written: %v", err)
	}
}
