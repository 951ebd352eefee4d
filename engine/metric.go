package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// startMetric says by which metric the database compares, and refuses options that do
// not go with it. What there is in package metric holds for all else.
func (e *Engine) startMetric(m store.Manifest) (err error) {
	if e.metric, err = metric.Of(e.o.Metric); err != nil {
		return err
	}
	if len(m.Encoder) > 0 { // it is there
		made, err := metric.Of(m.Metric)
		if err != nil {
			return fmt.Errorf("database %s: %w, or a newer version of the program", e.dir, err)
		}
		if e.o.Metric != "" && e.metric.String() != made.String() {
			return fmt.Errorf("%w: database %s was made with metric %s, not %s; open it without a metric or build it anew", ErrInvalid, e.dir, made, e.metric)
		}
		e.metric = made
	}
	if c, ok := e.enc.(intake.Checked); ok {
		c.Metric = e.metric
		e.enc = c
	}
	if e.metric.Directions() {
		return nil
	}
	var errs []error
	if e.o.Local {
		errs = append(errs, e.metric.Needs("local bridges"))
	}
	if e.o.TokenStates != "" && e.o.TokenStates != TokenStatesOff {
		errs = append(errs, e.metric.Needs("token states"))
	}
	e.o.TokenStates = TokenStatesOff // for those that an import brings
	return errors.Join(errs...)
}

// sameLength is the most by which the lengths of two probe vectors of one model may
// differ, as a share, where lengths count.
const sameLength = 0.01

// checkSpace is encoder.Check for a database of a metric: where lengths count, those of
// the probe vectors must be the same as well.
func checkSpace(what string, by metric.Metric, want, got encoder.Fingerprint) error {
	if err := encoder.Check(what, want, got); err != nil || by.Directions() || !want.Probed() || !got.Probed() {
		return err
	}
	for i := range want.Probe {
		if a, b := length(want.Probe[i]), length(got.Probe[i]); math.Abs(a-b) > sameLength*a {
			return &encoder.MismatchError{What: what, Want: want, Got: got,
				Difference: []string{fmt.Sprintf("probe vector %d: length %.6g there, %.6g here", i, a, b)}}
		}
	}
	return nil
}

func length(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// scored is how many hits are scored between two looks at the context.
const scored = 256

// cosines sets dst to the cosines of q with the vectors of chunks.
func cosines(ctx context.Context, s *state.State, dst, q []float32, ids []uint64) error {
	for len(ids) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(scored, len(ids))
		if err := someCosines(s, dst[:n], q, ids[:n]); err != nil {
			return err
		}
		dst, ids = dst[n:], ids[n:]
	}
	return nil
}

func someCosines(s *state.State, dst, q []float32, ids []uint64) error {
	if s.Metric.Directions() {
		err := s.Vectors.Scores(dst, q, ids)
		for i, d := range dst {
			dst[i] = 1 - d
		}
		return err
	}
	for i, id := range ids {
		v := s.Vector(id)
		if v == nil {
			return fmt.Errorf("vector of chunk %d: %w", id, index.ErrCorrupt)
		}
		dst[i] = float32(metric.Cosine(q, v))
	}
	return nil
}
