package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// probeQueries is the maximum number of queries in a probe.
const probeQueries = 300

// A probe makes one query from a passage, or "" if it cannot, with other seeds than the
// samplers. No sampler uses RAKE. part:16 is Span with one length, so its queries overlap
// with those of training unless Options.Reserve separates them. Probes of images use the
// rules of the samplers.
var probes = []struct {
	task, media string
	make        func(r *rand.Rand, p *Passage) string
}{
	{"crop", encoder.MediaImages, Crop.Draw},
	{"hidden", encoder.MediaImages, Hidden.Draw},
	{"keyword", "", rake},
	{"part:16", "", func(r *rand.Rand, p *Passage) string {
		if len(p.Words) <= 16 { // the whole passage would be no part
			return ""
		}
		return p.window(r.IntN(len(p.Words)-15), 16)
	}},
}

// heldOut are the encoded queries of all probes, one probe after the other.
type heldOut struct {
	out    []encoder.Output
	target []int32
	ends   []int // of each probe
	// moved makes the vectors of the passages if these are modulated (Options.Side); plain says
	// that the queries are not.
	moved func(ctx context.Context) ([]float32, error)
	plain bool
}

// probes makes the queries of the probes; ends are the ends of each. With
// Options.Reserve they are made of the reserved parts of the passages that
// Selects names. The error is that of ctx.
func (s *passages) probes(ctx context.Context, o Options) (d drawn, ends []int, err error) {
	for _, p := range probes {
		if p.media != s.media {
			ends = append(ends, len(d.texts))
			continue
		}
		rng := random(o.Seed, "probe "+p.task, "")
		count := len(d.texts) + probeQueries
		for i, r := range rng.Perm(len(s.reps)) {
			if len(d.texts) == count {
				break
			}
			if i%16 == 0 && ctx.Err() != nil {
				return d, ends, ctx.Err()
			}
			of := s.texts[r]
			if o.Reserve {
				if !Selects(of) {
					continue
				}
				from, to := Reserved(of)
				of = of[from:to]
			}
			if t := p.make(rng, s.passageOf(of)); t != "" {
				d.texts, d.target = append(d.texts, t), append(d.target, int32(r))
			}
		}
		ends = append(ends, len(d.texts))
	}
	return d, ends, nil
}

// drawProbes makes and encodes the queries of the probes.
func drawProbes(ctx context.Context, enc encoder.Encoder, set *passages, need encoder.Need, o Options) (*heldOut, error) {
	d, ends, err := set.probes(ctx, o)
	if err != nil {
		return nil, err
	}
	h := &heldOut{target: d.target, ends: ends}
	progress := func(done int) { o.Progress("encode probes", done, len(d.texts), 0) }
	err = encodeTexts(ctx, enc, encoder.Query, d.texts, need, progress, func(part []encoder.Output) error {
		h.out = append(h.out, part...)
		return ctx.Err()
	})
	return h, err
}

// modulated returns the query vectors [n × d] as modulated by m. If the fit modulates
// passages, it also modulates those of set.
func (h *heldOut) modulated(ctx context.Context, set *passages, m modulate.Modulator) (q []float32, err error) {
	if h.moved != nil {
		if set.moved, err = h.moved(ctx); err != nil {
			return nil, err
		}
	}
	for _, out := range h.out {
		if h.plain {
			q = append(q, out.Dense...)
		} else {
			q = m.Modulate(q, inputOf(out))
		}
	}
	return q, nil
}

// scores measures nDCG@1 of the plain and of the modulated vectors on queries that
// training has not seen, against all distinct passages. There is one right answer, so
// nDCG@1 is the share of queries that rank it first; of equal scores, the passage that
// comes first in the corpus counts.
func (h *heldOut) scores(ctx context.Context, set *passages, m modulate.Modulator, o Options) ([]modulate.ProbeScore, error) {
	o.Progress("evaluate", 0, len(h.out), 0)
	var dense []float32
	for _, out := range h.out {
		dense = append(dense, out.Dense...)
	}
	set.moved = nil
	before, err := nearest(ctx, set, dense, h.target, o)
	if err != nil {
		return nil, err
	}
	qs, err := h.modulated(ctx, set, m)
	if err != nil {
		return nil, err
	}
	after, err := nearest(ctx, set, qs, h.target, o)
	if err != nil {
		return nil, err
	}
	var scores []modulate.ProbeScore
	start := 0
	for i, p := range probes {
		s := modulate.ProbeScore{Task: p.task, Queries: h.ends[i] - start}
		for j := start; j < h.ends[i]; j++ {
			if before[j].first == h.target[j] {
				s.Dense++
			}
			if after[j].first == h.target[j] {
				s.Modified++
			}
		}
		if s.Queries > 0 { // a corpus of short passages has no part:16
			s.Dense /= float64(s.Queries)
			s.Modified /= float64(s.Queries)
			scores = append(scores, s)
		}
		start = h.ends[i]
	}
	return scores, nil
}

// loss is the mean loss of training on the probes, in nats.
func (h *heldOut) loss(ctx context.Context, set *passages, m modulate.Modulator, o Options) (float64, error) {
	qs, err := h.modulated(ctx, set, m)
	if err != nil {
		return 0, err
	}
	answers, err := nearest(ctx, set, qs, h.target, o)
	if err != nil || len(answers) == 0 {
		return 0, err
	}
	var sum float64
	for _, a := range answers {
		sum += a.loss
	}
	return sum / float64(len(answers)), nil
}

// answer is the result of the distinct passages for a query: which one ranks first, and
// the cross-entropy of the query's target.
type answer struct {
	first int32
	loss  float64
}

// nearest finds the nearest passages to the rows of qs [n × d], whose targets are given.
func nearest(ctx context.Context, set *passages, qs []float32, target []int32, o Options) ([]answer, error) {
	const rows, slice = 16, 1024
	n := len(qs) / set.dim
	out := make([]answer, n)
	err := each(ctx, o.Workers, (n+rows-1)/rows, func(_, b int) {
		lo, hi := b*rows, min((b+1)*rows, n)
		top, right, sum := make([]float32, hi-lo), make([]float32, hi-lo), make([]float64, hi-lo)
		score := make([]float32, (hi-lo)*slice)
		block := make([]float32, 0, slice*set.dim)
		for at := 0; at < len(set.reps); at += slice {
			block = block[:0]
			for r := at; r < min(at+slice, len(set.reps)); r++ {
				block = append(block, set.vector(r)...)
			}
			m := len(block) / set.dim
			vec.MatMulNT(score, qs[lo*set.dim:hi*set.dim], block, hi-lo, m, set.dim)
			for q := range hi - lo {
				for j, s := range score[q*m : (q+1)*m] {
					if at+j == 0 || s > top[q] {
						sum[q] *= math.Exp(float64(top[q]-s) / o.Tau) // 0 stays 0
						top[q], out[lo+q].first = s, int32(at+j)
					}
					sum[q] += math.Exp(float64(s-top[q]) / o.Tau)
					if int32(at+j) == target[lo+q] {
						right[q] = s
					}
				}
			}
		}
		for q := range hi - lo {
			out[lo+q].loss = math.Log(sum[q]) - float64(right[q]-top[q])/o.Tau
		}
	})
	return out, err
}

// rake makes a keyword query like RAKE (Rose et al. 2010): candidate phrases are the runs
// between function words and punctuation; a word scores degree/frequency over its
// phrases, a phrase the sum of its words. The best phrases are joined until they have at
// least three words; at most eight words are kept.
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
