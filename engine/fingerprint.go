package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/store"
)

// Some encoders know their probe vectors only by calling a server, which may be down when the database is
// opened. They are asked together with the first texts that an open database encodes.

// prober is the state of such an encoder.
type prober struct {
	turn chan struct{} // holds a value while somebody asks
	done atomic.Bool   // it is the one that the database was filled with
}

func newProber() prober { return prober{turn: make(chan struct{}, 1)} }

// checkEncoder compares an encoder with the encoder that filled the database. An encoder whose model is
// accepted by name may have other probe vectors.
func (e *Engine) checkEncoder(want, got encoder.Fingerprint) error {
	err := intake.CheckSpace("database "+e.dir, e.metric, want, got)
	if err == nil || got.Model != e.o.AcceptModel {
		return err
	}
	without := got
	without.Probe = [4][]float32{}
	if other := encoder.Check("database "+e.dir, want, without); other != nil {
		return other
	}
	e.warn("the encoder is accepted by name, though its vectors differ from those that the database was filled with", "error", err)
	return nil
}

// unprobed reports whether the encoder must still be compared. An encoder of images knows its probe vectors
// or is accepted by name.
func (e *Engine) unprobed() bool {
	return e.images == nil && !e.probe.done.Load() && !e.enc.Fingerprint().Probed()
}

// probed starts the comparison of an encoder that does not know its probe vectors, and returns a function
// that waits for the result.
func (e *Engine) probed(ctx context.Context) (wait func() error) {
	if !e.unprobed() {
		return func() error { return nil }
	}
	result := make(chan error, 1)
	go func() { result <- e.compare(ctx, nil) }()
	return func() error { return <-result }
}

// compare makes one comparison at a time, and none after the first success. filled are probe vectors that
// came with documents; if none are stored yet, these become the stored ones. With nil it requests them from
// the encoder, if there are stored ones to compare with.
func (e *Engine) compare(ctx context.Context, filled []encoder.Output) error {
	select {
	case e.probe.turn <- struct{}{}:
		defer func() { <-e.probe.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	want, err := intake.StoredFingerprint(e.st.Manifest())
	if err != nil || e.probe.done.Load() || !want.Probed() && filled == nil {
		return err
	}
	if filled == nil {
		filled, err = e.enc.Encode(ctx, encoder.Passage, encoder.Texts(encoder.ProbeTexts[:]...), encoder.NeedDense)
		if err != nil {
			return fmt.Errorf("encoding the probe texts: %w", err)
		}
	}
	got := e.enc.Fingerprint()
	got.Unrelated = want.Unrelated
	for i, o := range filled {
		got.Probe[i] = o.Dense
	}
	if want.Probed() {
		if err = e.checkEncoder(want, got); err != nil {
			err = fmt.Errorf("encoder %s answers otherwise than when database %s was filled: %w; if its vectors can be compared all the same, set Options.AcceptModel to %q",
				got.Model, e.dir, err, got.Model)
		}
	} else {
		err = e.st.SetManifest(ctx, func(m *store.Manifest) (err error) {
			m.Encoder, err = json.Marshal(got)
			return err
		})
	}
	if err == nil {
		e.probe.done.Store(true)
	}
	return err
}

// cone is the mean cosine of unrelated texts with the encoder (encoder.Unrelated).
type cone struct{ bits atomic.Uint64 }

// unrelated is the mean cosine of unrelated texts, 0 if unknown.
func (c *cone) unrelated() float64 { return math.Float64frombits(c.bits.Load()) }

func (c *cone) set(unrelated float64) { c.bits.Store(math.Float64bits(unrelated)) }

// uncalibrated reports whether the encoder must be measured when it encodes records: it has not been measured, and some
// records lack vectors.
func (e *Engine) uncalibrated(records []record) bool {
	lacks := func(r record) bool { return !r.later && (len(r.Rows) == 0 || r.Rows[0].Vector == nil) }
	return e.cone.unrelated() == 0 && e.images == nil && e.metric.Directions() && slices.ContainsFunc(records, lacks)
}

// calibrate measures the encoder and stores the result with its fingerprint: with the first documents, or with the next
// ones if an older version made the database. Fusion weights cosines by it.
func (e *Engine) calibrate(ctx context.Context) error {
	return e.calibrateBy(ctx, func() (float64, error) { return unrelatedOf(ctx, e.enc) })
}

// calibrateBy stores the result of measure, unless another call was first.
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

// unrelated caches the measurements of encoders with known probe vectors, by fingerprint, since a server may open a
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
