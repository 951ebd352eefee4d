package bench

import (
	"reflect"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestByTerms(t *testing.T) {
	h := encoder.NewHash(16)
	e, err := ByTerms(h)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"Ships and the sail", "sails of SHIPS"}
	out, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := h.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int32{{0, 1}, {1, 0}} {
		if !slices.Equal(out[i].Tokens.IDs, want) || !reflect.DeepEqual(out[i].Dense, plain[i].Dense) {
			t.Errorf("text %d: tokens %v, want %v", i, out[i].Tokens.IDs, want)
		}
	}
	if got := e.Tokenize(encoder.Query, "the sail"); !slices.Equal(got.IDs, []int32{1}) || got.Offsets[0] != (encoder.Span{Start: 4, End: 8}) || e.VocabSize() != 0 {
		t.Errorf("%+v", got)
	}
}
