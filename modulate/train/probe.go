package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// probeQueries is the largest number of queries of a probe.
const probeQueries = 300

// A probe makes one query of a passage, or "" where it cannot. Its generator
// is not that of any sampler, and it runs with other seeds.
var probes = []struct {
	task string
	make func(r *rand.Rand, p *Passage) string
}{
	{"keyword", rake},
	{"part:16", func(r *rand.Rand, p *Passage) string {
		if len(p.Words) <= 16 { // the whole passage would be no part
			return ""
		}
		return p.window(r.IntN(len(p.Words)-15), 16)
	}},
}

// probe measures nDCG@1 of the plain and of the modulated vectors on queries
// that training has not seen, against all distinct passages. There is one
// right answer, so nDCG@1 is the share of queries that rank it first; of equal
// scores the passage that comes first in the corpus is taken.
func probe(ctx context.Context, enc encoder.Encoder, set *passages, w *modulate.Weights, parts modulate.Parts, o Options) ([]modulate.ProbeScore, error) {
	parts.Weights = w
	m, err := modulate.NewStack(w.Stack, parts)
	if err != nil {
		return nil, err
	}
	var texts []string
	var target []int32
	var ends []int
	for _, p := range probes {
		rng := random(o.Seed, "probe "+p.task, "")
		count := len(texts) + probeQueries
		for _, r := range rng.Perm(len(set.reps)) {
			if len(texts) == count {
				break
			}
			if t := p.make(rng, set.passage(r)); t != "" {
				texts, target = append(texts, t), append(target, int32(r))
			}
		}
		ends = append(ends, len(texts))
	}
	d := enc.Dim()
	dense := make([]float32, 0, len(texts)*d)
	modified := make([]float32, 0, len(texts)*d)
	progress := func(done int) { o.Progress("evaluate", done, len(texts), 0) }
	err = encodeTexts(ctx, enc, texts, m.Need(), progress, func(part []encoder.Output) error {
		for _, out := range part {
			dense = append(dense, out.Dense...)
			modified = m.Modulate(modified, inputOf(out))
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	before, err := first(ctx, set, dense, o.Workers)
	if err != nil {
		return nil, err
	}
	after, err := first(ctx, set, modified, o.Workers)
	if err != nil {
		return nil, err
	}
	var scores []modulate.ProbeScore
	start := 0
	for i, p := range probes {
		s := modulate.ProbeScore{Task: p.task, Queries: ends[i] - start}
		for j := start; j < ends[i]; j++ {
			if before[j] == target[j] {
				s.Dense++
			}
			if after[j] == target[j] {
				s.Modified++
			}
		}
		if s.Queries > 0 { // a corpus of short passages has no part:16
			s.Dense /= float64(s.Queries)
			s.Modified /= float64(s.Queries)
			scores = append(scores, s)
		}
		start = ends[i]
	}
	return scores, nil
}

// first returns the distinct passage that ranks first for each row of qs
// [n × d].
func first(ctx context.Context, set *passages, qs []float32, workers int) ([]int32, error) {
	const rows, slice = 16, 1024
	n := len(qs) / set.dim
	best := make([]int32, n)
	err := each(ctx, workers, (n+rows-1)/rows, func(_, b int) {
		lo, hi := b*rows, min((b+1)*rows, n)
		top := make([]float32, hi-lo)
		score := make([]float32, (hi-lo)*slice)
		block := make([]float32, 0, slice*set.dim)
		for at := 0; at < len(set.reps); at += slice {
			block = block[:0]
			for _, i := range set.reps[at:min(at+slice, len(set.reps))] {
				block = append(block, set.corpus.Vector(i)...)
			}
			m := len(block) / set.dim
			vec.MatMulNT(score, qs[lo*set.dim:hi*set.dim], block, hi-lo, m, set.dim)
			for q := range hi - lo {
				for j, s := range score[q*m : (q+1)*m] {
					if at+j == 0 || s > top[q] {
						top[q], best[lo+q] = s, int32(at+j)
					}
				}
			}
		}
	})
	return best, err
}

// rake makes a keyword query in the manner of RAKE (Rose et al. 2010):
// candidate phrases are the runs between function words and punctuation, a
// word scores degree/frequency over the phrases it stands in, a phrase the sum
// of its words. The best phrases are joined until at least three words are
// together; no more than eight are kept.
func rake(_ *rand.Rand, p *Passage) string {
	var phrases [][]text.Word
	var run []text.Word
	flush := func() {
		if len(run) > 0 && len(run) <= 4 {
			phrases = append(phrases, run)
		}
		run = nil
	}
	for i, w := range p.Words {
		if i > 0 && strings.ContainsAny(p.Text[p.Words[i-1].End:w.Start], ".,;:!?()[]{}\"“”\n") {
			flush()
		}
		if text.Stop(w.Lower) || len(w.Lower) < 2 {
			flush()
			continue
		}
		run = append(run, w)
	}
	flush()
	freq, degree := map[string]float64{}, map[string]float64{}
	for _, ph := range phrases {
		for _, w := range ph {
			freq[w.Lower]++
			degree[w.Lower] += float64(len(ph))
		}
	}
	score := func(ph []text.Word) (s float64) {
		for _, w := range ph {
			s += degree[w.Lower] / freq[w.Lower]
		}
		return s
	}
	slices.SortStableFunc(phrases, func(a, b []text.Word) int {
		switch x, y := score(a), score(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	var words []string
	for _, ph := range phrases {
		if len(words) >= 3 {
			break
		}
		for _, w := range ph {
			if s := p.Text[w.Start:w.End]; len(words) < 8 && !slices.Contains(words, s) {
				words = append(words, s)
			}
		}
	}
	if len(words) < 3 {
		return ""
	}
	return strings.Join(words, " ")
}
