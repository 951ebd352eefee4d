package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/modulate"
)

var cmdFit = command{
	name:    "fit",
	summary: "fit a bridge on the stored documents, without labels",
	about: `
Makes training queries from the stored passages (keywords and spans of each), encodes them, and fits
token weights that turn such queries towards their passage. The index does not change: bridges act
on queries. The report compares the plain vector with the bridge on queries of other seeds. More
queries per passage make a better bridge and take longer; most of the time is spent encoding them.

If a fit is interrupted, the same command continues it. --update continues from the present bridge with
the new passages: the time depends on the new passages only, and what was learned is kept. lexsem stats
shows how many passages the bridge has not seen.

rlr needs no fit: it is computed from sufficient statistics that follow every change of the
database.

--import takes a bridge that was trained elsewhere: a safetensors file with linear.weight [dimension ×
vocabulary] and optionally linear.bias, U and b. Its metadata entry lexsem.encoder, a fingerprint as
JSON, names the encoder that it was trained with.`,
	examples: []string{
		"lexsem fit --db notes.db",
		"lexsem fit --db notes.db --queries-per-passage 25 --seed 7",
	},
	declare: func(f *flags) action {
		o := fitOptions{
			variant:    f.str("variant", "", "`NAME`variant to fit: slr, slr-idf, llr, llr-full, clr …, alone or stacked on rlr, or rlr-local for local bridges; default rlr+slr, with --import slr, with --update the present one"),
			seed:       f.seed("seed of the training queries and of their order"),
			perPassage: f.int("queries-per-passage", 10, "training queries per passage"),
			maxQueries: f.int("max-queries", 0, "most training queries; default no limit"),
			epochs:     f.int("epochs", 3, "passes over the training queries"),
			update:     f.bool("update", "continue the present bridge with the passages that it has not seen"),
			importFile: f.str("import", "", "`FILE`import the bridge of a safetensors file"),
			same:       f.bool("same-encoder", "with --import: confirm that the file was trained with this database's encoder, if it does not say so"),
			json:       f.bool("json", "print the report as JSON"),
		}
		return o.run
	},
}

type fitOptions struct {
	variant                        *string
	seed                           *uint64
	perPassage, maxQueries, epochs *int
	importFile                     *string
	update, same, json             *bool
}

// fitSummary is the output of fit --json.
type fitSummary struct {
	DB        string              `json:"db"`
	Variant   string              `json:"variant"`
	Fitted    bool                `json:"fitted"` // false for rlr, which needs no fit, and where nothing was new
	File      string              `json:"file,omitempty"`
	Seed      uint64              `json:"seed"`
	Passages  int                 `json:"passages"`
	Queries   int                 `json:"queries"`
	Seconds   float64             `json:"seconds"`
	FinalLoss float64             `json:"final_loss"`
	Probes    []engine.ProbeScore `json:"probes"`
	// Default is the variant of queries without --variant; Choice holds the figures that
	// decided it.
	Default string                `json:"default_variant,omitempty"`
	Choice  []engine.VariantScore `json:"choice,omitempty"`
}

func (o fitOptions) run(ctx context.Context, a *app, _ []string) (err error) {
	if *o.variant == "" && !*o.update {
		*o.variant = "rlr+slr"
		if *o.importFile != "" {
			*o.variant = "slr"
		}
	}
	local := strings.TrimSpace(*o.variant) == engine.VariantLocal
	var stack modulate.Stack
	if !local {
		if stack, err = modulate.ParseStack(cmp.Or(*o.variant, "rlr+slr")); err != nil {
			return hinted(usagef("%v", err), "join variants by +, as in rlr+slr")
		}
	}
	if *o.perPassage < 1 || *o.maxQueries < 0 || *o.epochs < 1 {
		return usagef("use numbers from 1 for --queries-per-passage and --epochs, and from 0 for --max-queries")
	}
	if *o.update && *o.importFile != "" {
		return usagef("--update does not go with --import")
	}
	if *o.same && *o.importFile == "" {
		return hinted(usagef("--same-encoder without --import"), "name the file with --import FILE")
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	switch {
	case *o.importFile != "":
		return o.take(ctx, a, dir)
	case local:
		return o.buildLocal(ctx, a, dir)
	case !stack.Fitted():
		return o.closedForm(ctx, a, dir, stack.Name())
	}
	db, err := a.openDB(ctx, dir, engine.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	p := a.progress()
	defer p.done()
	rep, err := db.Fit(ctx, engine.FitOptions{
		Variant: *o.variant, Seed: *o.seed, QueriesPerPassage: *o.perPassage,
		MaxQueries: *o.maxQueries, Epochs: *o.epochs, Update: *o.update, Progress: p.fit,
	})
	p.done()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return hinted(&interrupted{"interrupted; the bridge in use has not changed"}, "run the same command again to continue")
		}
		return err
	}
	s := newFit(dir, *o.seed, rep)
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	if rep.Current {
		_, err = fmt.Fprintf(a.Stdout, "%s: %s has seen every passage; nothing to update\n", dir, s.Variant)
		return err
	}
	fmt.Fprintf(a.Stdout, "%s: fitted %s on %s passages with %s queries of their own in %s\n", dir, s.Variant,
		thousands(s.Passages), thousands(s.Queries), short(time.Duration(s.Seconds*float64(time.Second))))
	if len(s.Probes) > 0 {
		fmt.Fprintf(a.Stdout, "\nprobe            queries   plain vector   %s   (nDCG@1)\n", s.Variant)
		for _, pr := range s.Probes {
			fmt.Fprintf(a.Stdout, "%-14s %9s %14.1f %*.1f\n", pr.Task, thousands(pr.Queries), 100*pr.Dense, len(s.Variant)+2, 100*pr.Modified)
		}
	}
	if len(s.Choice) > 0 {
		var found []string
		for _, c := range s.Choice {
			found = append(found, fmt.Sprintf("%.1f %% by %s", 100*c.Found, c.Variant))
		}
		fmt.Fprintf(a.Stdout, "\nother queries drawn from the corpus find their passage first: %s; queries use %s\n", strings.Join(found, ", "), s.Default)
	}
	return nil
}

