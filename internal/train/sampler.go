package train

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/text"
)

// Sampler draws training queries from passages. To add one, write a file that calls
// registerSampler.
type Sampler struct {
	// Name is unique.
	Name string
	// Media is the modality of its passages, as in encoder.Fingerprint: "" for texts, or
	// encoder.MediaImages.
	Media string
	// Labels says that it draws from Passage.Mates; it is skipped for passages without
	// mates.
	Labels bool
	// Share is its weight among the samplers of its modality: it draws Share/ΣShare of the queries of
	// a passage.
	Share float64
	// Draw returns one query made from p, or "" if p offers none. It must depend only on r and
	// p.
	Draw func(r *rand.Rand, p *Passage) string
}

// Passage is the input of a sampler.
type Passage struct {
	// Text is the whole passage. For an image it is a reference of package visual, and there are no words.
	Text string
	// Words are the passage's words in order, without those of the reserved part
	// (Options.Reserve).
	Words []text.Word
	// Content are its distinct content words (no function words, no single letters) in order of first
	// occurrence. IDF are their weights, ln(1 + (N − df + ½)/(df + ½)) over the N distinct passages.
	Content []text.Word
	IDF     []float64

	// Mates are the texts of the other passages with the same label, if the corpus is Labelled.
	Mates []string

	held  map[string]struct{} // runs of CleanRun words of the reserved part
	media string              // its modality
}

var samplers []Sampler

// samplersOf returns the samplers of a modality, with or without those that need labels.
func samplersOf(media string, labels bool) (of []Sampler) {
	for _, s := range samplers {
		if s.Media == media && (labels || !s.Labels) {
			of = append(of, s)
		}
	}
	return of
}

// registerSampler adds s to the samplers. It runs while package variables are
// initialised, so a name taken twice is a bug of the build.
func registerSampler(s Sampler) Sampler {
	for _, o := range samplers {
		if o.Name == s.Name {
			panic("train: sampler " + s.Name + " registered twice")
		}
	}
	samplers = append(samplers, s)
	slices.SortFunc(samplers, func(a, b Sampler) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// draw returns at most n different queries of p; the samplers take turns according to
// their shares. Samplers that cannot offer anything new are skipped.
func (p *Passage) draw(r *rand.Rand, n int) []string {
	const tries = 4
	samplers := samplersOf(p.media, len(p.Mates) > 0)
	var total float64
	for _, s := range samplers {
		total += s.Share
	}
	var out []string
	taken := make([]float64, len(samplers))
	for k := range n {
		due := 0
		for i, s := range samplers {
			if s.Share/total*float64(k+1)-taken[i] > samplers[due].Share/total*float64(k+1)-taken[due] {
				due = i
			}
		}
		taken[due]++
		for range tries {
			q := samplers[due].Draw(r, p)
			if q == "" {
				break
			}
			if !slices.Contains(out, q) && p.clean(q) {
				out = append(out, q)
				break
			}
		}
	}
	return out
}
