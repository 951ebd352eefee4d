package engine

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/store"
)

// cone is how close the encoder places texts that have nothing to do with each other (encoder.Unrelated).
type cone struct{ bits atomic.Uint64 }

// unrelated is their mean cosine, 0 if it is not known.
func (c *cone) unrelated() float64 { return math.Float64frombits(c.bits.Load()) }

func (c *cone) set(unrelated float64) { c.bits.Store(math.Float64bits(unrelated)) }

// calibrate measures the encoder if nobody has, and keeps the result with its fingerprint: before the first documents
// are encoded, and in a database that an older version made before the next ones. Fusion weighs cosines by it.
func (e *Engine) calibrate(ctx context.Context, records []record) error {
	lacks := func(r record) bool { return len(r.Rows) == 0 || r.Rows[0].Vector == nil }
	if e.cone.unrelated() != 0 || e.images != nil || !e.metric.Directions() || !slices.ContainsFunc(records, lacks) {
		return nil
	}
	select {
	case e.probe.turn <- struct{}{}:
		defer func() { <-e.probe.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.cone.unrelated() != 0 { // another call was first
		return nil
	}
	c, err := encoder.Unrelated(ctx, e.enc)
	if err != nil {
		return err
	}
	err = e.st.SetManifest(ctx, func(m *store.Manifest) error {
		fp, err := intake.StoredFingerprint(*m)
		if err != nil {
			return err
		}
		fp.Unrelated = c
		m.Encoder, err = json.Marshal(fp)
		return err
	})
	if err == nil {
		e.cone.set(c)
	}
	return err
}
