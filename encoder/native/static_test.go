package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// staticRow is the row of a token: whole numbers, which two bytes can hold.
func staticRow(id int) [3]float64 {
	return [3]float64{float64(id%13 - 6), float64(id*7%11 - 5), float64(id*3%7 - 3)}
}

// staticTable has the row of each token.
func staticTable() (vocab []string, table []float32) {
	vocab = encoders.Letters()
	for id := range vocab {
		for _, v := range staticRow(id) {
			table = append(table, float32(v))
		}
	}
	return vocab, table
}

// staticFolder is a folder of the given files, with the tokenizer of a Tiny below at.
func staticFolder(t *testing.T, at string, weights *safetensorstest.File, files map[string]string) string {
	t.Helper()
	dir, tiny := t.TempDir(), t.TempDir()
	encoders.NewTiny(1, encoders.Tiny{Vocab: encoders.Letters()}).Write(t, tiny)
	words, err := os.ReadFile(filepath.Join(tiny, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, at), 0o755); err != nil {
		t.Fatal(err)
	}
	files[filepath.Join(at, "tokenizer.json")], files[filepath.Join(at, fileSafetensors)] = string(words), string(weights.Bytes())
	trial.Files(t, dir, files)
	return dir
}

// The vector of a text is the mean of its tokens' rows: of all by sentence-transformers, of the known ones by Model2Vec,
// with factors and with rows that tokens share.
func TestStatic(t *testing.T) {
	vocab, table := staticTable()
	sentence := safetensorstest.New(nil)
	sentence.Add("embedding.weight", table, len(vocab), 3)
	model := safetensorstest.New(nil)
	model.AddBF16("embeddings", table, len(vocab), 3)
	shared, factors := safetensorstest.New(nil), make([]float32, len(vocab))
	mapping := make([]int64, len(vocab))
	for id := range vocab {
		mapping[id], factors[id] = int64(len(vocab)-1-id), float32(id)/2
	}
	shared.Add("embeddings", table, len(vocab), 3)
	shared.Add("weights", factors, len(vocab))
	shared.AddI64("mapping", mapping)
	row := staticRow
	last := len(vocab) - 1
	for name, c := range map[string]struct {
		dir   string
		state func(id int) [3]float64
	}{
		"sentence-transformers": {staticFolder(t, "0_StaticEmbedding", sentence, map[string]string{
			"modules.json": `[{"path":"0_StaticEmbedding","type":"sentence_transformers.models.StaticEmbedding"},{"path":"1_Normalize","type":"sentence_transformers.models.Normalize"}]`}), row},
		"model2vec": {staticFolder(t, "", model, map[string]string{fileConfig: `{"model_type":"model2vec","normalize":true}`}), func(id int) [3]float64 {
			if id == 1 {
				return [3]float64{}
			}
			return row(id)
		}},
		"shared rows": {staticFolder(t, "", shared, map[string]string{fileConfig: `{"model_type":"model2vec"}`,
			"modules.json": `[{"path":".","type":"sentence_transformers.models.StaticEmbedding"}]`}), func(id int) [3]float64 {
			r := row(last - id)
			for k := range r {
				if r[k] *= float64(id) / 2; id == 1 {
					r[k] = 0
				}
			}
			return r
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, c.dir, Options{})
			if f := e.Fingerprint(); f.Dim != 3 || f.MaxTokens != 512 || f.Pooling != "mean" {
				t.Errorf("%+v", f)
			}
			for _, text := range []string{"red", "red 東 blue word", "green, word"} {
				out := encode(t, e, encoder.Passage, []string{text}, encoder.NeedDense)[0]
				var sum [3]float64
				for _, id := range out.Tokens.IDs[1 : len(out.Tokens.IDs)-1] {
					for k, v := range c.state(int(id)) {
						sum[k] += v
					}
				}
				norm := math.Sqrt(sum[0]*sum[0] + sum[1]*sum[1] + sum[2]*sum[2])
				for k := range sum {
					if math.Abs(float64(out.Dense[k])-sum[k]/norm) > 1e-5 {
						t.Errorf("%q: %v, want %v by %v", text, out.Dense, sum, norm)
					}
				}
			}
			if _, err := Open(t.Context(), c.dir, Options{Precision: Int8}); !errors.Is(err, ErrModel) {
				t.Errorf("in bytes: %v", err)
			}
			if out := encode(t, e, encoder.Query, []string{""}, encoder.NeedDense|encoder.NeedHidden); len(out[0].Dense) != 3 {
				t.Error("an empty text has no vector")
			}
			encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, c.dir, Options{}) })
		})
	}
	few, none, outside := safetensorstest.New(nil), safetensorstest.New(nil), safetensorstest.New(nil)
	few.Add("embedding.weight", table[:9], 3, 3)
	none.Add("other", table[:9], 3, 3)
	outside.Add("embeddings", table, len(vocab), 3)
	outside.AddI64("mapping", make([]int64, 2))
	for text, weights := range map[string]*safetensorstest.File{"token 3 has row 3 of a table of 3": few, "no table of vectors": none, "2 rows for": outside} {
		dir := staticFolder(t, "", weights, map[string]string{fileConfig: `{"model_type":"model2vec"}`})
		if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWiden(t *testing.T) {
	for n := range 10 {
		var src, want []byte
		for i := range n {
			b := uint16(0x8001 + 0x1357*i)
			src, want = binary.LittleEndian.AppendUint16(src, b), binary.LittleEndian.AppendUint32(want, uint32(b)<<16)
		}
		got := make([]byte, 4*n)
		if widen(got, append(src, "more"...)); !bytes.Equal(got, want) {
			t.Errorf("%d numbers: %x, want %x", n, got, want)
		}
	}
}
