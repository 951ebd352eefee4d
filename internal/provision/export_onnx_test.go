package provision

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func makeSafetensors(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
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
