package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/store"
)

var cmdMigrate = command{
	name:    "migrate",
	summary: "copy documents between a database and another search engine",
	about: `
Copies all documents of --db to the search engine at --to, or those of the engine at --from into --db,
which must be a folder without a database. Texts, metadata and chunks are copied byte for byte, vectors
bit for bit. No model is needed, and nothing is encoded. At the end, documents that were written
meanwhile are copied, and both sides are counted and compared by digests of all documents.

Ctrl-C, a kill or an error loses nothing: the same command continues. Its state is kept in the file
DIR.migrating, which is removed at the end. Token states and fitted bridges are not copied. --bridge writes
the file by which "lexsem serve --db URL --bridge FILE" modulates queries; "lexsem bridge" makes it anew.
--by FIELD also makes one bridge for each value of a metadata field; a search uses that bridge if its
filter requires the value.`,
	examples: []string{
		"lexsem migrate --db notes.db --to 'elasticsearch://10.0.0.1:9200,10.0.0.2:9200/notes?shards=3&replicas=1' --bridge notes.bridge",
		"lexsem migrate --db again.db --from weaviate://10.0.0.1:8080/Notes",
	},
	declare: func(f *flags) action {
		o := migrateOptions{
			to:     f.str("to", "", "`URL`engine to copy to: "+backendShapes()+"; its key in "+backendKeys()),
			from:   f.str("from", "", "`URL`engine to copy from"),
			bridge: f.outFile("bridge", "", "`FILE`with --to: also make a bridge file of the copied documents"),
			by:     bridgeBy(f),
			json:   f.bool("json", "print the result as JSON"),
		}
		return o.run
	},
}

type migrateOptions struct {
	to, from, bridge, by *string
	json                 *bool
}

// migrateSummary is the output of migrate --json.
type migrateSummary struct {
	DB      string `json:"db"`
	Backend string `json:"backend"`
	remote.MigrateReport
	Bridge string `json:"bridge,omitempty"`
}

