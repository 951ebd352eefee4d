package provision

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func makeSafetensors(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestSafetensors(t *testing.T) {
	entry := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"x":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	for _, c := range []struct {
		name string
		file []byte
		ok   bool
	}{
		{"good", makeSafetensors(entry("F32", "[2,3]", "[0,24]"), 24), true},
		{"metadata", makeSafetensors(`{"__metadata__":{"format":"pt"}, "x":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}}`, 32), true},
		{"empty", nil, false},
		{"no header", []byte{9, 0, 0, 0, 0, 0, 0, 0}, false},
		{"endless header", binary.LittleEndian.AppendUint64(nil, 1<<63), false},
		{"header past the end", append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...), false},
		{"no JSON", makeSafetensors("nonsense", 0), false},
		{"not an object", makeSafetensors("[1]", 0), false},
		{"tensor of another kind", makeSafetensors(`{"x":7}`, 0), false},
		{"past the end", makeSafetensors(entry("F32", "[2,3]", "[8,32]"), 24), false},
		{"negative", makeSafetensors(entry("F32", "[2,3]", "[-24,0]"), 24), false},
		{"backwards", makeSafetensors(entry("F32", "[2,3]", "[24,0]"), 24), false},
		{"wrong length", makeSafetensors(entry("F32", "[2,3]", "[0,20]"), 24), false},
		{"negative shape", makeSafetensors(entry("F32", "[-2,-3]", "[0,24]"), 24), false},
		{"huge shape", makeSafetensors(entry("F32", "[4611686018427387904,4611686018427387904]", "[0,0]"), 24), false},
		{"other type", makeSafetensors(entry("F16", "[2,3]", "[0,12]"), 12), false},
		{"other shape", makeSafetensors(entry("F32", "[3,2]", "[0,24]"), 24), false},
		{"other rank", makeSafetensors(entry("F32", "[6]", "[0,24]"), 24), false},
		{"no tensor", makeSafetensors(`{}`, 0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := openSafetensors(writeFile(t, "x", c.file))
			if err == nil {
				defer s.close()
				_, err = s.float32s("x", 2, 3)
			}
			if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrCheckpoint) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Whatever the bytes, a tensor that is accepted can be read to its end.
func FuzzSafetensors(f *testing.F) {
	f.Add(makeSafetensors(`{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`, 24))
	f.Add(makeSafetensors(`{"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4))
	f.Add(makeSafetensors(`{"x":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := openSafetensors(writeFile(t, "x", b))
		if err != nil {
			return
		}
		defer s.close()
		for name, x := range s.tensors {
			r, err := s.float32s(name, x.Shape...)
			if err != nil {
				continue
			}
			if n, err := io.Copy(io.Discard, r); err != nil || n != r.Size() {
				t.Fatalf("tensor %q: read %d of %d: %v", name, n, r.Size(), err)
			}
		}
	})
}

func TestExportRefuses(t *testing.T) {
	const good = `{"model_type":"bert","hidden_size":4,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,` +
		`"max_position_embeddings":8,"type_vocab_size":2,"vocab_size":10,"layer_norm_eps":1e-12,"hidden_act":"gelu"}`
	weights := writeFile(t, "w", makeSafetensors(`{}`, 0))
	for _, c := range []struct{ name, old, new, text string }{
		{"architecture", `"bert"`, `"mpnet"`, "mpnet"},
		{"activation", `"gelu"`, `"relu"`, "relu"},
		{"no activation", `,"hidden_act":"gelu"`, ``, "hidden_act"},
		{"no epsilon", `"layer_norm_eps":1e-12,`, ``, "layer_norm_eps"},
		{"heads", `"num_attention_heads":2`, `"num_attention_heads":3`, "multiple"},
		{"no heads", `"num_attention_heads":2`, `"num_attention_heads":0`, "num_attention_heads"},
		{"negative layers", `"num_hidden_layers":1`, `"num_hidden_layers":-1`, "num_hidden_layers"},
		{"huge layers", `"num_hidden_layers":1`, `"num_hidden_layers":1000000000`, "num_hidden_layers"},
		{"relative positions", `"hidden_size"`, `"position_embedding_type":"relative_key","hidden_size"`, "relative_key"},
		{"decoder", `"hidden_size"`, `"is_decoder":true,"hidden_size"`, "is_decoder"},
		{"no JSON", good, `{`, ""},
		{"missing weights", ``, ``, "has no tensor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			config := writeFile(t, "config.json", []byte(strings.Replace(good, c.old, c.new, 1)))
			err := ExportONNX(t.Context(), weights, config, filepath.Join(dir, "out.onnx"))
			if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want ErrCheckpoint that says %q", err, c.text)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}
