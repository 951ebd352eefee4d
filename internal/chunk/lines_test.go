package chunk

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func TestLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(trial.Seed(t), 7))
	var b strings.Builder
	for range 300 {
		b.WriteString([]string{"a", "\n", "words ", "\r\n"}[rng.IntN(4)])
	}
	text := b.String()
	lines := Lines{Text: text}
	for at := range len(text) + 1 { // in order, and anywhere
		for _, at := range []int{at, at, rng.IntN(len(text) + 1)} {
			if got, want := lines.At(at), 1+strings.Count(text[:at], "\n"); got != want {
				t.Fatalf("byte %d is on line %d, want %d", at, got, want)
			}
		}
	}
}
