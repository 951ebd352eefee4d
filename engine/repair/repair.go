// Package repair makes a damaged database usable. [Run] rebuilds derived state in place, or saves the documents that can
// be read into a new database.
package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/engine/internal/terms"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Report reports what Run found and did.
type Report struct {
	// Dir is the sound database: the given one, or the new one if records were damaged.
	Dir      string
	Salvaged bool // Dir is a new database
	Rebuilt  bool // derived state was rebuilt in place
	// Saved counts the documents in the new database, Lost those that could not be read, as far as known. Names are
	// known ids of lost documents, at most 10,000.
	Saved, Lost int
	Names       []string
	// Uncertain says that records of later changes may be lost: a document may be an older version, or may have been
	// deleted.
	Uncertain bool
	Damage    []string // what was wrong, at most some hundred entries
	// Problems are the remaining ones: damaged bridges, which must be fitted again.
	Problems []string
}

// Run makes a damaged database usable. If the records are sound, it rebuilds derived state that does not match them.
// If records are damaged, it leaves dir unchanged and saves every readable document into a new database in to, which
// must not exist. It saves a document exactly or not at all, and reports the others.
//
// The database must not be open. If its manifest is lost, Run needs the encoder or, for a database without one,
// o.Dim, and also o.Metric and o.Language; otherwise enc may be nil. enc is not closed. Of o, Run also uses
// MemoryMiB, Logger and Progress. If the encoder has no tokens, terms are numbered anew.
//
// Errors: ErrLocked, ErrForeign, ErrNoDatabase, ErrNoEncoder and ErrNoSpace of package engine; fs.ErrExist if to
// exists; *encoder.MismatchError; those of the operating system and of ctx. Cost: reading all data several times, and
// rebuilding.
func Run(ctx context.Context, dir, to string, enc encoder.Encoder, o engine.Options) (rep Report, err error) {
	if err := o.Validate(); err != nil {
		return rep, err
	}
	if dir, err = fault.Folder(dir); err != nil {
		return rep, err
	}
	r := &repairer{dir: dir, enc: enc, o: engine.Options{MustExist: true, MemoryMiB: o.MemoryMiB, Logger: o.Logger, Progress: o.Progress}, dim: o.Dim, metric: o.Metric, language: o.Language, rep: &rep}
	rep.Damage, err = store.Folder(dir).Damage(ctx, func(done, total int) { r.report("reading", done, total) })
	if errors.Is(err, store.ErrNoDatabase) {
		return rep, fmt.Errorf("database %s: %w", dir, engine.ErrNoDatabase)
	}
	if err != nil {
		return rep, err
	}
	if len(rep.Damage) == 0 {
		sound, err := r.rebuild(ctx)
		if err != nil || sound {
			return rep, err
		}
	}
	return rep, r.salvage(ctx, to)
}

type repairer struct {
	dir      string
	enc      encoder.Encoder
	o        engine.Options
	dim      int
	metric   string
	language string
	rep      *Report
}

func (r *repairer) report(stage string, done, total int) {
	if r.o.Progress != nil {
		r.o.Progress(engine.Progress{Stage: stage, Done: done, Total: total})
	}
}

// verified opens a database, which rebuilds missing derived state, and verifies it.
func (r *repairer) verified(ctx context.Context, dir string) (v engine.VerifyReport, err error) {
	e, err := engine.Open(ctx, dir, nil, r.o)
	if err != nil {
		return v, err
	}
	if err = e.Flush(ctx); err == nil {
		v, err = e.Verify(ctx, r.o.Progress)
	}
	return v, errors.Join(err, e.Close())
}

// rebuild rebuilds derived state if the records are sound. Otherwise it returns false.
func (r *repairer) rebuild(ctx context.Context) (sound bool, err error) {
	v, err := r.verified(ctx, r.dir)
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		r.rep.Damage = append(r.rep.Damage, err.Error())
		return false, nil
	case err != nil:
		return false, err
	case v.Damaged:
		r.rep.Damage = append(r.rep.Damage, v.Problems...)
		return false, nil
	}
	if r.rep.Dir = r.dir; len(v.Problems) == 0 {
		return true, nil
	}
	r.rep.Damage = v.Problems
	for _, file := range state.Snapshots(r.dir) {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	r.rep.Rebuilt = true
	if v, err = r.verified(ctx, r.dir); err == nil {
		r.rep.Problems = v.Problems
	}
	return true, err
}

