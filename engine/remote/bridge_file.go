package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// bridgeLook is the time between two looks at a bridge file.
const bridgeLook = 2 * time.Second

// bridgeFile identifies the version of the file in use.
type bridgeFile struct {
	changed time.Time
	size    int64
}

// startBridge reads the bridge file, if one is named, and follows its changes.
func (r *Database) startBridge(ctx context.Context) error {
	r.bridge.Store(&bridges{whole: &state.Modulation{Metric: r.metric, Modulators: new(sync.Map), Standard: search.None, Auto: search.None}})
	if r.o.Bridge == "" {
		return nil
	}
	at, err := r.loadBridge(ctx)
	if err != nil {
		return err
	}
	done, err := r.calls.Enter()
	if err != nil {
		return err
	}
	go func() {
		defer done()
		r.followBridge(at)
	}()
	return nil
}

// followBridge reads the file again whenever it has changed, until Close. If it cannot be read, the previous
// bridge stays in use.
func (r *Database) followBridge(at bridgeFile) {
	look := time.NewTicker(bridgeLook)
	defer look.Stop()
	for {
		select {
		case <-r.calls.Root().Done():
			return
		case <-look.C:
		}
		if i, err := os.Stat(r.o.Bridge); err == nil && i.ModTime().Equal(at.changed) && i.Size() == at.size {
			continue
		}
		now, err := r.loadBridge(r.calls.Root())
		if err != nil && r.calls.Root().Err() == nil && r.o.Logger != nil {
			r.o.Logger.Warn("the bridge file cannot be read; the one before stays in use", "file", r.o.Bridge, "error", err)
		}
		at = now // one that is damaged is read again when it changes
	}
}

// loadBridge puts the bridge file in use.
func (r *Database) loadBridge(ctx context.Context) (at bridgeFile, err error) {
	i, err := os.Stat(r.o.Bridge)
	if err != nil {
		return at, fmt.Errorf("bridge: %w; make it first", err)
	}
	at = bridgeFile{i.ModTime(), i.Size()}
	read, err := r.readBridge(ctx, r.o.Bridge)
	switch {
	case errors.Is(err, snapshot.ErrForeign):
		return at, fmt.Errorf("%w: bridge %s: %w; make it by lexsem bridge", engine.ErrInvalid, r.o.Bridge, err)
	case errors.Is(err, snapshot.ErrDamaged), errors.Is(err, modulate.ErrCorrupt):
		return at, fmt.Errorf("%w: bridge %s: %w", engine.ErrCorrupt, r.o.Bridge, err)
	case err != nil:
		return at, fmt.Errorf("bridge %s: %w", r.o.Bridge, err)
	}
	r.bridge.Store(read)
	return at, nil
}

// bridges holds the modulation from a bridge file: of the whole, and of values by their facts.
type bridges struct {
	writes uint64 // bridgeSource.Writes
	whole  *state.Modulation
	by     string
	values map[string]valueBridge
}

type valueBridge struct {
	*state.Modulation
	where string
}

// of returns the modulation for a query with a filter, and the filter of the passages that it was made from, "" for
// all. If several values qualify, it is that of the first value in the order of facts.
func (b *bridges) of(f engine.Filter) (*state.Modulation, string, error) {
	if len(b.values) == 0 {
		return b.whole, "", nil
	}
	facts, err := f.Demanded(b.by)
	if err != nil {
		return nil, "", err
	}
	for _, fact := range facts {
		if p, ok := b.values[fact]; ok {
			return p.Modulation, p.where, nil
		}
	}
	return b.whole, "", nil
}

