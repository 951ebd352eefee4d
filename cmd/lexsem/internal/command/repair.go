package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/repair"
	"github.com/lexsem/lexsem/store"
)

// salvagedSuffix is appended to the name of a damaged database to name the new one.
const salvagedSuffix = ".salvaged"

// repairSummary is the output of doctor --repair --json.
type repairSummary struct {
	DB        string   `json:"db"`       // what was given
	Whole     string   `json:"whole"`    // the database that is whole now
	Salvaged  bool     `json:"salvaged"` // it is a new one
	Rebuilt   bool     `json:"rebuilt"`  // derived state was made anew
	Saved     int      `json:"saved"`
	Lost      int      `json:"lost"`
	LostIDs   []string `json:"lost_ids"` // as far as they are known
	Uncertain bool     `json:"uncertain"`
	Damage    []string `json:"damage"`
	Problems  []string `json:"problems"` // that are left
}

// errLost says that documents could not be saved.
var errLost = fmt.Errorf("%w beyond repair", store.ErrCorrupt)

func runRepair(ctx context.Context, a *app, to string, dim int, metric string, asJSON bool) error {
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	if to == "" {
		to = filepath.Clean(dir) + salvagedSuffix
	}
	o := engine.Options{Dim: dim, Metric: metric, Logger: a.warnings()}
	if err := o.Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	if err := a.idle(ctx, dir); err != nil {
		return err
	}
	if dim != 0 && a.model != "" {
		return usagef("--dim is for databases without a model, --model for the others; leave one of them out")
	}
	var enc encoder.Encoder
	if a.model != "" {
		if enc, err = a.openEncoder(ctx, a.model); err != nil {
			return err
		}
		defer enc.Close()
	}
	p := a.progress()
	o.Progress = func(ev engine.Progress) {
		p.update(step{stage: ev.Stage, done: ev.Done, total: ev.Total})
	}
	rep, err := repair.Run(ctx, dir, to, enc, o)
	p.done()
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return noDatabase(dir)
	case errors.Is(err, fs.ErrExist):
		return hinted(err, "name another folder with --to")
	case errors.Is(err, store.ErrManifest):
		return hinted(err, "name it with --metric")
	case errors.Is(err, engine.ErrNoEncoder):
		return hinted(err, "name the model with --model; for a database without a model, give the length of the vectors with --dim")
	case err != nil:
		return err
	}
	s := repairSummary{dir, rep.Dir, rep.Salvaged, rep.Rebuilt, rep.Saved, rep.Lost, append([]string{}, rep.Names...), rep.Uncertain,
		append([]string{}, rep.Damage...), append([]string{}, rep.Problems...)}
	if asJSON {
		if err := json.NewEncoder(a.Stdout).Encode(s); err != nil {
			return err
		}
	} else {
		s.write(a)
	}
	switch {
	case rep.Lost > 0:
		return hinted(fmt.Errorf("%w: %s of %s", errLost, count(rep.Lost, "document", "documents"), dir), "the saved documents are in "+rep.Dir)
	case len(rep.Problems) > 0:
		return fmt.Errorf("%w: %s", store.ErrCorrupt, rep.Problems[0])
	}
	return nil
}

func (s *repairSummary) write(a *app) {
	for _, d := range s.Damage {
		fmt.Fprintf(a.Stdout, "damaged   %s\n", oneLine(d))
	}
	for _, id := range s.LostIDs {
		fmt.Fprintf(a.Stdout, "lost      %s\n", oneLine(id))
	}
	if n := s.Lost - len(s.LostIDs); n > 0 {
		fmt.Fprintf(a.Stdout, "lost      %s whose id cannot be read\n", count(n, "document", "documents"))
	}
	for _, p := range s.Problems {
		fmt.Fprintf(a.Stdout, "left      %s\n", oneLine(p))
	}
	if s.Uncertain {
		fmt.Fprintln(a.Stdout, "uncertain a document may have come back as it was before its last change, or after it was deleted")
	}
	switch {
	case s.Salvaged:
		fmt.Fprintf(a.Stdout, "%s saved into %s; %s is as it was\n", count(s.Saved, "document", "documents"), s.Whole, s.DB)
	case s.Rebuilt:
		fmt.Fprintf(a.Stdout, "derived data in %s was rebuilt; every stored document is intact\n", s.DB)
	default:
		fmt.Fprintf(a.Stdout, "%s is intact; nothing was changed\n", s.DB)
	}
}
