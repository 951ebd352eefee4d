package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// A bridge file is a snapshot with the totals of a corpus (ridge.Totals), followed by the totals of
// bridgeSource.Values, numbered from 1. Section "source" has a bridgeSource as JSON; section "fitted" has the
// modulate.Weights if a stack was fitted.
const (
	bridgeKind    = "bridge of a backend"
	bridgeVersion = 1
	sourceSection = "source"
	fittedSection = "fitted"
)

// bridgeSource describes the origin of a bridge file.
type bridgeSource struct {
	Backend  string              `json:"backend"`
	Encoder  encoder.Fingerprint `json:"encoder"`
	Writes   uint64              `json:"writes"` // Status.Writes before the first passage was read
	Passages int                 `json:"passages"`
	Made     time.Time           `json:"made"`
	Fitted   string              `json:"fitted,omitempty"`  // the stack that was fitted
	Default  string              `json:"default,omitempty"` // what queries without a variant get where one was
	By       string              `json:"by,omitempty"`      // the path whose values have totals of their own
	Values   []BridgeValue       `json:"values,omitempty"`
}

// BridgeValue is a value of the field BridgeOptions.By that has its own bridge.
type BridgeValue struct {
	Where    string `json:"where"` // filter of its passages, such as: lang = "en"
	Passages int    `json:"passages"`
}

// maxValues is the maximum number of values of a path that have their own totals.
const maxValues = 100

// BridgeOptions configure MakeBridge. The zero value fits nothing.
type BridgeOptions struct {
	// Parts is how many parts are read in parallel, 1 to 256; 0 means 1.
	Parts int
	// Sample is the number of passages, up to 200,000, to which a stack is also fitted; 0 means no fit. The sample is
	// drawn evenly while reading. docs/results/scale.md compares it with a fit to all passages.
	Sample int
	// By is a metadata field, such as "lang" or "tenant": each of its values gets its own bridge as well; "" means
	// none. A query uses it if its filter requires one value (`lang = "en" and year > 2020`), otherwise the bridge
	// of all passages.
	//
	// It takes up to 100 values: strings of up to 2,000 bytes, numbers, true and false. A value that only one
	// passage has uses the bridge of all passages.
	By string
	// Fit configures the fit. Update is ErrInvalid, and Progress is ignored.
	Fit engine.FitOptions
	// Progress, if not nil, reports the work. Only one goroutine calls it at a time.
	Progress func(engine.Progress)
}

// BridgeReport reports the result of MakeBridge.
type BridgeReport struct {
	Backend  string // Backend.Name
	Passages int
	Writes   uint64 // Status.Writes that the bridge includes
	Parts    int
	By       []BridgeValue    // values of BridgeOptions.By, most passages first
	Fit      engine.FitReport // zero without a fit; File, Seq and Current are always zero
}

func (o BridgeOptions) check() error {
	switch {
	case o.Parts < 0 || o.Parts > 256:
		return fmt.Errorf("%w: a bridge of %d parts; use 1 to 256, or 0 for 1", engine.ErrInvalid, o.Parts)
	case o.Sample < 0 || o.Sample > maxSample:
		return fmt.Errorf("%w: a sample of %d passages; use 1 to %d, or 0 for no fit", engine.ErrInvalid, o.Sample, maxSample)
	case o.Fit.Update:
		return fmt.Errorf("%w: a fit of a sample cannot update another; make it anew", engine.ErrInvalid)
	}
	return nil
}

