package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/modulate/ridge"
	"github.com/lexsem/lexsem/store"
)

// A bridge file is a snapshot with the totals of a corpus (ridge.Totals), in section
// "source" a bridgeSource as JSON and, where a stack was fitted, in section "fitted" its modulate.Weights.
const (
	bridgeKind    = "bridge of a backend"
	bridgeVersion = 1
	sourceSection = "source"
	fittedSection = "fitted"
)

// bridgeSource tells what a bridge file was made of.
type bridgeSource struct {
	Backend  string              `json:"backend"`
	Encoder  encoder.Fingerprint `json:"encoder"`
	Writes   uint64              `json:"writes"` // BackendStatus.Writes before the first passage was read
	Passages int                 `json:"passages"`
	Made     time.Time           `json:"made"`
	Fitted   string              `json:"fitted,omitempty"`  // the stack that was fitted
	Default  string              `json:"default,omitempty"` // what queries without a variant get where one was
}

// BridgeOptions shape MakeBridge. The zero value fits nothing.
type BridgeOptions struct {
	// Parts are read beside each other, 1 to 256; 0 means 1.
	Parts int
	// Sample is to how many passages, drawn evenly from all while they are read, a stack is fitted, too, up to 200,000; 0
	// means to none. What a fit of so many loses against one of all, docs/SCALE.md tells.
	Sample int
	// Fit says how. Update is ErrInvalid; Progress is not read.
	Fit FitOptions
	// Progress, if not nil, is called from one goroutine at a time.
	Progress func(Progress)
}

// BridgeReport tells what a MakeBridge did.
type BridgeReport struct {
	Backend  string // Backend.Name
	Passages int
	Writes   uint64 // those of the Backend that the bridge knows of
	Parts    int
	Fit      FitReport // zero where nothing was fitted; of its fields File, Seq and Current are
}

func (o BridgeOptions) check() error {
	switch {
	case o.Parts < 0 || o.Parts > 256:
		return fmt.Errorf("%w: a bridge of %d parts; use 1 to 256, or 0 for 1", ErrInvalid, o.Parts)
	case o.Sample < 0 || o.Sample > maxSample:
		return fmt.Errorf("%w: a sample of %d passages; use 1 to %d, or 0 for no fit", ErrInvalid, o.Sample, maxSample)
	case o.Fit.Update:
		return fmt.Errorf("%w: a fit of a sample cannot update another; make it anew", ErrInvalid)
	}
	return nil
}