func newFit(dir string, seed uint64, rep engine.FitReport) fitSummary {
	return fitSummary{DB: dir, Variant: rep.Variant, Fitted: !rep.Current, File: rep.File, Seed: seed, Passages: rep.Passages,
		Queries: rep.Queries, Seconds: rep.Seconds, FinalLoss: rep.FinalLoss, Probes: append([]engine.ProbeScore{}, rep.Probes...), Default: rep.Default, Choice: rep.Choice}
}

// take imports the bridge in a file.
func (o fitOptions) take(ctx context.Context, a *app, dir string) error {
	e, err := a.join(ctx, dir, engine.Options{}, wants{self: true})
	if err != nil {
		return err
	}
	rep, err := e.here().ImportBridge(ctx, *o.importFile, engine.ImportOptions{Variant: *o.variant, SameEncoder: *o.same})
	if err := errors.Join(err, e.close()); err != nil {
		if errors.Is(err, modulate.ErrNoEncoder) {
			return hinted(err, "--same-encoder confirms that the file was trained with the encoder of this database")
		}
		return err
	}
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(newFit(dir, *o.seed, rep))
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: imported %s from %s; queries use it from now on\n", dir, rep.Variant, *o.importFile)
	return err
}

// buildLocal builds the local bridges of a database, which then maintains them.
func (o fitOptions) buildLocal(ctx context.Context, a *app, dir string) error {
	e, err := a.openBare(ctx, dir, engine.Options{Local: true})
	if err != nil {
		return err
	}
	begin := time.Now()
	if _, other := e.Holder(); other {
		err = wantLocal(ctx, e)
	}
	if err == nil {
		err = e.Flush(ctx)
	}
	took := time.Since(begin)
	var stats engine.Stats
	if err == nil {
		stats, err = e.Stats(ctx)
	}
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(fitSummary{DB: dir, Variant: engine.VariantLocal, Seed: *o.seed, Passages: stats.Chunks, Seconds: took.Seconds(), Probes: []engine.ProbeScore{}, Default: stats.Default})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: local bridges over %s in %s; dense searches use them, and they follow what is added\n", dir, count(stats.Chunks, "passage", "passages"), short(took))
	return err
}

// wantLocal asks the process that has a database open to build local bridges, as the
// first query that names them does.
func wantLocal(ctx context.Context, db engine.Database) error {
	s, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	unit := make([]float32, s.Dim)
	unit[0] = 1
	_, err = db.Search(ctx, engine.Query{Vector: unit, K: 1, Mode: engine.ModeDense, Variant: engine.VariantLocal})
	return err
}

// closedForm answers a request to fit a variant that needs no fit, such as rlr.
func (o fitOptions) closedForm(ctx context.Context, a *app, dir, variant string) error {
	stats, _, err := a.statsOf(ctx, dir)
	if err != nil {
		return err
	}
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(fitSummary{DB: dir, Variant: variant, Seed: *o.seed, Passages: stats.Chunks, Probes: []engine.ProbeScore{}})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s needs no fit; it follows the %s stored\n", dir, variant, count(stats.Chunks, "passage", "passages"))
	return err
}

// fit shows how far Engine.Fit is.
func (p *progress) fit(e engine.Progress) {
	s := step{stage: e.Stage, done: e.Done, total: e.Total, unit: "queries"}
	switch e.Stage {
	case "sample":
		s.unit = "passages"
	case "fit":
		s.unit = "steps"
	}
	if e.Loss > 0 {
		s.note = fmt.Sprintf("loss %.3f", e.Loss)
	}
	p.update(s)
}
