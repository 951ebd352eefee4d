package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// list is a Corpus in memory.
type list struct {
	texts   []string
	vectors [][]float32
}

func (l *list) Len() int                   { return len(l.texts) }
func (l *list) Text(i int) (string, error) { return l.texts[i], nil }
func (l *list) Vector(i int) []float32     { return l.vectors[i] }

func encoded(t testing.TB, enc encoder.Encoder, texts []string) *list {
	t.Helper()
	out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	l := &list{texts: texts}
	for _, o := range out {
		l.vectors = append(l.vectors, o.Dense)
	}
	return l
}

// invented makes n passages of invented words with the frequencies of text, in
// sentences with function words between.
func invented(n int) []string {
	r := rand.New(rand.NewPCG(20, 26))
	zipf := rand.NewZipf(r, 1.2, 8, 2500)
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu bran cles drim fost")
	word := func() string {
		k := zipf.Uint64()
		var b strings.Builder
		for x := k + 30; x > 0; x /= uint64(len(syllables)) {
			b.WriteString(syllables[x%uint64(len(syllables))])
		}
		return b.String()
	}
	little := []string{"the", "of", "and", "with", "to", "in"}
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for j := range 30 + r.IntN(30) {
			if j > 0 {
				b.WriteString([]string{" ", " ", " ", " ", ", ", ". "}[r.IntN(6)])
			}
			if r.IntN(3) == 0 {
				b.WriteString(little[r.IntN(len(little))])
			} else {
				b.WriteString(word())
			}
		}
		texts[i] = b.String()
	}
	return texts
}

// counting refuses to encode after a number of calls.
type failingEncoder struct {
	encoder.Encoder
	left int
}

func (f *failingEncoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if f.left--; f.left < 0 {
		return nil, fmt.Errorf("model broke")
	}
	return f.Encoder.Encode(ctx, role, in, need)
}
