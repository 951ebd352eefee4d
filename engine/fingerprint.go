package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// Some encoders can be asked for the vectors of the probe texts only by asking
// whoever is behind them, who may be down while the database is opened. They are
// asked beside the first texts that an open database has for them.

// prober is what is known of such an encoder.
type prober struct {
	turn chan struct{} // holds a value while somebody asks
	done atomic.Bool   // it is the one that the database was filled with
}

func newProber() prober { return prober{turn: make(chan struct{}, 1)} }

// checkEncoder compares an encoder with the one that the database was filled with.
// Its model accepted by name may have other probe vectors.
func (e *Engine) checkEncoder(want, got encoder.Fingerprint) error {
	err := checkSpace("database "+e.dir, e.metric, want, got)
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

// unprobed says that the encoder is to be compared yet. One of images knows its probe vectors, or is taken by
// its name.
func (e *Engine) unprobed() bool {
	return e.images == nil && !e.probe.done.Load() && !e.enc.Fingerprint().Probed()
}

// probed begins to compare an encoder that does not know its probe vectors with
// the one that filled the database, and returns what waits for the result.
func (e *Engine) probed(ctx context.Context) (wait func() error) {
	if !e.unprobed() {
		return func() error { return nil }
	}
	result := make(chan error, 1)
	go func() { result <- e.compare(ctx, nil) }()
	return func() error { return <-result }
}

// compare is one comparison at a time, and none after the first that has agreed.
// filled are the vectors of the probe texts that came with documents, of which the
// first are stored; nil asks for them if there are some to compare with.
func (e *Engine) compare(ctx context.Context, filled []encoder.Output) error {
	select {
	case e.probe.turn <- struct{}{}:
		defer func() { <-e.probe.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	want, err := storedFingerprint(e.st.Manifest())
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

// storedFingerprint is that of the encoder a database was filled with.
func storedFingerprint(m store.Manifest) (f encoder.Fingerprint, err error) {
	if err := json.Unmarshal(m.Encoder, &f); err != nil {
		return f, fmt.Errorf("%w: encoder fingerprint in the manifest: %v", ErrCorrupt, err)
	}
	return f, nil
}

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

// sameLength is the most by which the lengths of two probe vectors of one model may
// differ, as a share, where lengths count.
const sameLength = 0.01

func length(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// describeNew is describe for a database that holds nothing yet, whose token states are
// decided on, too; "" says as usual.
func describeNew(m *store.Manifest, fp encoder.Fingerprint, by metric.Metric, language, tokenStates string) error {
	if fp.Model != "" && by.Directions() {
		m.TokenStates = cmp.Or(tokenStates, newTokenStates)
	}
	return describe(m, fp, by, language)
}

// describe writes into a manifest what a database is made for.
func describe(m *store.Manifest, fp encoder.Fingerprint, by metric.Metric, language string) error {
	raw, err := json.Marshal(fp)
	if err != nil {
		return fmt.Errorf("encoder fingerprint: %w", err)
	}
	m.Dim, m.Metric, m.Encoder, m.Language = fp.Dim, by.String(), raw, language
	return nil
}