// salvage saves all readable documents into a new database, and builds its derived state.
func (r *repairer) salvage(ctx context.Context, to string) error {
	s, err := store.Folder(r.dir).Salvage(ctx, to, store.SalvageOptions{
		Describe:  r.describe,
		MemoryMiB: r.o.MemoryMiB,
		Progress:  r.report,
		Tokens:    termsAsTokens,
		Finish:    r.finish,
		Evidence: func(uuid store.UUID, history func(uint64) ([16]byte, bool)) *store.Evidence {
			return state.SavedLive(r.dir, uuid, history)
		},
	})
	if err != nil {
		return err
	}
	if s.Uncoded {
		r.rep.Problems = append(r.rep.Problems, "token states are left out, as a basis of theirs is lost; KeepTokenStates makes them anew")
	}
	r.rep.Dir, r.rep.Salvaged, r.rep.Saved, r.rep.Lost, r.rep.Names, r.rep.Uncertain = s.Dir, true, s.Saved, s.Lost, s.Names, s.Uncertain
	return nil
}

// describe makes the manifest of a database that has lost its own.
func (r *repairer) describe(m *store.Manifest) error {
	fp := encoder.Fingerprint{Dim: r.dim}
	switch {
	case r.enc != nil:
		fp = r.enc.Fingerprint()
	case r.dim == 0:
		return fmt.Errorf("%w; the manifest of %s, which names it, is lost: give the one that the database was filled with, or Options.Dim for one of vectors alone", engine.ErrNoEncoder, r.dir)
	}
	by, err := metric.Of(r.metric)
	if err != nil {
		return err
	}
	return intake.Describe(m, fp, by, r.language)
}

// termsAsTokens returns a function that gives documents their terms as tokens, if their encoder has no tokens
// and queries can be modulated.
func termsAsTokens(ctx context.Context, m *store.Manifest) (func(d *store.Document) []string, error) {
	if len(m.Encoder) == 0 {
		return nil, nil
	}
	fp, err := intake.StoredFingerprint(*m)
	if err != nil || fp.VocabSize > 0 || !metric.Metric(m.Metric).Directions() {
		return nil, err
	}
	analyzer, err := text.For(m.Language)
	if err != nil {
		return nil, err
	}
	v := terms.New(analyzer, noTerms{})
	own, err := v.Add(ctx)
	if err != nil {
		return nil, err
	}
	known := 0
	return func(d *store.Document) []string {
		for i, row := range d.Rows {
			d.Rows[i].Tokens = own.Numbers(v.Distinct(state.ChunkText(d, row)))
		}
		_, all := own.Fresh()
		fresh := all[known:]
		known = len(all)
		return fresh
	}, nil
}

// noTerms is the empty vocabulary of a new database.
type noTerms struct{}

func (noTerms) TermCount() int                                       { return 0 }
func (noTerms) Terms(context.Context, func(term string) error) error { return nil }

// finish copies the bridges, and builds and verifies the derived state.
func (r *repairer) finish(ctx context.Context, dir string) error {
	documents, err := r.bridges(ctx, dir)
	if err != nil {
		return err
	}
	v, err := r.verified(ctx, dir)
	if errors.Is(err, engine.ErrNoEncoder) && documents == 0 {
		return nil // nothing was ever written to it
	}
	if err == nil && len(v.Problems) > 0 {
		err = fmt.Errorf("%w: the new database: %s", engine.ErrCorrupt, v.Problems[0])
	}
	return err
}

// bridges copies the intact files of fitted bridges, and removes the others from the new manifest.
func (r *repairer) bridges(ctx context.Context, dir string) (documents int, err error) {
	st, err := store.Open(dir, store.Options{MemoryMiB: r.o.MemoryMiB})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	whole := map[string]bool{}
	m := st.Manifest()
	for variant, b := range m.Bridges {
		name := filepath.Base(b.File)
		raw, err := os.ReadFile(filepath.Join(r.dir, state.BridgesDir, name))
		if err != nil || state.BridgeDigest(raw) != b.CRC32C {
			r.rep.Problems = append(r.rep.Problems, fmt.Sprintf("bridge %s is damaged and left out; fit variant %s again", variant, variant))
			continue
		}
		if err := store.Folder(dir).WriteBridge(name, raw); err != nil {
			return 0, err
		}
		whole[variant] = true
	}
	if len(whole) == len(m.Bridges) {
		return st.Len(), nil
	}
	return st.Len(), st.SetManifest(ctx, func(m *store.Manifest) error {
		for variant := range m.Bridges {
			if !whole[variant] {
				delete(m.Bridges, variant)
			}
		}
		if !whole[m.Default] {
			m.Default, m.Auto = "", ""
		}
		return nil
	})
}
