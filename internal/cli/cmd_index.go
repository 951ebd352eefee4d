package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lexsem/lexsem/engine"
)

var cmdIndex = command{
	name:    "index",
	args:    "PATH… | -",
	summary: "store texts: .jsonl, .txt, .md, folders, or JSONL from standard input",
	about: `
Documents are stored by id; one that is stored already is replaced, and left as it is if nothing in it is new. A JSONL line is
{"_id": …, "title": …, "text": …} with any other fields as metadata ("id" works, too). A .txt
or .md file is one document whose id is its path below the folder that was named. Hidden
files and files of other kinds in folders are left out and counted.

A text longer than the model reads is stored in chunks of whole sentences, which overlap; a
search finds the document by its best chunk and says which.

With --model openai:NAME, as openai:text-embedding-3-small (any /v1/embeddings: OPENAI_BASE_URL,
OPENAI_API_KEY), or ollama:NAME, as ollama:nomic-embed-text (OLLAMA_HOST), texts are sent
there; NAME@DIM says how long the vectors are where it is not known. The model is asked when
something is encoded, never for a lexical search.

Vectors of texts are kept in the cache folder, so that a text that was indexed before, into
whatever database, is not encoded again; --vector-cache bounds them. A model behind a URL is
asked for some probe texts first, and what is kept is not used if it answers otherwise.

Each batch is stored whole or not at all. When a document cannot be read, indexing stops
before its batch, naming file and line; --skip-bad leaves such documents out and counts them.
Ctrl-C ends after the batch that is being stored; what was stored stays.`,
	examples: []string{
		"lexsem index --db notes.db ~/notes",
		"zcat corpus.jsonl.gz | lexsem index --db papers.db --model bge-small-en-v1.5 -",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		o := indexOptions{
			batch:   f.int("batch", 500, "documents stored in one commit"),
			skipBad: f.bool("skip-bad", "leave out documents that cannot be read, and count them"),
			chunk:   f.int("chunk-tokens", 0, "tokens of a chunk; default what the model reads, -1 cuts longer texts off"),
			overlap: f.int("chunk-overlap", 0, "most tokens that a chunk repeats of the one before; default an eighth, -1 none"),
			kind:    f.str("index", "", "`KIND`flat (exact) or hnsw (approximate); default by size"),
			noSync:  f.bool("no-sync", "do not wait for the disk: a power cut may lose the last batches"),
			memory:  f.int("memory", 0, "`MIB`budget of the store's caches (default 128)"),
			keep:    vectorCacheFlag(f),
			json:    f.bool("json", "print the summary as JSON"),
		}
		return o.run
	},
}

type indexOptions struct {
	batch           *int
	skipBad, noSync *bool
	kind            *string
	chunk, overlap  *int
	memory, keep    *int
	json            *bool
}

// indexSummary is what index --json prints.
type indexSummary struct {
	DB              string  `json:"db"`
	Added           int     `json:"added"`            // documents that were new
	Replaced        int     `json:"replaced"`         // documents that replaced one with the same id
	Unchanged       int     `json:"unchanged"`        // documents that were stored already as they are
	Chunked         int     `json:"chunked"`          // of these, documents that were cut into chunks
	Chunks          int     `json:"chunks"`           // how many chunks those have
	Truncated       int     `json:"truncated"`        // of these, documents with text that no vector stands for
	TruncatedTokens int     `json:"truncated_tokens"` // tokens cut off in all
	Bad             int     `json:"bad"`              // documents left out by --skip-bad
	Skipped         skipped `json:"skipped"`
	Documents       int     `json:"documents"`  // stored now
	Texts           int64   `json:"texts"`      // documents and chunks that a model that is not hash was asked for; 0 without the cache
	FromCache       int64   `json:"from_cache"` // of these, those whose vectors an earlier run had kept
	Seconds         float64 `json:"seconds"`
	PerSecond       float64 `json:"documents_per_second"`
}