func (o migrateOptions) run(ctx context.Context, a *app, args []string) (err error) {
	if len(args) > 0 || (*o.to == "") == (*o.from == "") {
		return hinted(usagef("migrate takes --to URL or --from URL"), "lexsem migrate --db DIR --to URL, one of "+backendShapes())
	}
	if *o.bridge != "" && *o.to == "" {
		return usagef("--bridge goes with --to")
	}
	if *o.by != "" && *o.bridge == "" {
		return usagef("--by goes with --bridge")
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	b, err := a.openBackend(*o.to + *o.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	there, err := store.Folder(dir).Exists()
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	m := remote.MigrateOptions{Mark: strings.TrimRight(dir, `/\`) + ".migrating", Progress: func(s engine.Progress) {
		stage := "copying"
		if s.Stage == "verify" {
			stage = "comparing"
		}
		p.update(step{stage: stage, done: s.Done, unit: "documents"})
	}}
	var r remote.MigrateReport
	if *o.to != "" {
		if !there {
			return noDatabase(dir)
		}
		r, err = a.migrateTo(ctx, dir, b, m)
	} else {
		if !there {
			if err := remote.CreateFor(ctx, dir, b); err != nil {
				return err
			}
		}
		r, err = a.migrateFrom(ctx, dir, b, m)
	}
	if err != nil {
		return err
	}
	if *o.bridge != "" {
		if err := a.makeBridge(ctx, b, *o.bridge, remote.BridgeOptions{By: *o.by}, p); err != nil {
			return err
		}
	}
	p.done()
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(migrateSummary{dir, b.Name(), r, *o.bridge})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s and %s hold the same %s (%s); %s copied, digest %s\n", dir, b.Name(),
		count(r.Documents, "document", "documents"), count(r.Passages, "passage", "passages"), thousands(r.Copied), r.Digest)
	return err
}

func (a *app) migrateTo(ctx context.Context, dir string, b remote.Backend, m remote.MigrateOptions) (r remote.MigrateReport, err error) {
	e, _, err := open(ctx, dir, nil, engine.Options{MustExist: true, ReadOnly: true, Logger: a.warnings()})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return remote.MigrateTo(ctx, e, b, m)
}

func (a *app) migrateFrom(ctx context.Context, dir string, b remote.Backend, m remote.MigrateOptions) (r remote.MigrateReport, err error) {
	e, err := engine.Open(ctx, dir, nil, engine.Options{MustExist: true, Logger: a.warnings()})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if r, err = remote.MigrateFrom(ctx, b, e, m); err != nil {
		return r, err
	}
	return r, e.Flush(ctx)
}

var cmdBridge = command{
	name:    "bridge",
	args:    "FILE",
	summary: "make the bridge file for documents in another search engine",
	about: `
Reads all passages of the search engine at --db, in parallel parts, and writes the statistics that
modulation needs to FILE. An existing FILE is replaced; servers that use it read the new one by
themselves. No model is needed. /v1/stats of a server shows how many passages were written since
("stale").

--by FIELD also makes one bridge for each value of a metadata field; a search uses that bridge if its
filter requires the value. The bridge of one tenant or language finds more of its copied words than the
bridge of all documents.

--sample N also fits a bridge, as lexsem fit does, to N passages that are drawn evenly during the reading,
and reports its gain on other queries than it was fitted to. This needs the model.`,
	examples: []string{
		"lexsem bridge --db elasticsearch://10.0.0.1:9200/notes --by lang notes.bridge",
		"lexsem bridge --db postgres://me@10.0.0.1:5432/db/notes --parts 2 --sample 20000 notes.bridge",
	},
	declare: func(f *flags) action {
		o := bridgeOptions{
			parts:      f.int("parts", 0, "`N`parts that are read in parallel; default 1"),
			by:         bridgeBy(f),
			sample:     f.int("sample", 0, "`N`also fit a bridge to N passages; default no fit"),
			variant:    f.str("variant", "", "`NAME`variant to fit, as in lexsem fit; default rlr+slr"),
			seed:       f.seed("seed of the sample and of the fit"),
			perPassage: f.int("queries-per-passage", 10, "training queries per passage of the sample"),
		}
		return o.run
	},
}

func bridgeBy(f *flags) *string {
	return f.str("by", "", "`FIELD`also make a bridge for each value of this field, 100 at most; default none")
}

type bridgeOptions struct {
	parts, sample, perPassage *int
	variant, by               *string
	seed                      *uint64
}

func (o bridgeOptions) run(ctx context.Context, a *app, args []string) (err error) {
	if len(args) != 1 || !elsewhere(a.db) {
		return hinted(usagef("bridge takes one file, and --db URL"), "lexsem bridge --db URL FILE, the URL one of "+backendShapes())
	}
	if *o.sample == 0 && *o.variant != "" {
		return hinted(usagef("--variant goes with --sample"), "set the number of passages with --sample N")
	}
	options := remote.BridgeOptions{Parts: *o.parts, By: *o.by, Sample: *o.sample, Fit: engine.FitOptions{Variant: *o.variant, Seed: *o.seed, QueriesPerPassage: *o.perPassage}}
	p := a.progress()
	defer p.done()
	if *o.sample == 0 {
		b, err := a.openBackend(a.db)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		return a.makeBridge(ctx, b, args[0], options, p)
	}
	r, enc, err := a.openOver(ctx, a.db, remote.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, r.Close())
		if enc != nil {
			err = errors.Join(err, a.closeEncoder(enc))
		}
	}()
	return a.bridgeOf(ctx, r, args[0], options, p)
}

// makeBridge writes a bridge for the documents of a Backend, without a fit, and reports
// it.
func (a *app) makeBridge(ctx context.Context, b remote.Backend, file string, o remote.BridgeOptions, p *progress) error {
	r, err := remote.Over(ctx, b, nil, remote.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return a.bridgeOf(ctx, r, file, o, p)
}

func (a *app) bridgeOf(ctx context.Context, r *remote.Database, file string, o remote.BridgeOptions, p *progress) error {
	o.Progress = func(s engine.Progress) {
		if s.Stage != "bridge" {
			p.fit(s)
			return
		}
		p.update(step{stage: "reading for the bridge", done: s.Done, total: s.Total, unit: "passages"})
	}
	made, err := r.MakeBridge(ctx, file, o)
	if err != nil {
		return err
	}
	p.done()
	if a.quiet {
		return nil
	}
	fmt.Fprintf(a.Stderr, "bridge %s: %s of %s\n", file, count(made.Passages, "passage", "passages"), made.Backend)
	for _, p := range made.By {
		fmt.Fprintf(a.Stderr, "  %s: %s\n", p.Where, count(p.Passages, "passage", "passages"))
	}
	if f := made.Fit; f.Variant != "" {
		fmt.Fprintf(a.Stderr, "%s fitted to %s of them by %s in %.0f s; searches go by %s\n", f.Variant, count(f.Passages, "passage", "passages"), count(f.Queries, "query", "queries"), f.Seconds, f.Default)
		for _, probe := range f.Probes {
			fmt.Fprintf(a.Stderr, "  %s, %s: nDCG@1 %.1f without, %.1f with it\n", probe.Task, count(probe.Queries, "query", "queries"), 100*probe.Dense, 100*probe.Modified)
		}
	}
	return nil
}
