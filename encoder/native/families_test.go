package native

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/testmodel"
	"github.com/lexsem/lexsem/internal/transformer"
	"github.com/lexsem/lexsem/internal/vec"
)

// families unpacks what testdata/record_families.py recorded: folders as model hubs
// have them, by family.
func families(t testing.TB) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/families.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return testmodel.Unpack(t, f)
}

// recordedCase is a text and the reference's states of some of its tokens.
type recordedCase struct {
	IDs    []int32     `json:"ids"`
	At     []int       `json:"at"`
	States [][]float32 `json:"states"`
}

// The states of each family are those that the reference computes, and the same bits
// in any batch.
func TestFamilies(t *testing.T) {
	dirs := families(t)
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			m, err := load(t.Context(), dir, Options{Precision: FP32})
			if err != nil {
				t.Fatal(err)
			}
			var alone [][]float32
			var ids []int32
			var ends []int
			least, far := 1.0, 0.0
			for _, c := range testmodel.Cases[recordedCase](t, dir, 7) {
				x, err := m.forward(t.Context(), new(buffers), c.IDs, nil, []int{len(c.IDs)})
				if err != nil {
					t.Fatal(err)
				}
				for i, at := range c.At {
					got := x[at*m.d : (at+1)*m.d]
					least, far = min(least, encoders.Cosine(got, c.States[i])), max(far, encoders.Distance(got, c.States[i]))
				}
				alone = append(alone, slices.Clone(x))
				ids = append(ids, c.IDs...)
				ends = append(ends, len(ids))
			}
			t.Logf("least cosine %.9f, largest difference %.2g", least, far)
			if !(least >= 0.9999999) || !(far <= 1e-4) {
				t.Errorf("cosine %v and difference %v to the reference, want 0.9999999 or more and 1e-4 or less", least, far)
			}
			// All texts as one batch, in both orders, with buffers that held another one.
			b := new(buffers)
			for range 2 {
				x, err := m.forward(t.Context(), b, ids, nil, ends)
				if err != nil {
					t.Fatal(err)
				}
				start := 0
				for i, end := range ends {
					if !slices.Equal(x[start*m.d:end*m.d], alone[i]) {
						t.Fatalf("text %d has other states in a batch than alone", i)
					}
					start = end
				}
				ids, ends, alone = backwards(ids, ends, alone)
			}
		})
	}
	var tried []string
	for name := range dirs {
		kind, _, _ := strings.Cut(name, "-")
		if _, known := dirs[kind]; !known || strings.HasPrefix(name, "xlm") {
			kind = name
		}
		if !slices.Contains(tried, kind) {
			tried = append(tried, kind)
		}
	}
	if slices.Sort(tried); !slices.Equal(tried, transformer.Families()) {
		t.Errorf("recorded are %v, known are %v", tried, transformer.Families())
	}
	for _, name := range transformer.Families() {
		if named[name].words == "" {
			t.Errorf("%s has no names of weights", name)
		}
	}
}

// backwards puts the texts of a batch in the other order.
func backwards(ids []int32, ends []int, alone [][]float32) ([]int32, []int, [][]float32) {
	var outIDs []int32
	var outEnds []int
	var out [][]float32
	for i, end := range slices.Backward(ends) {
		start := 0
		if i > 0 {
			start = ends[i-1]
		}
		outIDs = append(outIDs, ids[start:end]...)
		outEnds, out = append(outEnds, len(outIDs)), append(out, alone[i])
	}
	return outIDs, outEnds, out
}

