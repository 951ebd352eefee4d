package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/bench/internal/parallel"
	"github.com/lexsem/lexsem/internal/stat"
)

// asked are the scores of a system on a task.
func (c *tuned) asked(ctx context.Context, task int, r Retriever) ([]float64, error) {
	hits, err := r.Retrieve(ctx, c.questions[task], min(c.plan.depth, c.plan.targets.Len()))
	if err != nil {
		return nil, err
	}
	return c.scores(task, hits)
}

func (c *tuned) scores(task int, hits [][]Hit) ([]float64, error) {
	t := c.plan.tasks[task]
	m := c.plan.metrics[:1]
	s, err := Evaluate(t.Qrels, t.rankings(c.plan.targets, hits, m[0].K), m)
	if err != nil {
		return nil, err
	}
	return s.Values[m[0].Name], nil
}

// try measures the system with constants, or remembers it.
func (t *tuner) try(ctx context.Context, cs Constants) (*trial, error) {
	key := cs.String()
	if done, ok := t.known[key]; ok {
		return done, nil
	}
	if err := t.prepare(ctx, cs); err != nil {
		return nil, fmt.Errorf("%s with %s: %w", t.System, key, err)
	}
	out := &trial{constants: cs}
	for _, c := range t.corpora {
		for i := range c.plan.tasks {
			scores, err := c.try(ctx, i, cs)
			if err != nil {
				return nil, fmt.Errorf("%s with %s on task %s of %s: %w", t.System, key, c.plan.tasks[i].Name, c.plan.corpus.Name, err)
			}
			out.scores = append(out.scores, scores)
		}
	}
	out.dev = t.aim(out.scores, DevHalf)
	if t.start == nil {
		t.start = out
	}
	sets, _ := t.asks(DevHalf)
	for _, at := range sets {
		s := t.sets[at]
		out.loss = max(out.loss, stat.Mean(s.values(t.start.scores[at], DevHalf))-stat.Mean(s.values(out.scores[at], DevHalf)))
	}
	t.known[key] = out
	if t.Progress != nil {
		t.Progress(Progress{Stage: "try " + key, Done: len(t.known), Total: len(t.known)})
	}
	return out, nil
}

// prepare makes ready what cs asks for but reranking, unless it stands already.
func (t *tuner) prepare(ctx context.Context, cs Constants) error {
	slow := cs.only(func(name string) bool { return !reranks(name) })
	if t.prepared == slow.String() {
		return nil
	}
	t.prepared = ""
	for _, c := range t.corpora {
		c.setting.Constants = slow
		var err error
		c.retriever, _, err = t.system.Prepare(ctx, c.setting)
		c.setting.Constants = nil
		if err != nil {
			return err
		}
		f, tokens := fusedOf(c.retriever)
		if f.fuseBy == nil {
			continue
		}
		c.candidates = nil
		for i, task := range c.plan.tasks {
			c.setting.Report(Progress{Stage: "candidates of " + task.Name + " of " + c.plan.corpus.Name, Total: len(task.Queries)})
			cs, err := f.gather(ctx, c.questions[i], max(fusionDepth, 2*min(c.plan.depth, c.plan.targets.Len())))
			if err == nil && tokens != nil {
				err = parallel.Each(ctx, len(cs), func(q int) error { return tokens.answer(ctx, c.questions[i][q], cs[q]) })
			}
			if err != nil {
				return err
			}
			c.candidates = append(c.candidates, cs)
		}
	}
	t.prepared = slow.String()
	return nil
}

// fusedOf is the fusion in a retriever, and what scores tokens behind it, nil for none.
func fusedOf(r Retriever) (fusedRetriever, *tokenScorer) {
	if behind, ok := r.(tokenRetriever); ok {
		f, _ := behind.leg.(fusedRetriever)
		return f, &behind.scorer
	}
	f, _ := r.(fusedRetriever)
	return f, nil
}

func (c *tuned) try(ctx context.Context, task int, cs Constants) ([]float64, error) {
	if c.candidates == nil {
		return c.asked(ctx, task, c.retriever)
	}
	f, tokens := fusedOf(c.retriever)
	if _, given := cs[tokensConstant]; tokens != nil && !given {
		cs = cs.with(tokensConstant, tokens.weight)
	}
	hits := make([][]Hit, len(c.questions[task]))
	k := min(c.plan.depth, c.plan.targets.Len())
	err := parallel.Each(ctx, len(hits), func(i int) error {
		some := slices.Clone(c.candidates[task][i])
		if err := f.fuseBy(cs, some, c.questions[task][i].Output.Tokens.Unknown()); err != nil {
			return err
		}
		hits[i] = bestOf(some, k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.scores(task, hits)
}
