package native

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// Word embeddings are read from the file, of every kind and in both precisions, and Close closes it. A head that multiplies by
// all words has them in memory.
func TestWordsStayInTheFile(t *testing.T) {
	m := large(8)
	single, parts, graph := folder(t, m, pooling.Mean), folder(t, m, pooling.Mean), folder(t, m, pooling.Mean)
	sharded(t, m, parts)
	weights := filepath.Join(graph, fileSafetensors)
	if err := errors.Join(provision.ExportONNX(t.Context(), weights, filepath.Join(graph, fileConfig), filepath.Join(graph, fileONNX)), os.Remove(weights)); err != nil {
		t.Fatal(err)
	}
	_, file := packedModel(7)
	for name, dir := range map[string]string{"safetensors": single, "shards": parts, "ONNX": graph, "packed": packedFolder(t, file), "cross": encoders.Crosses(t)["bert"]} {
		for _, precision := range []string{FP32, Int8} {
			var loaded *model
			var head *scoring
			var err error
			if name == "cross" {
				loaded, head, err = loadCross(t.Context(), dir, precision)
			} else {
				loaded, err = load(t.Context(), dir, Options{Precision: precision})
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", name, precision, err)
			}
			if loaded.words.stored == nil || loaded.words.floats != nil || loaded.words.codes != nil {
				t.Errorf("%s, %s: the words are in memory", name, precision)
			}
			words := loaded.file
			if err := newRunner(loaded, head).Close(); err != nil {
				t.Errorf("%s, %s: %v", name, precision, err)
			}
			if err := words.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s, %s: the file of the words is open after Close: %v", name, precision, err)
			}
		}
	}
	withHead, err := load(t.Context(), folder(t, encoders.NewTiny(2, encoders.Tiny{Prefix: "bert."}), pooling.CLS), Options{Precision: FP32})
	if err != nil || withHead.words.stored != nil || withHead.file != nil {
		t.Errorf("with a head: %v, %v", withHead.words.stored != nil, err)
	}
	e := open(t, single, Options{})
	if err := os.Truncate(filepath.Join(single, fileSafetensors), 1<<10); err != nil {
		t.Skipf("an open file cannot be cut here: %v", err)
	}
	if _, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("red stones"), encoder.NeedDense); !errors.Is(err, ErrModel) {
		t.Errorf("a file that became shorter: %v", err)
	}
}
