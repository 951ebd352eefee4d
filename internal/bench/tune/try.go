package tune

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/stat"
)

// try measures the system with the constants, or returns an earlier measurement.
func (t *tuner) try(ctx context.Context, cs constants.Values) (*trial, error) {
	key := cs.String()
	if done, ok := t.known[key]; ok {
		return done, nil
	}
	out := &trial{constants: cs}
	for _, c := range t.corpora {
		scores, err := c.Try(ctx, t.system, cs)
		if err != nil {
			return nil, fmt.Errorf("%s with %s: %w", t.System, key, err)
		}
		out.scores = append(out.scores, scores...)
	}
	out.dev = t.aim(out.scores, bench.DevHalf)
	if t.start == nil {
		t.start = out
	}
	sets, _ := t.asks(bench.DevHalf)
	for _, at := range sets {
		s := t.sets[at]
		out.loss = max(out.loss, stat.Mean(s.values(t.start.scores[at], bench.DevHalf))-stat.Mean(s.values(out.scores[at], bench.DevHalf)))
	}
	t.known[key] = out
	if t.Progress != nil {
		t.Progress(bench.Progress{Stage: "try " + key, Done: len(t.known), Total: len(t.known)})
	}
	return out, nil
}
