package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/store"
)

var cmdReembed = command{
	name:    "reembed",
	summary: "change the model of a database: encode every document again",
	about: `
Fills a new database inside the folder of the old one with the vectors of --model, and replaces the old
one by it in a single step at the end. Ids, titles, texts, metadata and order stay; long documents are
cut to what the new model reads. Until the end the old database is in use: other commands search it and
write to it, and their changes are carried over. Meanwhile the database needs twice its space.

Ctrl-C, a kill or an error loses nothing: the same command continues, and --discard removes what was
encoded. If a document has a vector but no text, the command refuses to start. A document with both is
encoded from its text. Fitted bridges belong to the old vectors and are removed: run lexsem fit again.
Later backups need new files.`,
	examples: []string{
		"lexsem reembed --db notes.db --model openai:text-embedding-3-small",
		"lexsem reembed --db notes.db --discard",
	},
	declare: func(f *flags) action {
		o := reembedOptions{
			discard: f.bool("discard", "only remove what an interrupted run has encoded"),
			chunk:   f.int("chunk-tokens", 0, "most tokens of a chunk; default what the model reads; -1 truncates longer texts"),
			overlap: f.int("chunk-overlap", 0, "most tokens that a chunk repeats from the one before; default an eighth; -1 none"),
			kind:    f.str("index", "", "`KIND`"+indexKinds),
			memory:  f.int("memory", 0, "`MIB`memory for the caches of the store (default 128)"),
			most:    memoryFlag(f),
			keep:    cacheFlags(f),
			json:    f.bool("json", "print the result as JSON"),
		}
		return o.run
	},
}

type reembedOptions struct {
	discard, json                *bool
	chunk, overlap, memory, most *int
	kind                         *string
	keep                         func() cacheBounds
}

// reembedSummary is the output of reembed --json.
type reembedSummary struct {
	DB        string   `json:"db"`
	From      string   `json:"from"` // models
	To        string   `json:"to"`
	Documents int      `json:"documents"` // stored now
	Encoded   int      `json:"encoded"`   // by this run, with those that others wrote meanwhile
	Found     int      `json:"found"`     // encoded by interrupted runs before
	Chunked   int      `json:"chunked"`   // of those of this run, as of index
	Chunks    int      `json:"chunks"`
	Truncated int      `json:"truncated"`
	Bridges   []string `json:"bridges"` // fitted ones that are gone
	Texts     int64    `json:"texts"`   // as of index
	FromCache int64    `json:"from_cache"`
	Seconds   float64  `json:"seconds"`
}

func (o reembedOptions) run(ctx context.Context, a *app, _ []string) (err error) {
	if err := o.keep().check(); err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	if there, err := store.Folder(dir).Exists(); err != nil {
		return err
	} else if !there {
		return noDatabase(dir)
	}
	if *o.discard {
		return o.drop(a, dir)
	}
	if err := a.idle(ctx, dir); err != nil {
		return err
	}
	if a.model == "" {
		return hinted(usagef("no new model given"), "name it with --model; `lexsem setup --list` lists the models")
	}
	opt := engine.Options{Index: *o.kind, ChunkTokens: *o.chunk, ChunkOverlap: *o.overlap, MemoryMiB: *o.memory, MaxMemoryMiB: *o.most, AcceptModel: a.acceptModel, Logger: a.warnings()}
	if err := opt.Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	enc, err := a.openEncoder(ctx, a.model)
	if err != nil {
		return err
	}
	enc = a.cached(enc, o.keep())
	defer func() { err = errors.Join(err, a.closeEncoder(enc)) }()
	p := a.progress()
	defer p.done()
	opt.Progress = func(s engine.Progress) {
		switch s.Stage {
		case "reembed":
			p.update(step{stage: "encoding", done: s.Done, total: s.Total, unit: "documents"})
		case "wait":
			p.update(step{stage: "waiting", note: "for another lexsem process that has the database open"})
		case "read":
			p.update(step{stage: "reading", done: s.Done, total: s.Total, unit: "documents"})
		default:
			p.update(step{stage: s.Stage, done: s.Done, total: s.Total})
		}
	}
	begin := time.Now()
	r, err := engine.Reembed(ctx, dir, enc, opt)
	p.done()
	if err != nil {
		return reembedStopped(dir, r, err)
	}
	hits, texts := fromCache(enc)
	return o.print(a, reembedSummary{
		DB: dir, From: r.From.Model, To: r.To.Model, Documents: r.Documents, Encoded: r.Added + r.Replaced, Found: r.Found,
		Chunked: r.Chunked, Chunks: r.Chunks, Truncated: r.Truncated, Bridges: append([]string{}, r.Bridges...),
		Texts: texts, FromCache: hits, Seconds: time.Since(begin).Seconds(),
	})
}

func (o reembedOptions) drop(a *app, dir string) error {
	there, err := store.Folder(store.Folder(dir).Next()).Exists()
	if err == nil {
		err = store.Folder(dir).DropNext()
	}
	if err != nil {
		return err
	}
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"db": dir, "discarded": there})
	}
	what := "nothing to discard"
	if there {
		what = "what was encoded is discarded; the database is as it was"
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s\n", dir, what)
	return err
}

func (o reembedOptions) print(a *app, s reembedSummary) error {
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	fmt.Fprintf(a.Stdout, "%s: %s now by %s, before by %s; %s encoded in %s\n", s.DB, count(s.Documents, "document is", "documents are"), s.To, s.From,
		thousands(s.Encoded), short(time.Duration(s.Seconds*float64(time.Second))))
	if s.Found > 0 {
		fmt.Fprintf(a.Stdout, "%s encoded by interrupted runs before\n", count(s.Found, "document was", "documents were"))
	}
	if s.Chunked > 0 {
		fmt.Fprintf(a.Stdout, "%s stored in %s\n", count(s.Chunked, "long document is", "long documents are"), count(s.Chunks, "chunk", "chunks"))
	}
	if s.Truncated > 0 {
		fmt.Fprintf(a.Stdout, "%s longer than the model reads\n", count(s.Truncated, "document is", "documents are"))
	}
	if s.FromCache > 0 {
		fmt.Fprintln(a.Stdout, cacheLine(s.FromCache, s.Texts))
	}
	if len(s.Bridges) > 0 {
		fmt.Fprintf(a.Stdout, "gone with the old vectors: fitted bridge %s; `lexsem fit` fits it again\n", strings.Join(s.Bridges, ", "))
	}
	return nil
}

// reembedStopped says how much work remains after err, and what to do.
func reembedStopped(dir string, r engine.ReembedReport, err error) error {
	goOn := "the database is as it was; run the same command again to continue, or `lexsem reembed --discard --db DIR` to discard what was encoded"
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return noDatabase(dir)
	case errors.Is(err, context.Canceled):
		return hinted(&interrupted{"interrupted; " + count(r.Found+r.Added, "document was", "documents were") + " encoded"}, goOn)
	case errors.Is(err, engine.ErrInvalid):
		return err
	case errors.Is(err, encoder.ErrMismatch):
		return hinted(err, "go on with the model of the interrupted run, or run `lexsem reembed --discard --db DIR` to discard what was encoded")
	case r.From.Model == "" || errors.Is(err, engine.ErrCorrupt) || errors.Is(err, engine.ErrLocked): // not begun, or of no use
		return err
	}
	return hinted(fmt.Errorf("%w (%s encoded before)", err, count(r.Found+r.Added, "document was", "documents were")), goOn)
}
