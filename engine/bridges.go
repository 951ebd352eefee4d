package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// bridgesDir holds the files of fitted bridges, below the database's folder.
const bridgesDir = "bridges"

// bridge is one fitted variant in use. A damaged file keeps its error: queries
// for the variant get it, other variants work.
type bridge struct {
	store.Bridge
	weights *modulate.Weights
	err     error
	fresh   int // live documents that came after the fit; guarded by Engine.mu
}

// loadBridges reads the bridges that the manifest names.
func (e *Engine) loadBridges() error {
	m := e.st.Manifest()
	bridges := make(map[string]*bridge, len(m.Bridges))
	for variant, b := range m.Bridges {
		br := &bridge{Bridge: b, fresh: e.metadata.After(b.Last)}
		br.weights, br.err = e.readBridge(variant, b)
		if br.err != nil && !errors.Is(br.err, store.ErrCorrupt) {
			return br.err
		}
		if br.err != nil {
			e.warn("fitted bridge is not usable", "variant", variant, "error", br.err)
		}
		bridges[variant] = br
	}
	e.bridges, e.standard, e.auto = bridges, m.Default, m.Auto
	e.mods = map[string]modulate.Modulator{}
	if !e.o.ReadOnly {
		e.tidyBridges()
	}
	return nil
}

// tidyBridges removes the files of bridges that the manifest does not name: what
// a fit leaves that was killed, or could not write the manifest, behind its file.
func (e *Engine) tidyBridges() {
	dir := filepath.Join(e.dir, bridgesDir)
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.warn("unused bridges are not removed", "error", err)
	}
	named := map[string]bool{}
	for _, b := range e.bridges {
		named[filepath.Base(b.File)] = true
	}
	for _, f := range files {
		if name := f.Name(); !named[name] && strings.Contains(name, ".bridge") {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				e.warn("an unused bridge is not removed", "file", name, "error", err)
			}
		}
	}
}

// readBridge reads and checks one file.
func (e *Engine) readBridge(variant string, b store.Bridge) (*modulate.Weights, error) {
	path := filepath.Join(e.dir, bridgesDir, filepath.Base(b.File))
	damaged := func(why string) error {
		return fmt.Errorf("%w: bridge %s: %s; run fit --variant %s again, or search with another variant", store.ErrCorrupt, path, why, variant)
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, damaged("the file is missing")
	}
	if err != nil {
		return nil, err
	}
	if digest(raw) != b.CRC32C {
		return nil, damaged("it is not the file that the manifest names")
	}
	w, err := modulate.Decode(raw)
	if err != nil {
		return nil, damaged(err.Error())
	}
	if err := w.CheckEncoder("bridge "+path, e.fp); err != nil {
		return nil, err
	}
	return w, nil
}

// saveBridge writes a fitted bridge and makes it the one in use, and auto, if it
// is not empty, what queries without a variant get.
func (e *Engine) saveBridge(ctx context.Context, w *modulate.Weights, last uint64, probes []ProbeScore, auto string) (string, error) {
	file, crc, err := e.writeBridge(w)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(probes)
	if err != nil {
		return "", err
	}
	b := store.Bridge{File: file, CRC32C: crc, Seq: w.Seq, Last: last, Passages: w.Passages, Probes: raw}
	var before store.Bridge
	if err := e.st.SetManifest(ctx, func(m *store.Manifest) error {
		if m.Bridges == nil {
			m.Bridges = map[string]store.Bridge{}
		}
		before = m.Bridges[w.Stack]
		m.Bridges[w.Stack], m.Default, m.Auto = b, w.Stack, auto
		return nil
	}); err != nil {
		return "", err
	}
	e.mu.Lock()
	// Documents that came while the fit ran are fresh; a commit that is not
	// applied yet counts itself when it is.
	e.bridges[w.Stack] = &bridge{Bridge: b, weights: w, fresh: e.metadata.After(last)}
	e.standard, e.auto = w.Stack, auto
	delete(e.mods, w.Stack)
	e.mu.Unlock()
	if before.File != "" && before.File != file {
		if err := os.Remove(filepath.Join(e.dir, bridgesDir, filepath.Base(before.File))); err != nil && !errors.Is(err, os.ErrNotExist) {
			e.warn("old bridge not removed", "file", before.File, "error", err)
		}
	}
	return file, nil
}

// writeBridge writes w to a file named after its content.
func (e *Engine) writeBridge(w *modulate.Weights) (file string, crc uint32, err error) {
	raw, err := w.Encode()
	if err != nil {
		return "", 0, err
	}
	dir := filepath.Join(e.dir, bridgesDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", 0, err
	}
	crc = digest(raw)
	file = fmt.Sprintf("%s-%08x.bridge", w.Stack, crc)
	if err := store.WriteFileAtomic(filepath.Join(dir, file), raw); err != nil {
		return "", 0, fmt.Errorf("saving the bridge: %w", err)
	}
	return file, crc, nil
}

