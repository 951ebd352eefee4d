package distil

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/safetensors"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/vec"
)

func open(t *testing.T, dir string) *native.Encoder {
	t.Helper()
	e, err := native.Open(t.Context(), dir, native.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// taught is a static model of a Tiny with a prefix, and its teacher.
func taught(t *testing.T) (teacher *native.Encoder, folder, dir string) {
	t.Helper()
	folder, dir = t.TempDir(), t.TempDir()
	encoders.NewTiny(1, encoders.Tiny{Hidden: 24, Positions: 40, Vocab: encoders.Letters()}).Write(t, folder)
	spec := modelspec.Spec{Model: "tiny", Precision: "fp32", Pooling: pooling.Mean, MaxTokens: 40, QueryPrefix: "q: ", PassagePrefix: "p: "}
	if err := spec.Write(folder); err != nil {
		t.Fatal(err)
	}
	return open(t, folder), folder, dir
}

// TestDistil: rows have the mean 0 and the covariance 1 before the factor of Zipf, and are a linear map of what the teacher
// says of a passage of the token.
func TestDistil(t *testing.T) {
	teacher, folder, dir := taught(t)
	n, d, last := teacher.VocabSize(), teacher.Dim(), 0
	err := Distil(t.Context(), teacher, folder, "static:tiny", dir, func(done, of int) {
		if done <= last || of != n {
			t.Errorf("%d of %d tokens after %d", done, of, last)
		}
		last = done
	})
	if err != nil || last != n {
		t.Fatal(err, last)
	}
	s, err := safetensors.Open(filepath.Join(dir, tableFile))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := s.Floats(tableName)
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i := range n {
		total += 1 / float64(i+2)
	}
	y, mean := make([][]float64, n), make([]float64, d)
	texts := make([]encoder.Tokens, n)
	for id := range n {
		texts[id] = teacher.Tokenize(encoder.Passage, "word")
		at := slices.IndexFunc(texts[id].Offsets, func(o encoder.Span) bool { return o.End > 0 })
		if at < 3 { // [CLS] p :
			t.Fatalf("%+v", texts[id])
		}
		texts[id].IDs[at] = int32(id)
	}
	x, err := teacher.EncodeTokens(t.Context(), encoder.Passage, texts)
	if err != nil {
		t.Fatal(err)
	}
	for id := range n {
		y[id] = make([]float64, d)
		for k, v := range table[id*d : id*d+d] {
			y[id][k] = float64(v) * (1 + 1/float64(id+2)/total/1e-4)
			mean[k] += float64(x[id][k]) / float64(n)
		}
	}
	root := make([]float64, d*d) // the covariance of x and y is L
	for i := range d {
		for j := range d {
			var cov, sum float64
			for id := range n {
				cov += y[id][i] * y[id][j] / float64(n)
				sum += y[id][i] / float64(n)
				root[i*d+j] += (float64(x[id][i]) - mean[i]) * y[id][j] / float64(n)
			}
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(cov-want) > 0.01 || math.Abs(sum) > 0.01 {
				t.Errorf("mean %v, covariance of %d and %d is %v", sum, i, j, cov)
			}
		}
	}
	for id := range n {
		for i := range d {
			got := mean[i]
			for j := range d {
				got += root[i*d+j] * y[id][j]
			}
			if math.Abs(got-float64(x[id][i])) > 0.01 {
				t.Fatalf("token %d: %v back from its row, want %v", id, got, x[id][i])
			}
		}
	}
	if err := teacher.Close(); err != nil {
		t.Error(err)
	}
	if _, err := teacher.EncodeTokens(t.Context(), encoder.Passage, texts); !errors.Is(err, encoder.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	static := open(t, dir)
	if f := static.Fingerprint(); f.Model != "static:tiny" || f.MaxTokens != 40 || f.PassagePrefix != "" || f.Tokenizer != teacher.Fingerprint().Tokenizer || !static.Static() || teacher.Static() {
		t.Errorf("%+v", f)
	}
	word, err := static.Encode(t.Context(), encoder.Query, encoder.Texts("word", "word word"), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	if again := vec.Dot(word[0].Dense, word[1].Dense); again < 0.9999 {
		t.Errorf("a word twice has the cosine %v with itself", again)
	}
}

// constant is a teacher to which all tokens are alike.
type constant struct{ *native.Encoder }

func (c constant) EncodeTokens(_ context.Context, _ encoder.Role, texts []encoder.Tokens) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	for i := range rows {
		rows[i] = make([]float32, c.Dim())
		rows[i][0] = 1
	}
	return rows, nil
}

// TestDistilNot: what cannot be a teacher is an error, as is the end of a context, and neither leaves a model.
func TestDistilNot(t *testing.T) {
	teacher, folder, dir := taught(t)
	if err := Distil(t.Context(), teacher, t.TempDir(), "m", dir, nil); !errors.Is(err, native.ErrModel) || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("no tokenizer: %v", err)
	}
	if err := Distil(t.Context(), constant{teacher}, folder, "m", dir, nil); !errors.Is(err, native.ErrModel) {
		t.Errorf("all alike: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := Distil(ctx, teacher, folder, "m", dir, func(int, int) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the last token: %v", err)
	}
	if err := Distil(ctx, teacher, folder, "m", dir, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("before the first: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// TestWriteTable: numbers are rounded to the nearest bfloat16, to the even one between two.
func TestWriteTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), tableFile)
	in := []float32{1, -2.5, 0, 1 + 1.0/256, 1 + 3.0/256, 1 + 1.1/256}
	if err := writeTable(path, in, 2, 3); err != nil {
		t.Fatal(err)
	}
	s, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Floats(tableName)
	if want := []float32{1, -2.5, 0, 1, 1 + 4.0/256, 1 + 2.0/256}; err != nil || !slices.Equal(got, want) || !slices.Equal(s.Tensors[tableName].Shape, []int64{2, 3}) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
