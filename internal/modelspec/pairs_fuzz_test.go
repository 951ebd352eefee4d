package modelspec

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// FuzzParsePair: whatever stands in a template is a frame of bounded size with types
// that are none below 0, or refused.
func FuzzParsePair(f *testing.F) {
	for _, s := range []string{
		`[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"[SEP]","type_id":1}}]`,
		`[{"Sequence":{"id":"A","type_id":-1}},{"Sequence":{"id":"B","type_id":5}}]`, `null`, `[{}]`, `{"Sequence":1}`, `[{"Sequence":null,"SpecialToken":null}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, err := ParsePair(raw, func(name string) []int32 { return []int32{1, 2, 3}[:len(name)%4] })
		if err != nil {
			if !errors.Is(err, encoder.ErrTokenizer) {
				t.Error(err)
			}
			return
		}
		if frame.Len() > maxPairParts || frame.First < 0 || frame.Second < 0 {
			t.Errorf("%q gives %+v", raw, frame)
		}
		for _, part := range [][]TypedToken{frame.Before, frame.Between, frame.Behind} {
			for _, s := range part {
				if s.Type < 0 || s.Type > maxPairTypes {
					t.Errorf("%q gives the type %d", raw, s.Type)
				}
			}
		}
	})
}

// FuzzCut: of two parts no more is kept than may be, none grows, and nothing is cut in vain.
func FuzzCut(f *testing.F) {
	f.Add(uint16(3), uint16(900), uint16(40))
	f.Add(uint16(40), uint16(40), uint16(41))
	f.Fuzz(func(t *testing.T, a, b, c uint16) {
		n, m, most := int(a), int(b), int(c)
		x, y := cut(n, m, most)
		if x > n || y > m || x < 0 || y < 0 || x+y > most || n+m >= most && x+y != most {
			t.Errorf("of %d and %d, at most %d, %d and %d are kept", n, m, most, x, y)
		}
	})
}
