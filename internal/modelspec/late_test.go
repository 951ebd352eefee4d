package modelspec

import (
	"math"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// Token states of a Late model are those of its Dense modules with length 1, residuals included, and the head of a
// checkpoint of ColBERT's first authors is a tensor of its own file.
func TestLatePooler(t *testing.T) {
	f := safetensorstest.New(nil)
	f.Add("linear.weight", []float32{1, 2, -1, 0.5, 3, 1}, 3, 2)
	f.Add("residual.weight", []float32{0, 1, 4, 0, -2, 2}, 3, 2)
	square := safetensorstest.New(nil)
	square.Add("linear.weight", []float32{1, 2, -1, 0.5}, 2, 2)
	dir := write(t, map[string]string{
		"a/config.json": `{"in_features":2,"out_features":2,"bias":false,"activation_function":"torch.nn.ReLU","use_residual":true}`, "a/model.safetensors": string(square.Bytes()),
		"b/config.json": `{"in_features":2,"out_features":3,"bias":false,"activation_function":"torch.nn.Identity","use_residual":true,"module_input_name":"token_embeddings"}`, "b/model.safetensors": string(f.Bytes()),
		"config.json": `{}`, "model.safetensors": string(f.Bytes()),
	})
	states := []float32{1, -4, 2, 5}
	square1 := [][]float64{{1 + 0, -4 + 0}, {2 + 12, 5 + 0.5}} // x + ReLU(Wx)
	for _, c := range []struct {
		modules []string
		rows    [][]float64
	}{
		{[]string{"a"}, square1},
		{[]string{"a", "b"}, [][]float64{of(square1[0], 1, 3, 3, .5, 1, 3), of(square1[1], 1, 3, 3, .5, 1, 3)}},
		{[]string{"."}, [][]float64{of([]float64{1, -4}, 1, 2, -1, .5, 3, 1), of([]float64{2, 5}, 1, 2, -1, .5, 3, 1)}},
	} {
		p, err := NewPooler(dir, Spec{Pooling: pooling.Mean, Dense: c.modules, Late: &Late{}}, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		hidden, mean := p.Hidden(states), make([]float32, p.Dim())
		for i, row := range c.rows {
			length := 0.0
			for _, x := range row {
				length += x * x
			}
			for j, x := range row {
				x /= math.Sqrt(length)
				mean[j] += float32(x)
				if got := float64(hidden[i*p.Dim()+j]); math.Abs(got-x) > 1e-6 {
					t.Errorf("%v: state %d has %v at %d, want %v", c.modules, i, got, j, x)
				}
			}
		}
		if v, ok := p.Pool(encoder.Query, states); !ok || !p.HasHidden() || encoders.Cosine(v, mean) < 1-1e-9 {
			t.Errorf("%v: the vector is %v, want the direction of %v", c.modules, v, mean)
		}
	}
}

// of multiplies x by a matrix of rows.
func of(x []float64, w ...float64) (y []float64) {
	for i := 0; i < len(w); i += len(x) {
		y = append(y, w[i]*x[0]+w[i+1]*x[1])
	}
	return y
}
