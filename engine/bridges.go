package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// loadBridges reads the bridges that the manifest names into the first state.
func (e *Engine) loadBridges(s *state.State) error {
	m := e.st.Manifest()
	s.Bridges = make(map[string]*state.Bridge, len(m.Bridges))
	for variant, b := range m.Bridges {
		br := &state.Bridge{Bridge: b, Fresh: s.Columns.After(b.Last)}
		br.Weights, br.Err = e.readBridge(variant, b)
		if br.Err != nil && !errors.Is(br.Err, ErrCorrupt) {
			return br.Err
		}
		if br.Err != nil {
			e.warn("fitted bridge is not usable", "variant", variant, "error", br.Err)
		}
		s.Bridges[variant] = br
	}
	s.Standard, s.Auto = m.Default, m.Auto
	if !e.o.ReadOnly {
		e.tidyBridges(s.Bridges)
	}
	return nil
}

// tidyBridges removes files of bridges that the manifest does not name. A fit leaves them if it was killed or
// could not write the manifest. It keeps other files, even if they have the name of a bridge.
func (e *Engine) tidyBridges(bridges map[string]*state.Bridge) {
	dir := filepath.Join(e.dir, state.BridgesDir)
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.warn("unused bridges are not removed", "error", err)
	}
	named := map[string]bool{}
	for _, b := range bridges {
		named[filepath.Base(b.File)] = true
	}
	for _, f := range files {
		if name := f.Name(); !named[name] && f.Type().IsRegular() && bridgeName.MatchString(name) {
			path := filepath.Join(dir, name)
			raw, err := os.ReadFile(path)
			if err == nil && !strings.HasSuffix(name, fmt.Sprintf("-%08x.bridge", state.BridgeDigest(raw))) {
				continue
			}
			if err = errors.Join(err, os.Remove(path)); err != nil {
				e.warn("an unused bridge is not removed", "file", name, "error", err)
			}
		}
	}
}

// bridgeName matches the file names of writeBridge: the variant, then the digest.
var bridgeName = regexp.MustCompile(`^[a-z0-9+-]+-[0-9a-f]{8}\.bridge$`)

// readBridge reads and checks one file.
func (e *Engine) readBridge(variant string, b store.Bridge) (*modulate.Weights, error) {
	path := filepath.Join(e.dir, state.BridgesDir, filepath.Base(b.File))
	damaged := func(why string) error {
		return fmt.Errorf("%w: bridge %s: %s; fit variant %s again, or search with another", ErrCorrupt, path, why, variant)
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, damaged("the file is missing")
	}
	if err != nil {
		return nil, err
	}
	if state.BridgeDigest(raw) != b.CRC32C {
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

// saveBridge writes a fitted bridge and puts it into use. auto, if not empty, becomes the default variant.
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
	// The manifest already names the bridge, so the remaining steps must not be cancelled.
	err = e.db.SetBridges(context.WithoutCancel(ctx), func(s *state.State, bridges map[string]*state.Bridge) {
		// Documents that came while the fit ran are fresh.
		bridges[w.Stack] = &state.Bridge{Bridge: b, Weights: w, Fresh: s.Columns.After(last)}
		s.Standard, s.Auto = w.Stack, auto
	})
	if err != nil {
		return "", err
	}
	if before.File != "" && before.File != file {
		if err := os.Remove(filepath.Join(e.dir, state.BridgesDir, filepath.Base(before.File))); err != nil && !errors.Is(err, os.ErrNotExist) {
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
	crc = state.BridgeDigest(raw)
	file = fmt.Sprintf("%s-%08x.bridge", w.Stack, crc)
	if err := store.Folder(e.dir).WriteBridge(file, raw); err != nil {
		return "", 0, fmt.Errorf("saving the bridge: %w", err)
	}
	return file, crc, nil
}

// bridgeStats describes the bridges, by name.
func bridgeStats(bridges map[string]*state.Bridge) ([]BridgeStats, error) {
	var all []BridgeStats
	for variant, b := range bridges {
		s := BridgeStats{Variant: variant, File: b.File, Seq: b.Seq, Passages: b.Passages, Unfitted: b.Fresh}
		if len(b.Probes) > 0 {
			if err := json.Unmarshal(b.Probes, &s.Probes); err != nil {
				return nil, fmt.Errorf("%w: probes of bridge %s: %v", ErrCorrupt, variant, err)
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b BridgeStats) int { return strings.Compare(a.Variant, b.Variant) })
	return all, nil
}

// ImportOptions configure ImportBridge.
type ImportOptions struct {
	// Variant is the stack that the imported bridge belongs to, with one fitted part; "" means "slr".
	Variant string
	// SameEncoder confirms that the bridge was trained with this database's encoder, for a file that does not say so.
	SameEncoder bool
}

// ImportBridge adds a bridge that was trained elsewhere, from a safetensors file in the format of modulate.Import.
// Afterwards queries that name no variant use it. All stored documents count as not seen by the bridge.
//
// Errors: *encoder.MismatchError for a file of another encoder; ErrInvalid for a file that cannot be used.
func (e *Engine) ImportBridge(ctx context.Context, path string, o ImportOptions) (_ FitReport, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return FitReport{}, err
	}
	defer done(&err)
	if err := e.metric.Needs("a bridge"); err != nil {
		return FitReport{}, err
	}
	if o.Variant == "" {
		o.Variant = modulate.SLR.Name
	}
	var trust encoder.Fingerprint
	if o.SameEncoder {
		trust = e.fp
	}
	w, err := modulate.Import(path, o.Variant, trust)
	if err != nil {
		for _, bad := range []error{modulate.ErrCorrupt, modulate.ErrOptions, modulate.ErrNoEncoder, modulate.ErrUnknownVariant} {
			if errors.Is(err, bad) {
				return FitReport{}, fmt.Errorf("%w: %w", ErrInvalid, err)
			}
		}
		return FitReport{}, err
	}
	if err := w.CheckEncoder("bridge "+path, e.fp); err != nil {
		return FitReport{}, err
	}
	file, err := e.saveBridge(ctx, w, 0, []ProbeScore{}, "")
	if err != nil {
		return FitReport{}, err
	}
	return FitReport{Variant: w.Stack, File: file}, nil
}
