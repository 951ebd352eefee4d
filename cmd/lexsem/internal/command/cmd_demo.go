package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/bench/process"
)

var cmdDemo = command{
	name:    "demo",
	instead: "ask with --query TEXT",
	summary: "try everything on real text: index, fit and search Go's own documentation",
	about: `
Indexes the doc comments of the Go standard library that is installed on this machine, one passage
per symbol or package section, and fits a bridge. Then it shows the hits of several queries side by
side: the plain vector (dense), the fitted bridge on top of the closed form (RLR + SLR), local
bridges, which need no fit, and the search that --mode auto makes of vector and words (hybrid). It
counts the right first hits of 20 questions that users asked in public about Go. A table compares
them on passages that are drawn with a seed.

The database stays in the cache folder, so a second run answers at once. --query asks your own
question.`,
	examples: []string{
		"lexsem demo",
		`lexsem demo --query "read a file line by line"`,
	},
	declare: func(f *flags) action {
		o := demoOptions{
			query: f.str("query", "", "`TEXT`query to use instead of the built-in ones"),
			json:  f.bool("json", "print as JSON"),
		}
		return o.run
	},
}

type demoOptions struct {
	query *string
	json  *bool
}

// Shape of the demo. If one of these changes, a stored demo is stale.
const (
	demoFormat   = 3    // how passages are made, searched and measured, and what demo.json holds
	demoPassages = 4800 // passages at most
	demoQueries  = 8000 // training queries of the bridge
	demoFitSeed  = 1
	demoSeed     = 2026 // of the probes
	demoProbes   = 300  // passages a probe is made from
	demoBatch    = 250  // documents a commit
	demoFile     = "demo.json"
)

// demoWays are the columns of the demo: modes of search, by their names in JSON.
var demoWays = []struct {
	name, title string
	mode        string
	variant     string
}{
	{"dense", "dense", engine.ModeDense, "none"},
	{"rlr+slr", "RLR + SLR", engine.ModeDense, "rlr+slr"},
	{"rlr-local", "local bridges", engine.ModeDense, "rlr-local"},
	{"hybrid", "hybrid", engine.ModeHybrid, ""},
}

// demoState is kept in the database's folder. Source describes the data of the database;
// the other fields are set once everything is built.
type demoState struct {
	Source   demoSource `json:"source"`
	Complete bool       `json:"complete"`
	Seq      uint64     `json:"seq"`
	Passages int        `json:"passages"`
	Built    demoCost   `json:"built"`
	Fit      fitSummary `json:"fit"`
	Probes   []demoRow  `json:"probes"`
}

type demoSource struct {
	Format int    `json:"format"`
	Go     string `json:"go"`
	Model  string `json:"model"`
}

// demoCost is the cost of the first run, in seconds.
type demoCost struct {
	IndexSeconds   float64 `json:"index_seconds"`
	FitSeconds     float64 `json:"fit_seconds"`
	MeasureSeconds float64 `json:"measure_seconds"`
	WallSeconds    float64 `json:"wall_seconds"`
	CPUSeconds     float64 `json:"cpu_seconds"`
}

// demoRow is one probe: nDCG@1 in [0, 1] for each mode of search.
type demoRow struct {
	Task    string             `json:"task"`
	Queries int                `json:"queries"`
	NDCG1   map[string]float64 `json:"ndcg@1"`
}

func (o demoOptions) run(ctx context.Context, a *app, _ []string) (err error) {
	if *o.query != "" && blank(*o.query) {
		return hinted(usagef("the query is empty"), "give some words")
	}
	begin := time.Now()
	root, err := goroot(a.Getenv)
	if err != nil {
		return err
	}
	a.model = cmp.Or(a.model, a.defaultModel())
	src := demoSource{demoFormat, goVersion(root), a.model}
	dir, err := a.demoDir(src)
	if err != nil {
		return err
	}
	state, err := readDemo(dir)
	if err != nil {
		return err
	}
	b := &demoBuilder{app: a, dir: dir, root: root, progress: a.progress()}
	defer b.progress.done()
	db, err := b.open(ctx, state)
	if err != nil {
		return err
	}
	b.db = db
	defer func() { err = errors.Join(err, db.close()) }()
	stats, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	if state.Source == (demoSource{}) && stats.Documents > 0 {
		return hinted(fmt.Errorf("%s holds documents that are not the demo's", dir), "name an empty folder with --db, or leave --db out")
	}
	reused := state.Complete && state.Source == src && state.Seq == stats.Seq &&
		slices.ContainsFunc(stats.Bridges, func(b engine.BridgeStats) bool { return b.Variant == "rlr+slr" })
	if !reused {
		if state, err = b.build(ctx, src); err != nil {
			if errors.Is(err, context.Canceled) {
				return hinted(&interrupted{fmt.Sprintf("interrupted; the indexed documents stay in %s", dir)}, "run the demo again to continue")
			}
			return err
		}
	}
	shown, err := o.search(ctx, db)
	if err != nil {
		return err
	}
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"db": dir, "reused": reused, "seconds": time.Since(begin).Seconds(),
			"demo": state, "queries": shown})
	}
	writeDemo(a, dir, state, shown, reused, time.Since(begin))
	return nil
}

