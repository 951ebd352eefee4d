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
	"github.com/lexsem/lexsem/modulate/ridge"
)

// A bridge file is a snapshot with the totals of a corpus (ridge.Totals) and, in section
// "source", a bridgeSource as JSON.
const (
	bridgeKind    = "bridge of a backend"
	bridgeVersion = 1
	sourceSection = "source"
)

// bridgeSource tells what a bridge file was made of.
type bridgeSource struct {
	Backend  string              `json:"backend"`
	Encoder  encoder.Fingerprint `json:"encoder"`
	Writes   uint64              `json:"writes"` // BackendStatus.Writes before the first passage was read
	Passages int                 `json:"passages"`
	Made     time.Time           `json:"made"`
}

// BridgeReport tells what a MakeBridge did.
type BridgeReport struct {
	Passages int
	Writes   uint64 // those of the Backend that the bridge knows of
	Parts    int
}

// MakeBridge reads all passages of the Backend, in parts beside each other, and writes
// what RLR asks of them to a file, which takes the place of one that is there at once. The
// totals of the parts merge into those of the whole. What is written meanwhile it may know or not: Trace.Stale
// counts from the moment it began. Every Remote that has the file as its
// OverOptions.Bridge reads it again. It needs no encoder. Errors: ErrInvalid for passages of an encoder without
// a tokenizer. Memory: 8·Dim bytes for each token of the vocabulary that occurs, for each part. Cost: one scan.
func (r *Remote) MakeBridge(ctx context.Context, path string, parts int, progress func(Progress)) (_ BridgeReport, err error) {
	ctx, done, err := r.call(ctx)
	if err != nil {
		return BridgeReport{}, err
	}
	defer done(&err)
	switch {
	case r.info.Encoder.VocabSize == 0:
		return BridgeReport{}, fmt.Errorf("%w: encoder %q has no tokenizer, so there are no tokens to make a bridge of; use one that has", ErrInvalid, r.info.Encoder.Model)
	case parts < 0 || parts > 256:
		return BridgeReport{}, fmt.Errorf("%w: a bridge of %d parts; use 1 to 256, or 0 for 1", ErrInvalid, parts)
	}
	parts = max(parts, 1)
	before, err := r.b.Status(ctx)
	if err != nil {
		return BridgeReport{}, err
	}
	whole, err := r.totals(ctx, parts, before.Passages, progress)
	if err != nil {
		return BridgeReport{}, err
	}
	source := bridgeSource{r.b.Name(), r.info.Encoder, before.Writes, whole.Len(), time.Now().UTC().Truncate(time.Second)}
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
		return ctx.Err()
	})
	if err != nil {
		return BridgeReport{}, fmt.Errorf("writing bridge %s: %w", path, err)
	}
	return BridgeReport{Passages: whole.Len(), Writes: before.Writes, Parts: parts}, nil
}

// totals are those of all passages.
func (r *Remote) totals(ctx context.Context, parts, total int, progress func(Progress)) (*ridge.Totals, error) {
	all := make([]*ridge.Totals, parts)
	var mu sync.Mutex // guards read, and calls of progress
	read := 0
	g, within := errgroup.WithContext(ctx)
	for i := range parts {
		g.Go(func() error {
			t, err := ridge.NewTotals(r.info.Dim, r.info.Encoder.VocabSize)
			if err != nil {
				return err
			}
			all[i] = t
			for p, err := range r.b.Scan(within, Filter{}, ScanOptions{Part: i, Parts: parts}) {
				if err != nil {
					return err
				}
				if err := t.Add(p.Vector, p.Tokens); err != nil {
					return fmt.Errorf("document %q, chunk %d: %w", p.ID, p.Chunk, err)
				}
				if progress != nil {
					mu.Lock()
					if read++; read%1000 == 0 {
						progress(Progress{Stage: "bridge", Done: read, Total: total})
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
	for _, t := range all[1:] {
		if err := all[0].Merge(t); err != nil {
			return nil, err
		}
	}
	return all[0], ctx.Err()
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
	source, totals, err := readBridge(r.o.Bridge)
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
	r.bridge.Store(&state.State{Seq: source.Writes, Metric: r.metric, Sums: sums, Modulators: new(sync.Map)})
	return at, nil
}

// readBridge reads a bridge file.
func readBridge(path string) (source bridgeSource, t *ridge.Totals, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bridge %s: %w", path, err)
		}
	}()
	f, err := snapshot.Open(path)
	if err != nil {
		return source, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	defer snapshot.Guard(&err)()
	if err := f.Expect(bridgeKind, bridgeVersion); err != nil {
		return source, nil, err
	}
	section, err := f.Section(sourceSection)
	if err != nil {
		return source, nil, err
	}
	raw, err := section.All()
	if err != nil {
		return source, nil, err
	}
	if err := json.Unmarshal(raw, &source); err != nil {
		return source, nil, fmt.Errorf("%w: section %s: %v", ErrCorrupt, sourceSection, err)
	}
	t, err = ridge.OpenTotals(f)
	return source, t, err
}

// stale is how many passages were written or deleted since the bridge was made.
func (r *Remote) stale(s *state.State, now BackendStatus) int {
	if s.Sums == nil || now.Writes < s.Seq {
		return 0
	}
	return int(now.Writes - s.Seq)
}
