package remote

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/internal/fitting"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// maxSample limits how many passages a fit for a Backend keeps in memory.
const maxSample = 200_000

// drawn is a passage in the sample.
type drawn struct {
	number uint64
	text   string // as it was encoded
	vector []float32
}

// draw samples passages evenly from a stream: those whose ids have the lowest hashes. The choice depends only on
// ids and seed, so samples of parts can be merged into that of the whole. It is a heap, the highest number first.
type draw struct {
	most int
	seed uint64
	kept []drawn
}

func (s *draw) Len() int           { return len(s.kept) }
func (s *draw) Less(i, j int) bool { return s.kept[i].number > s.kept[j].number }
func (s *draw) Swap(i, j int)      { s.kept[i], s.kept[j] = s.kept[j], s.kept[i] }
func (s *draw) Push(x any)         { s.kept = append(s.kept, x.(drawn)) }

func (s *draw) Pop() any {
	last := s.kept[len(s.kept)-1]
	s.kept = s.kept[:len(s.kept)-1]
	return last
}

// offer keeps a passage if it is in the sample so far.
func (s *draw) offer(p *Passage) {
	number := numberOf(p.PassageID, s.seed)
	if s.most == 0 || len(s.kept) == s.most && number >= s.kept[0].number {
		return
	}
	s.add(drawn{number, chunk.Passage(p.Title, p.Text), slices.Clone(p.Vector)})
}

func (s *draw) add(x drawn) {
	heap.Push(s, x)
	if len(s.kept) > s.most {
		heap.Pop(s)
	}
}

// merge adds the sample of another part.
func (s *draw) merge(o *draw) {
	for _, x := range o.kept {
		s.add(x)
	}
}

// numberOf is a uniformly distributed number derived from the name of a passage.
func numberOf(id PassageID, seed uint64) uint64 {
	h := seed ^ 0x9e3779b97f4a7c15
	step := func(b uint64) {
		h = (h ^ b) * 0xbf58476d1ce4e5b9
		h ^= h >> 29
	}
	for i := range len(id.ID) {
		step(uint64(id.ID[i]))
	}
	step(uint64(id.Chunk) + 1<<32)
	h = (h ^ h>>30) * 0x94d049bb133111eb
	return h ^ h>>31
}

// drawnCorpus is a sample as the corpus of a fit.
type drawnCorpus []drawn

// corpus returns the sample in an order that does not depend on the parts.
func (s *draw) corpus() drawnCorpus {
	c := slices.Clone(s.kept)
	slices.SortFunc(c, func(a, b drawn) int { return cmp.Compare(a.number, b.number) })
	return c
}

func (c drawnCorpus) Len() int                   { return len(c) }
func (c drawnCorpus) Text(i int) (string, error) { return c[i].text, nil }
func (c drawnCorpus) Vector(i int) []float32     { return c[i].vector }

// nearest is the passage with the highest cosine with a vector.
func (c drawnCorpus) nearest(vector []float32) []float32 {
	var best []float32
	highest := float32(-2)
	for i := range c {
		if s := vec.Dot(c[i].vector, vector); s > highest {
			best, highest = c[i].vector, s
		}
	}
	return best
}

// fitSample fits a stack to the sample; its sufficient statistics are those of all passages.
func (r *Database) fitSample(ctx context.Context, c drawnCorpus, totals *ridge.Totals, o BridgeOptions) (w *modulate.Weights, rep engine.FitReport, err error) {
	sums, err := totals.Sums(ctx, r.o.Lambda)
	if err != nil {
		return nil, rep, err
	}
	w, trained, err := train.Fit(ctx, c, intake.Lent{Encoder: r.enc}, train.Options{
		Stack: o.Fit.Variant, Sums: sums, RLR: r.rlr(), Seed: o.Fit.Seed, QueriesPerPassage: o.Fit.QueriesPerPassage,
		MaxQueries: o.Fit.MaxQueries, Epochs: o.Fit.Epochs, AllCandidates: maxSample,
		Progress: func(stage string, done, total int, loss float64) {
			if o.Progress != nil {
				o.Progress(engine.Progress{Stage: stage, Done: done, Total: total, Loss: loss})
			}
		},
	})
	if err != nil {
		return nil, rep, fitting.Error(err)
	}
	rep = engine.FitReport{Variant: w.Stack, Passages: trained.Passages, Queries: trained.Queries, Seconds: trained.Took.Seconds(), FinalLoss: w.Loss}
	for _, p := range w.Probes {
		rep.Probes = append(rep.Probes, engine.ProbeScore(p))
	}
	rep.Default, rep.Choice, err = r.chooseFitted(ctx, c, sums, w, o.Fit.Seed)
	return w, rep, err
}

// chooseFitted measures RLR and the fitted stack on probes drawn from the sample and returns the name of the
// better one; a tie goes to RLR.
func (r *Database) chooseFitted(ctx context.Context, c drawnCorpus, sums *ridge.Sums, w *modulate.Weights, seed uint64) (best string, scores []engine.VariantScore, err error) {
	texts, targets, err := fitting.Probes(c, seed)
	if err != nil {
		return "", nil, err
	}
	closed, err := modulate.NewStack(modulate.RLR.Name, modulate.Parts{Sums: sums, RLR: r.rlr()})
	if err != nil {
		return "", nil, err
	}
	fitted, err := modulate.NewStack(w.Stack, modulate.Parts{Sums: sums, Weights: w, RLR: w.RLR})
	if err != nil {
		return "", nil, err
	}
	stack, err := modulate.ParseStack(w.Stack)
	if err != nil {
		return "", nil, err
	}
	ways := []modulate.Modulator{closed, fitted}
	scores = []engine.VariantScore{{Variant: modulate.RLR.Name}, {Variant: w.Stack}}
	for at := 0; at < len(texts); at += encodedAtOnce {
		part := texts[at:min(at+encodedAtOnce, len(texts))]
		out, err := r.enc.Encode(ctx, encoder.Query, encoder.Texts(part...), encoder.NeedDense|stack.Need())
		if err != nil {
			return "", nil, fmt.Errorf("encoding probes: %w", err)
		}
		for i, o := range out {
			in := modulate.Input{Tokens: o.Tokens.Words(part[i]), Dense: o.Dense, Hidden: o.Hidden, Logits: o.Logits, Ctx: ctx}
			for k, m := range ways {
				if vec.Dot(c.nearest(m.Modulate(nil, in)), c.Vector(targets[at+i])) > 0.99999 {
					scores[k].Found += 1 / float64(len(texts))
				}
			}
			if err := ctx.Err(); err != nil {
				return "", nil, err
			}
		}
	}
	if best = scores[0].Variant; scores[1].Found > scores[0].Found {
		best = scores[1].Variant
	}
	return best, scores, nil
}
