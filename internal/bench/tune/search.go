package tune

import (
	"context"

	"github.com/lexsem/lexsem/internal/bench/constants"
)

// choose finds the constants with the best aim on the dev half.
func (t *tuner) choose(ctx context.Context) (*trial, error) {
	best, err := t.try(ctx, t.From)
	if err != nil {
		return nil, err
	}
	if t.Search == grid {
		return t.grid(ctx, best, t.From, t.Trials)
	}
	for moved := true; moved; {
		moved = false
		for _, constant := range t.Trials {
			for _, cs := range t.around(best.constants, constant) {
				next, err := t.try(ctx, cs)
				if err != nil {
					return nil, err
				}
				if next.better(best) {
					best, moved = next, true
				}
			}
		}
	}
	return best, nil
}

// grid tries all values of the constants ahead on top of at. Candidates are searched
// again for each value of the first constants, so constants that need a search should
// come first.
func (t *tuner) grid(ctx context.Context, best *trial, at constants.Values, ahead []Trial) (*trial, error) {
	if len(ahead) == 0 {
		next, err := t.try(ctx, at)
		if err == nil && next.better(best) {
			best = next
		}
		return best, err
	}
	var err error
	for _, cs := range t.around(at, ahead[0]) {
		if best, err = t.grid(ctx, best, cs, ahead[1:]); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// better reports whether tr should be preferred to other.
func (tr *trial) better(other *trial) bool {
	return tr.loss <= tolerance+1e-9 && tr.dev.better(other.dev)
}

// around returns the points that differ from at in the value of one constant; the start's
// value comes first.
func (t *tuner) around(at constants.Values, of Trial) []constants.Values {
	first := at.Only(func(name string) bool { return name != of.Name })
	if v, ok := t.From[of.Name]; ok {
		first[of.Name] = v
	}
	out := []constants.Values{first}
	for _, v := range of.Values {
		if cs := at.With(of.Name, v); cs.String() != first.String() {
			out = append(out, cs)
		}
	}
	return out
}
