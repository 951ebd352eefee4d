package engine

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
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

// uncalibrated says that the encoder is to be measured when it has encoded records: nobody has measured it, and some lack
// their vectors.
func (e *Engine) uncalibrated(records []record) bool {
	lacks := func(r record) bool { return len(r.Rows) == 0 || r.Rows[0].Vector == nil }
	return e.cone.unrelated() == 0 && e.images == nil && e.metric.Directions() && slices.ContainsFunc(records, lacks)
}

// calibrate measures the encoder and keeps the result with its fingerprint: with the first documents, and in a database
// that an older version made with the next ones. Fusion weighs cosines by it.
func (e *Engine) calibrate(ctx context.Context) error {
	return e.calibrateBy(ctx, func() (float64, error) { return unrelatedOf(ctx, e.enc) })
}

// calibrateBy keeps what measure says, unless another call was first.
func (e *Engine) calibrateBy(ctx context.Context, measure func() (float64, error)) error {
	select {
	case e.probe.turn <- struct{}{}:
		defer func() { <-e.probe.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.cone.unrelated() != 0 {
		return nil
	}
	c, err := measure()
	if err != nil || c == 0 {
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

// unrelated has what was measured of encoders that are known by their probe vectors, by fingerprint: a server may open a
// thousand databases of one model.
var unrelated sync.Map

func unrelatedOf(ctx context.Context, enc encoder.Encoder) (float64, error) {
	fp := enc.Fingerprint()
	fp.Unrelated = 0
	key, err := json.Marshal(fp)
	if err != nil {
		return 0, err
	}
	if c, ok := unrelated.Load(string(key)); ok && fp.Probed() {
		return c.(float64), nil
	}
	c, err := encoder.Unrelated(ctx, enc)
	if err == nil && fp.Probed() {
		unrelated.Store(string(key), c)
	}
	return c, err
}