func (a *app) demoDir(src demoSource) (string, error) {
	if a.db != "" {
		return a.db, nil
	}
	cache, err := a.cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "demo", src.Go+"-"+filepath.Base(src.Model)), nil
}

// readDemo reads the state file of an earlier run. An unreadable file counts as that of
// an unfinished run: everything is checked again.
func readDemo(dir string) (demoState, error) {
	data, err := os.ReadFile(filepath.Join(dir, demoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return demoState{}, nil
	}
	var s demoState
	if err == nil && json.Unmarshal(data, &s) != nil {
		s = demoState{Source: demoSource{Format: demoFormat}}
	}
	return s, err
}

// demoBuilder fills the demo's database.
type demoBuilder struct {
	app           *app
	db            *database
	dir, root     string
	progress      *progress
	stored, total int // passages
}

// open opens the demo's database. If a database in the cache folder is damaged or was
// written by an earlier version, it is removed, since it can be built again.
func (b *demoBuilder) open(ctx context.Context, s demoState) (*database, error) {
	o := engine.Options{Progress: b.hear, Local: true}
	db, err := b.app.join(ctx, b.dir, o, wants{model: true, self: true})
	switch exitCode(err) {
	case exitCorrupt, exitMismatch:
		if b.app.db == "" && s.Source != (demoSource{}) {
			fmt.Fprintf(b.app.Stderr, "building the demo again: %s\n", summaryOf(err))
			if err := os.RemoveAll(b.dir); err != nil {
				return nil, err
			}
			return b.app.join(ctx, b.dir, o, wants{model: true, self: true})
		}
	}
	return db, err
}

// hear shows the progress within one batch.
func (b *demoBuilder) hear(e engine.Progress) {
	if e.Stage == "encode" {
		b.progress.update(step{stage: "indexing", done: b.stored + e.Done, total: b.total, unit: "passages"})
	}
}

func (b *demoBuilder) build(ctx context.Context, src demoSource) (demoState, error) {
	begin, cpu := time.Now(), process.CPUTime()
	state := demoState{Source: src}
	if err := b.save(state); err != nil {
		return state, err
	}
	docs, err := docPassages(b.root)
	if err != nil {
		return state, err
	}
	docs = chooseDocs(docs, demoPassages)
	p := b.progress
	if err := b.index(ctx, docs); err != nil {
		return state, err
	}
	p.done()
	indexed := time.Now()
	rep, err := b.db.Fit(ctx, engine.FitOptions{Variant: "rlr+slr", Seed: demoFitSeed, MaxQueries: demoQueries, Progress: p.fit})
	if err != nil {
		return state, err
	}
	p.done()
	fitted := time.Now()
	if err := b.db.Flush(ctx); err != nil { // local bridges of all passages
		return state, err
	}
	if state.Probes, err = b.measure(ctx, docs, p); err != nil {
		return state, err
	}
	p.done()
	stats, err := b.db.Stats(ctx)
	if err != nil {
		return state, err
	}
	state.Complete, state.Seq, state.Passages = true, stats.Seq, stats.Documents
	state.Fit = newFit(b.dir, demoFitSeed, rep)
	state.Built = demoCost{indexed.Sub(begin).Seconds(), fitted.Sub(indexed).Seconds(), time.Since(fitted).Seconds(),
		time.Since(begin).Seconds(), (process.CPUTime() - cpu).Seconds()}
	return state, b.save(state)
}

func (b *demoBuilder) save(s demoState) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(b.dir, demoFile), func(w *os.File) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// index makes the database hold exactly docs. Documents that are already stored, for
// example after an interrupted run, are not encoded again.
func (b *demoBuilder) index(ctx context.Context, docs []engine.Document) error {
	var missing []engine.Document
	for _, d := range docs {
		old, err := b.db.Get(ctx, d.ID)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		old.Vector = nil
		if err != nil || !reflect.DeepEqual(old, d) {
			missing = append(missing, d)
		}
	}
	b.stored, b.total = len(docs)-len(missing), len(docs)
	for batch := range slices.Chunk(missing, demoBatch) {
		if _, err := b.db.Upsert(ctx, batch); err != nil {
			return err
		}
		b.stored += len(batch)
	}
	return nil
}