// A file that lacks a tensor, or has one of another shape, is refused by the tensor's
// name, and so is a configuration that asks for more than there is; nothing panics,
// and no memory is made for what is not there.
func TestFamiliesRefuse(t *testing.T) {
	for name, dir := range families(t) {
		if strings.Contains(name, "-") && name != "xlm-roberta" {
			continue
		}
		config, weights := filepath.Join(dir, fileConfig), filepath.Join(dir, fileSafetensors)
		sound, err := os.ReadFile(weights)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		var header map[string]json.RawMessage
		n := int(sound[0]) | int(sound[1])<<8 | int(sound[2])<<16
		if err := json.Unmarshal(sound[8:8+n], &header); err != nil {
			t.Fatal(err)
		}
		for tensor := range header {
			if tensor == "__metadata__" || strings.Contains(tensor, "pooler") || !strings.HasSuffix(tensor, ".weight") {
				continue
			}
			other := strings.Replace(string(sound), tensor+`"`, tensor[:len(tensor)-1]+`x"`, 1)
			if err := os.WriteFile(weights, []byte(other), 0o644); err != nil {
				t.Fatal(err)
			}
			short := tensor
			for _, pre := range named[name].before {
				short = strings.TrimPrefix(short, pre)
			}
			if _, err := load(t.Context(), dir, Options{Precision: FP32}); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), short) {
				t.Errorf("%s without %s: %v", name, tensor, err)
			}
		}
		if err := os.WriteFile(weights, sound, 0o644); err != nil {
			t.Fatal(err)
		}
		for old, new := range map[string]string{
			`"vocab_size": 40`: `"vocab_size": 16000000`, `"hidden_size": 32`: `"hidden_size": 16384`, `"n_embd": 32`: `"n_embd": 16384`, `"dim": 32`: `"dim": 16384`,
			`"intermediate_size": 40`: `"intermediate_size": 262144`, `"n_inner": 40`: `"n_inner": 262144`, `"hidden_dim": 40`: `"hidden_dim": 262144`,
			`"num_hidden_layers": 2`: `"num_hidden_layers": 1024`, `"num_attention_heads": 4`: `"num_attention_heads": 8`,
			`"max_position_embeddings": 160`: `"max_position_embeddings": 1000000`, `"head_dim": 12`: `"head_dim": 4096`,
		} {
			changed := strings.Replace(string(text), old, new, 1)
			if changed == string(text) || strings.Contains(old, "heads") && !strings.Contains(changed, "head_dim") {
				continue // more, narrower heads are of the same weights
			}
			if err := os.WriteFile(config, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := load(t.Context(), dir, Options{Precision: FP32}); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), "tensor") {
				t.Errorf("%s with %s: %v", name, new, err)
			}
		}
	}
}

// A graph is read of BERT alone; others are named.
func TestOtherGraphs(t *testing.T) {
	dir := families(t)["qwen3"]
	if err := errors.Join(os.Remove(filepath.Join(dir, fileSafetensors)), os.WriteFile(filepath.Join(dir, fileONNX), basicGraph(large(1)), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t.Context(), dir, Options{Precision: FP32}); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), "qwen3") {
		t.Errorf("%v; want ErrModel that names the architecture", err)
	}
}

// Padding within a text of RoBERTa's kind has the place of padding, and those behind
// it count on without it.
func TestPlaceOfPadding(t *testing.T) {
	m, err := load(t.Context(), families(t)["roberta"], Options{Precision: FP32})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 4*m.d)
	if err := m.embed(x, []int32{7, 1, 7, 9}, nil, []int{4}); err != nil {
		t.Fatal(err)
	}
	row := func(place, word int) []float32 {
		y := make([]float32, m.d)
		of, err := m.words.row(word, make([]float32, m.d))
		if err != nil {
			t.Fatal(err)
		}
		vec.AddNorm(y, of, m.places[place*m.d:][:m.d], m.kinds[:m.d], m.embedded.scale, m.embedded.shift, m.embedded.eps)
		return y
	}
	for i, want := range [][]float32{row(2, 7), row(1, 1), row(3, 7), row(4, 9)} {
		if !slices.Equal(x[i*m.d:(i+1)*m.d], want) {
			t.Errorf("token %d stands in another place", i)
		}
	}
}

// The context is looked at before each layer is read.
func TestLoadStops(t *testing.T) {
	dir := families(t)["modernbert"] // of 4 layers
	for n := range 5 {
		_, err := load(&checks{t.Context(), n}, dir, Options{Precision: FP32})
		if stopped := errors.Is(err, context.Canceled); stopped != (n < 4) {
			t.Errorf("done before layer %d of 4: %v", n, err)
		}
	}
}