// digest is the CRC-32C of a bridge file up to its own checksum: taken over the
// whole file it would be the same for every intact one.
func digest(raw []byte) uint32 {
	return crc32.Checksum(raw[:max(0, len(raw)-4)], crc32.MakeTable(crc32.Castagnoli))
}

// countFresh keeps the bridges' counts of unfitted documents. The caller
// holds mu exclusively.
func (e *Engine) countFresh(c store.Change) {
	for _, b := range e.bridges {
		if c.New > b.Last {
			b.fresh++
		}
		if c.Old > b.Last {
			b.fresh--
		}
	}
}

// way is how a query's variant moves its vector: by a stack, by the local
// bridges, by both, or not at all.
type way struct {
	name  string // canonical; VariantNone where nothing moves it
	stack modulate.Stack
	any   bool // stack has parts
	local bool
	with  modulate.Modulator // of the stack, in place of the one in use; nil but for a bridge that is measured before it is
}

// way resolves the variant of a query; "" is the best there is, or the best that
// gives one vector where single is set. The caller holds mu.
func (e *Engine) way(variant string, single bool) (way, error) {
	if variant == "" {
		variant = e.best(single)
	}
	w := way{name: VariantNone}
	if variant == VariantNone || variant == "dense" {
		return w, nil
	}
	var parts []string
	for _, name := range strings.Split(variant, "+") {
		if strings.TrimSpace(name) != VariantLocal {
			parts = append(parts, name)
		} else if w.local {
			return w, fmt.Errorf("%w: variant %q names %s twice", ErrInvalid, variant, VariantLocal)
		} else {
			w.local = true
		}
	}
	if w.local && single {
		return w, fmt.Errorf("%w: variant %s has a vector for each cell of the corpus, not one; use %s or a fitted bridge", ErrInvalid, VariantLocal, modulate.RLR.Name)
	}
	if len(parts) == 0 {
		w.name = VariantLocal
		return w, nil
	}
	var err error
	if w.stack, err = modulate.ParseStack(strings.Join(parts, "+")); err != nil {
		return w, fmt.Errorf("%w: %w; or %s, or %s", ErrInvalid, err, VariantLocal, VariantNone)
	}
	if w.local && w.stack.Has(modulate.RLR.Name) {
		return w, fmt.Errorf("%w: variant %q: %s takes the place of %s; name one of them", ErrInvalid, variant, VariantLocal, modulate.RLR.Name)
	}
	w.any, w.name = true, w.stack.Name()
	if w.local {
		names := append(strings.Split(w.name, "+"), VariantLocal)
		slices.Sort(names)
		w.name = strings.Join(names, "+")
	}
	return w, nil
}

// best is the variant of a query that names none: what the last fit has chosen,
// else the local bridges; and the last fitted one, else RLR, where it must be a
// single vector.
func (e *Engine) best(single bool) string {
	switch {
	case !single && e.auto != "":
		return e.auto
	case e.standard != "":
		return e.standard // of a fit that chose nothing
	case single:
		return modulate.RLR.Name
	}
	return VariantLocal
}

// need is the tensors that a query of this way wants of its encoder.
func (w way) need() encoder.Need {
	if !w.any {
		return encoder.NeedDense
	}
	return w.stack.Need()
}

// modulator returns the modulator of a stack, and how many documents its bridge
// has not seen. The caller holds mu.
func (e *Engine) modulator(s modulate.Stack) (modulate.Modulator, int, error) {
	unfitted := 0
	b := e.bridges[s.Name()]
	if s.Fitted() {
		switch {
		case b == nil:
			return nil, 0, fmt.Errorf("variant %s: %w; run fit --variant %s first", s.Name(), ErrNotFitted, s.Name())
		case b.err != nil:
			return nil, 0, b.err
		}
		unfitted = b.fresh
	}
	e.modMu.Lock()
	defer e.modMu.Unlock()
	if m := e.mods[s.Name()]; m != nil {
		return m, unfitted, nil
	}
	p := modulate.Parts{Sums: e.sums.Sums, RLR: modulate.RLROptions{Alpha: e.o.Alpha, Lambda: e.o.Lambda}}
	if b != nil {
		p.Weights, p.RLR = b.weights, b.weights.RLR
	}
	m, err := modulate.NewStack(s.Name(), p)
	if err == nil {
		e.mods[s.Name()] = m
	}
	return m, unfitted, err
}

// bridgeStats describes the bridges, by name. The caller holds mu.
func (e *Engine) bridgeStats() ([]BridgeStats, error) {
	var all []BridgeStats
	for variant, b := range e.bridges {
		s := BridgeStats{Variant: variant, File: b.File, Seq: b.Seq, Passages: b.Passages, Unfitted: b.fresh}
		if len(b.Probes) > 0 {
			if err := json.Unmarshal(b.Probes, &s.Probes); err != nil {
				return nil, fmt.Errorf("%w: probes of bridge %s: %v", store.ErrCorrupt, variant, err)
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b BridgeStats) int { return bytes.Compare([]byte(a.Variant), []byte(b.Variant)) })
	return all, nil
}