func (o indexOptions) run(ctx context.Context, a *app, paths []string) (err error) {
	if len(paths) == 0 {
		return hinted(usagef("nothing to index"), "name files, folders or - for JSONL on standard input")
	}
	if *o.batch < 1 || *o.batch > 100_000 {
		return usagef("--batch %d: use a number from 1 to 100,000", *o.batch)
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	if err := checkVectorCache(*o.keep); err != nil {
		return err
	}
	a.keep = *o.keep
	opt := engine.Options{Index: *o.kind, ChunkTokens: *o.chunk, ChunkOverlap: *o.overlap, NoSync: *o.noSync, MemoryMiB: *o.memory}
	if err := opt.Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	p := a.progress()
	defer p.done()
	ix := &indexer{app: a, ctx: ctx, options: o, progress: p}
	opt.Progress = ix.hear
	ix.db, err = a.openDB(ctx, dir, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.db.close()) }()

	begin := time.Now()
	src := &sources{stdin: a.Stdin, each: ix.add, bad: ix.bad, read: func(n int) { ix.bytes += int64(n) }}
	ix.total = src.total(paths)
	p.update(step{stage: "indexing", unit: "documents"})
	if err = src.walk(paths); err == nil {
		err = ix.flush()
	}
	if err == nil { // what the first search would wait for is saved with the rest
		err = ix.db.settle(ctx, p)
	}
	p.done()
	if err != nil {
		return ix.stopped(err)
	}
	stats, err := ix.db.Stats(ctx)
	if err != nil {
		return err
	}
	s := ix.summary
	s.DB, s.Skipped, s.Documents = dir, src.skipped, stats.Documents
	s.FromCache, s.Texts = fromCache(ix.db.enc)
	s.Seconds = time.Since(begin).Seconds()
	s.PerSecond = float64(s.Added+s.Replaced+s.Unchanged) / max(s.Seconds, 1e-9)
	return o.print(a, s, stats)
}