// readBridge reads a bridge file, and computes all factors on all cores.
func (r *Database) readBridge(ctx context.Context, path string) (b *bridges, err error) {
	f, err := snapshot.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	defer snapshot.Guard(&err)()
	if err := f.Expect(bridgeKind, bridgeVersion); err != nil {
		return nil, err
	}
	source, fitted, err := readSource(f)
	if err != nil {
		return nil, err
	}
	if err := encoder.Check("it", source.Encoder, r.info.Encoder); err != nil {
		return nil, err
	}
	if fitted != nil {
		if err := fitted.CheckEncoder("what was fitted", source.Encoder); err != nil {
			return nil, err
		}
	}
	facts, err := source.facts()
	if err != nil {
		return nil, err
	}
	b = &bridges{writes: source.Writes, by: source.By, values: map[string]valueBridge{}}
	parts := make([]*state.Modulation, 1+len(source.Values))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range parts {
		g.Go(func() (err error) {
			defer snapshot.Guard(&err)()
			t, err := ridge.OpenTotals(f, i)
			if err != nil {
				return err
			}
			of := BridgeValue{"the whole", source.Passages}
			if i > 0 {
				of = source.Values[i-1]
			}
			if dim, vocab := t.Shape(); dim != r.info.Dim || vocab != r.info.Encoder.VocabSize || t.Len() != of.Passages {
				return fmt.Errorf("%w: %s: %d passages of dimension %d over %d tokens, and there are to be %d of %d over %d",
					engine.ErrCorrupt, of.Where, t.Len(), dim, vocab, of.Passages, r.info.Dim, r.info.Encoder.VocabSize)
			}
			sums, err := t.Sums(within, r.o.Lambda)
			if err != nil {
				return err
			}
			m := &state.Modulation{Metric: r.metric, Sums: sums, Modulators: new(sync.Map)}
			if fitted != nil {
				m.Bridges = map[string]*state.Bridge{fitted.Stack: {Bridge: store.Bridge{Seq: source.Writes, Passages: fitted.Passages}, Weights: fitted}}
				m.Standard, m.Auto = fitted.Stack, source.Default
			}
			parts[i] = m
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	b.whole = parts[0]
	for i, p := range source.Values {
		if p.Passages > 1 { // one alone has no direction of its own
			b.values[facts[i]] = valueBridge{parts[i+1], p.Where}
		}
	}
	return b, nil
}

// readSource reads the description in a bridge file, and the fitted weights.
func readSource(f *snapshot.File) (source bridgeSource, fitted *modulate.Weights, err error) {
	raw, err := sectionOf(f, sourceSection)
	if err != nil {
		return source, nil, err
	}
	if err := json.Unmarshal(raw, &source); err != nil {
		return source, nil, fmt.Errorf("%w: section %s: %v", engine.ErrCorrupt, sourceSection, err)
	}
	if len(source.Values) > maxValues {
		return source, nil, fmt.Errorf("%w: section %s has %d values", engine.ErrCorrupt, sourceSection, len(source.Values))
	}
	if source.Fitted == "" {
		return source, nil, nil
	}
	if raw, err = sectionOf(f, fittedSection); err != nil {
		return source, nil, err
	}
	if fitted, err = modulate.Decode(raw); err != nil {
		return source, nil, err
	}
	if fitted.Stack != source.Fitted || source.Default != fitted.Stack && source.Default != modulate.RLR.Name {
		return source, nil, fmt.Errorf("%w: it holds %s, and is to hold %s and go by %q", engine.ErrCorrupt, fitted.Stack, source.Fitted, source.Default)
	}
	return source, fitted, nil
}

// facts returns the facts of the values.
func (s bridgeSource) facts() ([]string, error) {
	var facts []string
	for _, p := range s.Values {
		f, err := filter.Parse(p.Where)
		if err != nil {
			return nil, fmt.Errorf("%w: section %s: %v", engine.ErrCorrupt, sourceSection, err)
		}
		of, err := f.Demanded(s.By)
		if err == nil && len(of) == 1 {
			_, err = filter.Value(of[0])
		}
		if err != nil || len(of) != 1 || slices.Contains(facts, of[0]) {
			return nil, fmt.Errorf("%w: section %s: %q is no value of %s, or there twice", engine.ErrCorrupt, sourceSection, p.Where, s.By)
		}
		facts = append(facts, of[0])
	}
	return facts, nil
}

// sectionOf returns the bytes of a section.
func sectionOf(f *snapshot.File, name string) ([]byte, error) {
	section, err := f.Section(name)
	if err != nil {
		return nil, err
	}
	return section.All()
}

// stale returns how many passages were written or deleted after the file was made.
func (b *bridges) stale(now Status) int {
	if b.whole.Sums == nil || now.Writes < b.writes {
		return 0
	}
	return int(now.Writes - b.writes)
}
