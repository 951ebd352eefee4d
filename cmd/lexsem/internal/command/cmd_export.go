package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/internal/answer"
	"github.com/lexsem/lexsem/store"
)

var cmdExport = command{
	name:    "export",
	args:    "FILE | -",
	summary: "write documents as JSON lines, optionally with their vectors",
	about: `
Writes one line per document, as ` + "`lexsem index`" + ` and other programs read it: "_id",
"title", "text" and "metadata". "lexsem" holds what ` + "`lexsem import`" + ` needs besides to make
the same document. FILE is written completely or not at all. Fitted bridges are not exported; a backup
keeps them. No model is needed.`,
	examples: []string{
		"lexsem export --db notes.db notes.jsonl",
		"lexsem export --db notes.db --vectors - | zstd > notes.zst",
	},
	declare: func(f *flags) action {
		vectors := f.bool("vectors", "also write vectors and tokens, so that import needs no model")
		filter := f.str("filter", "", "`EXPR`export only documents whose metadata match this filter")
		asJSON := f.bool("json", "print the result as JSON; with FILE -, on standard error")
		return func(ctx context.Context, a *app, args []string) error {
			return runExport(ctx, a, args, *filter, *vectors, *asJSON)
		}
	},
}

func runExport(ctx context.Context, a *app, args []string, expr string, vectors, asJSON bool) error {
	if len(args) != 1 || args[0] == "" {
		return hinted(usagef("export takes one file"), "lexsem export --db DIR FILE, or - for standard output")
	}
	f, err := answer.Filter(expr)
	if err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	e, err := a.openBare(ctx, dir, engine.Options{ReadOnly: true, Logger: a.warnings(), Progress: func(s engine.Progress) {
		if s.Stage == "export" {
			p.update(step{stage: "exporting", done: s.Done, total: s.Total, unit: "documents"})
		}
	}})
	if err != nil {
		return err
	}
	n := 0
	write := func(w io.Writer) (err error) {
		n, err = e.Export(ctx, w, archive.ExportOptions{Vectors: vectors, Filter: f})
		return err
	}
	file, out := args[0], a.Stdout
	if file == "-" {
		out = a.Stderr
		err = write(a.Stdout)
	} else {
		err = writeFile(file, write)
	}
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	p.done()
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"db": dir, "file": file, "documents": n})
	}
	if file == "-" {
		return nil
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", file, count(n, "document", "documents"))
	return err
}

var cmdImport = command{
	name:    "import",
	args:    "FILE | -",
	summary: "store the documents of an export",
	about: `
Stores the documents of an export in their order, in batches. Each batch is stored completely or not
at all. Documents that are already stored unchanged are skipped, so the same command continues
after an interruption; changed documents are replaced. A line that cannot be read ends the import and
is named.

If the export has vectors (` + "`lexsem export --vectors`" + `), no model is needed, and --db may be
a new folder. Otherwise texts are encoded with the model of the database, or with that of the export.`,
	examples: []string{
		"lexsem import --db again.db notes.jsonl",
		"zstd -dc notes.zst | lexsem import --db again.db -",
	},
	declare: func(f *flags) action { return keeping(f, runImport) },
}

// importSummary is the output of import --json.
type importSummary struct {
	DB        string  `json:"db"`
	Added     int     `json:"added"`
	Replaced  int     `json:"replaced"`
	Unchanged int     `json:"unchanged"`
	Truncated int     `json:"truncated"` // documents with text that no vector stands for
	Documents int     `json:"documents"` // stored now
	Texts     int64   `json:"texts"`     // as of index
	FromCache int64   `json:"from_cache"`
	Seconds   float64 `json:"seconds"`
}

func runImport(ctx context.Context, a *app, args []string, asJSON bool) (err error) {
	if len(args) != 1 {
		return hinted(usagef("import takes one file"), "lexsem import --db DIR FILE, or - for standard input")
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	name := args[0]
	in, err := a.input(name)
	if err != nil {
		return err
	}
	defer in.Close()
	x, err := archive.NewExported(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p := a.progress()
	defer p.done()
	begin := time.Now()
	shown := step{stage: "importing", unit: "documents"}
	p.update(shown)
	db, err := a.openImport(ctx, dir, x, engine.Options{Logger: a.warnings(), Progress: func(s engine.Progress) {
		now := shown
		switch s.Stage {
		case "import":
			shown.done, shown.total = s.Done, s.Total
			now = shown
		case "encode": // within a batch
			now.done += s.Done
		default:
			return
		}
		p.update(now)
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	r, err := db.Import(ctx, x)
	if err == nil {
		err = db.settle(ctx, p)
	}
	p.done()
	if err != nil {
		return importStopped(name, r, err)
	}
	stats, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	hits, texts := fromCache(db.encoder())
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(importSummary{dir, r.Added, r.Replaced, r.Unchanged, r.Truncated, stats.Documents, texts, hits, time.Since(begin).Seconds()})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s added, %s replaced, %s unchanged; %s stored\n", dir, thousands(r.Added), thousands(r.Replaced), thousands(r.Unchanged), thousands(stats.Documents))
	if r.Truncated > 0 && err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s longer than the model reads: %s tokens at their ends are not searchable\n",
			count(r.Truncated, "document is", "documents are"), thousands(r.TruncatedTokens))
	}
	if hits > 0 && err == nil {
		_, err = fmt.Fprintln(a.Stdout, cacheLine(hits, texts))
	}
	return err
}

// openImport opens or creates the database for an export. It needs no model if the
// documents have their vectors.
func (a *app) openImport(ctx context.Context, dir string, x *archive.Exported, o engine.Options) (*database, error) {
	exists, err := store.Folder(dir).Exists()
	if err != nil {
		return nil, err
	}
	if x.Vectors && a.model == "" {
		if !exists {
			if err := x.Create(ctx, dir); err != nil {
				return nil, err
			}
		}
		return a.openBare(ctx, dir, o)
	}
	if !exists && x.Vectors {
		o.Metric = x.Metric
	}
	if !exists && a.model == "" {
		a.model, o.Language = models.Of(x.Encoder), x.Language
	}
	return a.openDB(ctx, dir, o)
}

// importStopped says how much was stored before err, and what to do.
func importStopped(name string, r engine.AddResult, err error) error {
	stored := count(r.Added+r.Replaced, "document is", "documents are")
	switch {
	case errors.Is(err, context.Canceled):
		return hinted(&interrupted{"interrupted; " + stored + " stored by this run"}, "run the same command again to continue; documents that are stored unchanged are skipped")
	case errors.Is(err, encoder.ErrMismatch):
		return hinted(fmt.Errorf("%s: %w", name, err), "import into a new folder, or export without --vectors")
	case errors.Is(err, engine.ErrNoEncoder):
		return hinted(fmt.Errorf("%s: %w", name, err), "name the model with --model")
	}
	err = fmt.Errorf("%s: %w (%s stored by this run before)", name, err, stored)
	if errors.Is(err, archive.ErrNoExport) {
		return hinted(err, "`lexsem index` reads other files; otherwise correct the file and run the same command again")
	}
	return hinted(err, "correct the file and run the same command again; documents that are stored unchanged are skipped")
}