// MakeBridge reads all passages of the Backend, in parts beside each other, and writes
// what RLR asks of them to a file, which takes the place of one that is there at once. The
// totals of the parts merge into those of the whole. What is written meanwhile it may know or not: Trace.Stale
// counts from the moment it began. Every Remote that has the file as its
// OverOptions.Bridge reads it again. It needs an encoder where it fits. Errors: ErrInvalid for passages of an encoder without
// a tokenizer, or options out of their ranges; ErrNoEncoder. Memory: 8·Dim bytes for each token of the vocabulary that occurs, and the
// sample with its texts and vectors, for each part. Cost: one scan; a fit costs what Engine.Fit does of a corpus
// of the sample's size.
func (r *Remote) MakeBridge(ctx context.Context, path string, o BridgeOptions) (_ BridgeReport, err error) {
	ctx, done, err := r.call(ctx)
	if err != nil {
		return BridgeReport{}, err
	}
	defer done(&err)
	switch {
	case r.info.Encoder.VocabSize == 0:
		return BridgeReport{}, fmt.Errorf("%w: encoder %q has no tokenizer, so there are no tokens to make a bridge of; use one that has", ErrInvalid, r.info.Encoder.Model)
	case o.Sample > 0 && r.enc == nil:
		return BridgeReport{}, ErrNoEncoder
	}
	if err := o.check(); err != nil {
		return BridgeReport{}, err
	}
	o.Parts, o.Fit.Seed = max(o.Parts, 1), max(o.Fit.Seed, 1)
	before, err := r.b.Status(ctx)
	if err != nil {
		return BridgeReport{}, err
	}
	whole, drawn, err := r.totals(ctx, o, before.Passages)
	if err != nil {
		return BridgeReport{}, err
	}
	rep := BridgeReport{Backend: r.b.Name(), Passages: whole.Len(), Writes: before.Writes, Parts: o.Parts}
	source := bridgeSource{Backend: r.b.Name(), Encoder: r.info.Encoder, Writes: before.Writes, Passages: whole.Len()}
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
		whole.Save(w)
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

// totals are those of all passages, of which it draws a sample.
func (r *Remote) totals(ctx context.Context, o BridgeOptions, total int) (*ridge.Totals, *draw, error) {
	all := make([]*ridge.Totals, o.Parts)
	drawn := make([]*draw, o.Parts)
	var mu sync.Mutex // guards read, and calls of progress
	read := 0
	g, within := errgroup.WithContext(ctx)
	for i := range all {
		drawn[i] = &draw{most: o.Sample, seed: o.Fit.Seed}
		g.Go(func() error {
			t, err := ridge.NewTotals(r.info.Dim, r.info.Encoder.VocabSize)
			if err != nil {
				return err
			}
			all[i] = t
			for p, err := range r.b.Scan(within, Filter{}, ScanOptions{Part: i, Parts: o.Parts}) {
				if err != nil {
					return err
				}
				if err := t.Add(p.Vector, p.Tokens); err != nil {
					return fmt.Errorf("document %q, chunk %d: %w", p.ID, p.Chunk, err)
				}
				drawn[i].offer(&p)
				if o.Progress != nil {
					mu.Lock()
					if read++; read%1000 == 0 {
						o.Progress(Progress{Stage: "bridge", Done: read, Total: total})
					}
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for i, t := range all[1:] {
		if err := all[0].Merge(t); err != nil {
			return nil, nil, err
		}
		drawn[0].merge(drawn[i+1])
	}
	return all[0], drawn[0], ctx.Err()
}

// bridgeLook is how often a bridge file is looked at.
const bridgeLook = 2 * time.Second

// bridgeFile is what is known of the file that is in use.
type bridgeFile struct {
	changed time.Time
	size    int64
}

// startBridge reads the bridge, if there is to be one, and follows its file.
func (r *Remote) startBridge(ctx context.Context) error {
	none := &state.State{Metric: r.metric, Modulators: new(sync.Map), Standard: search.None, Auto: search.None}
	r.bridge.Store(none)
	if r.o.Bridge == "" {
		return nil
	}
	at, err := r.loadBridge(ctx)
	if err != nil {
		return err
	}
	r.calls.Add(1)
	go func() {
		defer r.calls.Done()
		r.followBridge(at)
	}()
	return nil
}

// followBridge reads the file again whenever it has changed, until Close. While it
// cannot be read the one before stays in use.
func (r *Remote) followBridge(at bridgeFile) {
	look := time.NewTicker(bridgeLook)
	defer look.Stop()
	for {
		select {
		case <-r.root.Done():
			return
		case <-look.C:
		}
		if i, err := os.Stat(r.o.Bridge); err == nil && i.ModTime().Equal(at.changed) && i.Size() == at.size {
			continue
		}
		now, err := r.loadBridge(r.root)
		if err != nil && r.root.Err() == nil && r.o.Logger != nil {
			r.o.Logger.Warn("the bridge file cannot be read; the one before stays in use", "file", r.o.Bridge, "error", err)
		}
		at = now // one that is damaged is read again when it changes
	}
}

// loadBridge puts the bridge file in use.
func (r *Remote) loadBridge(ctx context.Context) (at bridgeFile, err error) {
	i, err := os.Stat(r.o.Bridge)
	if err != nil {
		return at, fmt.Errorf("bridge: %w; make it first", err)
	}
	at = bridgeFile{i.ModTime(), i.Size()}
	source, totals, fitted, err := readBridge(r.o.Bridge)
	if err != nil {
		return at, err
	}
	if err := encoder.Check("bridge "+r.o.Bridge, source.Encoder, r.info.Encoder); err != nil {
		return at, err
	}
	sums, err := totals.Sums(ctx, r.o.Lambda)
	if err != nil {
		return at, fmt.Errorf("bridge %s: %w", r.o.Bridge, err)
	}
	s := &state.State{Seq: source.Writes, Metric: r.metric, Sums: sums, Modulators: new(sync.Map)}
	if fitted != nil {
		s.Bridges = map[string]*state.Bridge{fitted.Stack: {Bridge: store.Bridge{Seq: source.Writes, Passages: fitted.Passages}, Weights: fitted}}
		s.Standard, s.Auto = fitted.Stack, source.Default
	}
	r.bridge.Store(s)
	return at, nil
}

// readBridge reads a bridge file.
func readBridge(path string) (source bridgeSource, t *ridge.Totals, fitted *modulate.Weights, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bridge %s: %w", path, err)
		}
	}()
	f, err := snapshot.Open(path)
	if err != nil {
		return source, nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	defer snapshot.Guard(&err)()
	if err := f.Expect(bridgeKind, bridgeVersion); err != nil {
		return source, nil, nil, err
	}
	raw, err := sectionOf(f, sourceSection)
	if err != nil {
		return source, nil, nil, err
	}
	if err := json.Unmarshal(raw, &source); err != nil {
		return source, nil, nil, fmt.Errorf("%w: section %s: %v", ErrCorrupt, sourceSection, err)
	}
	if source.Fitted != "" {
		if raw, err = sectionOf(f, fittedSection); err != nil {
			return source, nil, nil, err
		}
		if fitted, err = modulate.Decode(raw); err != nil {
			return source, nil, nil, err
		}
		if err := fitted.CheckEncoder("bridge "+path, source.Encoder); err != nil {
			return source, nil, nil, err
		}
		if fitted.Stack != source.Fitted {
			return source, nil, nil, fmt.Errorf("%w: it holds %s, and is to hold %s", ErrCorrupt, fitted.Stack, source.Fitted)
		}
	}
	t, err = ridge.OpenTotals(f)
	return source, t, fitted, err
}

// sectionOf are the bytes of a section.
func sectionOf(f *snapshot.File, name string) ([]byte, error) {
	section, err := f.Section(name)
	if err != nil {
		return nil, err
	}
	return section.All()
}

// stale is how many passages were written or deleted since the bridge was made.
func (r *Remote) stale(s *state.State, now BackendStatus) int {
	if s.Sums == nil || now.Writes < s.Seq {
		return 0
	}
	return int(now.Writes - s.Seq)
}