func (o indexOptions) print(a *app, s indexSummary, stats engine.Stats) error {
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	fmt.Fprintf(a.Stdout, "%s: %s added, %s replaced, %s unchanged in %s (%s documents/s); %s stored\n", s.DB, thousands(s.Added),
		thousands(s.Replaced), thousands(s.Unchanged), short(time.Duration(s.Seconds*float64(time.Second))), significant(s.PerSecond), thousands(s.Documents))
	if s.Chunked > 0 {
		fmt.Fprintf(a.Stdout, "%s stored in %s\n", count(s.Chunked, "long document is", "long documents are"), count(s.Chunks, "chunk", "chunks"))
	}
	if s.Truncated > 0 {
		fmt.Fprintf(a.Stdout, "%s longer than the %d tokens that %s reads: %s tokens at their ends are not searchable\n",
			count(s.Truncated, "document is", "documents are"), stats.Encoder.MaxTokens, stats.Encoder.Model, thousands(s.TruncatedTokens))
	}
	if s.FromCache > 0 {
		fmt.Fprintln(a.Stdout, cacheLine(s.FromCache, s.Texts))
	}
	if s.Bad > 0 {
		fmt.Fprintf(a.Stdout, "%s left out because of errors\n", count(s.Bad, "document", "documents"))
	}
	if k := s.Skipped; k != (skipped{}) {
		fmt.Fprintf(a.Stdout, "left out in folders: %d hidden, %d binary, %d of other kinds\n", k.Hidden, k.Binary, k.Other)
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// indexer gathers documents into batches and stores them.
type indexer struct {
	app      *app
	ctx      context.Context
	options  indexOptions
	db       *database
	progress *progress
	batch    []item
	inBatch  map[string]struct{}
	summary  indexSummary

	bytes, total   int64 // read so far, and in all (0 unknown)
	flushed, shown int64 // bytes read when the last batch was stored, and when the running one was full
}

func (ix *indexer) add(it item) error {
	if _, dup := ix.inBatch[it.doc.ID]; dup { // the later one replaces the earlier
		if err := ix.flush(); err != nil {
			return err
		}
	}
	if ix.inBatch == nil {
		ix.inBatch = make(map[string]struct{}, *ix.options.batch)
	}
	ix.inBatch[it.doc.ID] = struct{}{}
	ix.batch = append(ix.batch, it)
	if len(ix.batch) >= *ix.options.batch {
		return ix.flush()
	}
	return ix.ctx.Err()
}

// bad decides about a document that cannot be read.
func (ix *indexer) bad(b *badInput) error {
	if !*ix.options.skipBad {
		return hinted(b, "--skip-bad leaves such documents out and counts them")
	}
	ix.summary.Bad++
	if !ix.app.quiet {
		ix.progress.done()
		fmt.Fprintf(ix.app.Stderr, "left out: %s\n", oneLine(b.Error()))
	}
	return nil
}

// flush stores the batch. A document that the engine refuses is treated as one
// that cannot be read.
func (ix *indexer) flush() error {
	ix.shown = ix.bytes
	for len(ix.batch) > 0 {
		docs := make([]engine.Document, len(ix.batch))
		for i, it := range ix.batch {
			docs[i] = it.doc
		}
		res, err := ix.db.Upsert(ix.ctx, docs)
		var refused *engine.DocumentError
		if errors.As(err, &refused) && refused.Position < len(ix.batch) {
			if err := ix.bad(&badInput{ix.batch[refused.Position].where, refused.Err}); err != nil {
				return err
			}
			ix.batch = append(ix.batch[:refused.Position], ix.batch[refused.Position+1:]...)
			continue
		}
		if err != nil {
			return err
		}
		ix.summary.Added += res.Added
		ix.summary.Replaced += res.Replaced
		ix.summary.Unchanged += res.Unchanged
		ix.summary.Chunked += res.Chunked
		ix.summary.Chunks += res.Chunks
		ix.summary.Truncated += res.Truncated
		ix.summary.TruncatedTokens += res.TruncatedTokens
		break
	}
	ix.batch, ix.inBatch = ix.batch[:0], nil
	ix.flushed = ix.shown
	return ix.ctx.Err()
}

// hear turns the engine's progress within one batch into that of the run.
func (ix *indexer) hear(p engine.Progress) {
	if p.Stage == "rebuild" { // while the database is opened
		ix.progress.update(step{stage: "rebuilding", done: p.Done, total: p.Total, unit: "documents"})
	}
	if p.Stage != "encode" || p.Total == 0 {
		return
	}
	share := float64(p.Done) / float64(p.Total)
	s := step{stage: "indexing", done: ix.summary.Added + ix.summary.Replaced + ix.summary.Unchanged + p.Done, unit: "documents"}
	if ix.total > 0 {
		s.fraction = (float64(ix.flushed) + share*float64(ix.shown-ix.flushed)) / float64(ix.total)
	}
	ix.progress.update(s)
}

// stopped says how much was stored before err.
func (ix *indexer) stopped(err error) error {
	stored := ix.summary.Added + ix.summary.Replaced
	if errors.Is(err, context.Canceled) {
		stats, e := ix.db.Stats(context.WithoutCancel(ix.ctx))
		if e != nil {
			return errors.Join(err, e)
		}
		return hinted(&interrupted{fmt.Sprintf("interrupted; %s stored, %s of them by this run", count(stats.Documents, "document is", "documents are"), thousands(stored))},
			"run the same command again to go on; documents that are stored are not encoded again")
	}
	if stored > 0 {
		return fmt.Errorf("%w (%s of this run stored before)", err, count(stored, "document", "documents"))
	}
	return err
}

// interrupted is a cancellation with a message of its own.
type interrupted struct{ msg string }

func (e *interrupted) Error() string { return e.msg }
func (e *interrupted) Unwrap() error { return context.Canceled }