// MakeBridge reads all passages of the Backend and writes their sufficient statistics for RLR to a file. The file
// replaces an existing one in one step. A Database reads the file again if Options.Bridge names it.
//
// Passages written meanwhile may be missing: Trace.Stale counts from the start of the call. A fit needs an encoder.
//
// Errors: ErrInvalid if the encoder has no tokenizer, an option is out of range, or By has too many values;
// ErrNoEncoder. Cost: one scan; a fit costs as much as Engine.Fit on a corpus of the sample's size. Memory: for each
// part, and again for each value of By, 12·Dim² bytes and 8·Dim for each distinct token; the sample with its texts
// and vectors.
func (r *Database) MakeBridge(ctx context.Context, path string, o BridgeOptions) (_ BridgeReport, err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return BridgeReport{}, err
	}
	defer done(&err)
	switch {
	case r.info.Encoder.VocabSize == 0:
		return BridgeReport{}, fmt.Errorf("%w: encoder %q has no tokenizer, so there are no tokens to make a bridge of; use one that has", engine.ErrInvalid, r.info.Encoder.Model)
	case o.Sample > 0 && r.enc == nil:
		return BridgeReport{}, engine.ErrNoEncoder
	}
	if err := o.check(); err != nil {
		return BridgeReport{}, err
	}
	o.Parts, o.Fit.Seed = max(o.Parts, 1), max(o.Fit.Seed, 1)
	before, err := r.b.Status(ctx)
	if err != nil {
		return BridgeReport{}, err
	}
	read, err := r.totals(ctx, o, before.Passages)
	if err != nil {
		return BridgeReport{}, err
	}
	whole, drawn := read.whole, read.drawn
	named, values, err := read.values()
	if err == nil && o.By != "" && len(named) == 0 && whole.Len() > 0 {
		err = fmt.Errorf("%w: no passage has a string, a number, true or false at %s; name a field of the metadata", engine.ErrInvalid, fault.Clip(o.By))
	}
	if err != nil {
		return BridgeReport{}, err
	}
	rep := BridgeReport{Backend: r.b.Name(), Passages: whole.Len(), Writes: before.Writes, Parts: o.Parts, By: named}
	source := bridgeSource{Backend: r.b.Name(), Encoder: r.info.Encoder, Writes: before.Writes, Passages: whole.Len(), By: o.By, Values: named}
	var weights []byte
	if o.Sample > 0 {
		w, fit, err := r.fitSample(ctx, drawn.corpus(), whole, o)
		if err != nil {
			return BridgeReport{}, err
		}
		if weights, err = w.Encode(); err != nil {
			return BridgeReport{}, err
		}
		rep.Fit, source.Fitted, source.Default = fit, w.Stack, fit.Default
	}
	source.Made = time.Now().UTC().Truncate(time.Second)
	raw, err := json.Marshal(source)
	if err != nil {
		return BridgeReport{}, err
	}
	err = snapshot.Write(path, snapshot.Header{Kind: bridgeKind, Version: bridgeVersion, Seq: before.Writes}, func(w *snapshot.Writer) error {
		w.Begin(sourceSection)
		if _, err := w.Write(raw); err != nil {
			return err
		}
		whole.Save(w, 0)
		for i, t := range values {
			t.Save(w, i+1)
		}
		if weights != nil {
			w.Begin(fittedSection)
			if _, err := w.Write(weights); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return BridgeReport{}, fmt.Errorf("writing bridge %s: %w", path, err)
	}
	return rep, nil
}

// reading holds the data read from some passages: their totals, the totals of each value of a path by its fact, and
// a sample.
type reading struct {
	whole *ridge.Totals
	by    map[string]*ridge.Totals
	drawn *draw
}

// add adds a passage.
func (r *reading) add(p *Passage, path string) error {
	add := func(t *ridge.Totals) error {
		if err := t.Add(p.Vector, p.Tokens); err != nil {
			return fmt.Errorf("document %q, chunk %d: %w", p.ID, p.Chunk, err)
		}
		return nil
	}
	if err := add(r.whole); err != nil || path == "" {
		return err
	}
	for _, fact := range filter.Values(p.Facts, path) {
		t := r.by[fact]
		if t == nil {
			if len(r.by) == maxValues {
				return tooManyValues(path)
			}
			t = r.whole.Empty()
			r.by[fact] = t
		}
		if err := add(t); err != nil {
			return err
		}
	}
	return nil
}

func tooManyValues(path string) error {
	return fmt.Errorf("%w: %s has more than %d values, each of which would have a bridge of its own; choose a field with fewer", engine.ErrInvalid, fault.Clip(path), maxValues)
}

// merge adds the data read from other passages.
func (r *reading) merge(o *reading, path string) error {
	if err := r.whole.Merge(o.whole); err != nil {
		return err
	}
	for fact, t := range o.by {
		if r.by[fact] == nil {
			r.by[fact] = t
		} else if err := r.by[fact].Merge(t); err != nil {
			return err
		}
	}
	if len(r.by) > maxValues {
		return tooManyValues(path)
	}
	r.drawn.merge(o.drawn)
	return nil
}

// values returns the values that have totals, most passages first.
func (r *reading) values() (named []BridgeValue, totals []*ridge.Totals, err error) {
	for _, fact := range slices.SortedFunc(maps.Keys(r.by), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.by[b].Len(), r.by[a].Len()), cmp.Compare(a, b))
	}) {
		f, err := filter.Value(fact)
		if err != nil {
			return nil, nil, err
		}
		named, totals = append(named, BridgeValue{f.String(), r.by[fact].Len()}), append(totals, r.by[fact])
	}
	return named, totals, nil
}

// totals reads all passages and returns their totals and a sample.
func (r *Database) totals(ctx context.Context, o BridgeOptions, total int) (*reading, error) {
	all := make([]*reading, o.Parts)
	var mu sync.Mutex // guards read, and calls of progress
	read := 0
	g, within := errgroup.WithContext(ctx)
	for i := range all {
		g.Go(func() error {
			whole, err := ridge.NewTotals(r.info.Dim, r.info.Encoder.VocabSize)
			if err != nil {
				return err
			}
			all[i] = &reading{whole, map[string]*ridge.Totals{}, &draw{most: o.Sample, seed: o.Fit.Seed}}
			for p, err := range r.b.Scan(within, engine.Filter{}, ScanOptions{Part: i, Parts: o.Parts}) {
				if err != nil {
					return err
				}
				if err := all[i].add(&p, o.By); err != nil {
					return err
				}
				all[i].drawn.offer(&p)
				if o.Progress != nil {
					mu.Lock()
					if read++; read%1000 == 0 {
						o.Progress(engine.Progress{Stage: "bridge", Done: read, Total: total})
					}
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, part := range all[1:] {
		if err := all[0].merge(part, o.By); err != nil {
			return nil, err
		}
	}
	return all[0], ctx.Err()
}
