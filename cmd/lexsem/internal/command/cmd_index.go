package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/problems"
)

var cmdIndex = command{
	name:    "index",
	args:    "PATH… | -",
	summary: "store files or JSONL, and keep folders in sync",
	about: `
PATH is a file or a folder; - reads JSONL from standard input.

Without --db, the database of one folder lies in it, as .lexsem, which Git does not see. All commands use it in
that folder and below, unless --db or LEXSEM_DB names another; index without PATH brings it up to date. It is
stored as with --background; --background=false waits for the vectors.

A folder is synchronised: the documents that came from it become those that its files hold now. New
and changed files are stored, documents of removed files are deleted (--keep leaves them), and nothing
else is touched. Files whose size and time have not changed are not read, and unchanged texts are not
encoded again. --watch continues with each change. Skipped are hidden files, links, files of other
kinds, and what .gitignore and .lexsemignore name in any folder; --exclude skips more. In a Git
repository, .gitignore above PATH, .git/info/exclude and core.excludesFile count, too. Minified
files and lock files are skipped and, outside of repositories, node_modules, venv, __pycache__, and target,
dist and build without source files, unless --no-default-excludes is given. --reread reads unchanged files, too. A folder that is
empty or gone while documents from it are stored is refused, because a disk may be missing; --prune-all
removes the documents. A folder that was renamed or moved is recognised by its files, or named by --moved.

A text, Markdown, HTML, PDF, office (.docx .pptx .xlsx .odt .odp .ods .rtf), .epub, .ipynb, .eml, .mht or
source file is one document. Its id is its path below the folder, after --prefix. Each record of .jsonl,
.json, .csv, .tsv, .parquet and each message of .mbox is a document with its own id. A .gz file is read
as what it holds. A JSONL line is {"_id": …, "title": …, "text": …}; "id" works, too, and all other
fields become metadata. --columns sets other names. If the database has a model, vectors in records are
ignored, because they may come from another model; --vectors says that they come from this one. A file
of vectors (.npy, .fbin, .fvecs) takes its ids from the file NAME.ids next to it, one per line.

The metadata field _file says where a document is from: path, root, time (of the file), kind, line.
Filters find these by plain name, too (kind = "csv"), unless the file has a field of that name. Front
matter and the fields of records become metadata under their own names. Hits name file and lines.
Documents of single files and of standard input are stored by id and belong to no folder; they replace
a stored document of the same id, and no sync removes them.

A text that is longer than the model reads is stored in overlapping chunks of whole sentences. A
search finds the document by its best chunk and says which one.

--model static makes a table with a vector for each token of the default model, once, in about ten seconds
of a processor, and keeps it in the cache; static:NAME makes it of another model on this machine. It encodes
a megabyte in a fraction of a second. It is meant for source code; for prose the model itself is better.

--model openai:NAME, such as openai:text-embedding-3-small, sends texts to any server with
/v1/embeddings (OPENAI_BASE_URL, OPENAI_API_KEY). --model ollama:NAME, such as ollama:nomic-embed-text,
sends them to Ollama (OLLAMA_HOST). NAME@DIM gives the length of the vectors if it is not known. Such a
server is asked only to encode, never for a lexical search.

Passages that a document had before an edit are not encoded again. Where token states are off, vectors
are kept in the cache folder as well, for other databases of the same texts; --vector-cache limits them.
--state-cache keeps token states there, too. A model behind a URL first encodes some probe texts; if its
answers have changed, the cache is not used.

--words-first stores texts before they are encoded. Words find them at once, also from other processes, and
hybrid searches say how many passages have vectors already. The command then makes the vectors. If it is
interrupted, the next index, serve or mcp of the database goes on. --background ends the command before
that: a process of its own makes the vectors, answers the commands that come meanwhile, and ends. It may be
killed. --finish does its work in this process.

Each batch is stored completely or not at all. A file or a record that cannot be read is named with its
line; the command goes on, keeps what is stored of that file, and ends with exit code 1. --skip-bad
counts all of these, and the exit code is 0. Ctrl-C stops after the current batch; stored documents
stay, and the same command continues.

What a file has besides its text, such as front matter, a title or an id, is a warning if it cannot be
read, and the text is stored. Of a text of more than 16 MiB the beginning is stored, with a warning. A
scan, a table without a text column, or in a folder an array that holds no vectors of the database is a
warning, too. --strict makes warnings fail. An empty file is no failure. The database keeps what failed, is stale, was warned of or
left out, until it is mended; --problems lists it.

Records of two files of a folder may have the same id: the second is stored as FILE:ID. Of two records of
one file with the same id, the second is stored as ID~2, with a warning. --global-ids refuses the
first, and lets the second replace.

--json ends with one line: {"added","replaced","removed","unchanged","stored",
"failed":[{"path","error","stale"}],"warned":[{"path","line","warning"}],…}. stale is the number of
documents of path that stay as they were.`,
	examples: []string{
		"lexsem index --db notes.db --watch --exclude 'drafts/' ~/notes",
		"zcat corpus.jsonl.gz | lexsem index --db papers.db --model bge-small-en-v1.5 -",
	},
	declare: func(f *flags) action {
		o := indexOptions{
			watch:   f.bool("watch", "follow the folders until Ctrl-C; each change is stored within seconds"),
			poll:    f.int("poll", 0, "`SECONDS`with --watch: scan the folders at this interval, for drives that report no changes"),
			stay:    f.bool("keep", "keep documents whose files are gone"),
			prune:   f.bool("prune-all", "also remove the documents of a folder that is empty or gone"),
			prefix:  f.str("prefix", "", "`P`start the ids of a folder's files with P/, so that two folders may have files of the same name"),
			exclude: f.strs("exclude", "`PATTERN`skip files that match, as a line of .gitignore does; may be repeated"),
			usual:   f.bool("no-default-excludes", "read what is left out by default: lock files, and outside of Git repositories node_modules, build, …"),
			moved:   f.str("moved", "", "`OLD`former path of the folder, whose documents become those of PATH"),
			reread:  f.bool("reread", "read files that have not changed, too"),
			idField: f.str("id-field", "", "`NAME`column or field with the ids of records, as --columns id=NAME"),
			global:  f.bool("global-ids", "keep the ids of records as they are: one that another file has fails"),
			strict:  f.bool("strict", "warnings fail: the exit code is then 1"),
			lacks:   f.bool("problems", "list what the database lacks of its files, and index nothing"),
			columns: f.str("columns", "", "`MAP`columns of tables and fields of records, as id=sku,title=name,text=body,vector=v; default the usual names"),
			vectors: f.bool("vectors", "use the vectors in records as the model's own, instead of encoding the texts"),
			batch:   f.int("batch", 500, "most documents stored in one commit"),
			first:   f.bool("words-first", "store texts before they are encoded: words find them at once, and vectors follow"),
			behind:  f.bool("background", "the same, and end when words find all documents: a process of its own makes the vectors"),
			finish:  f.bool("finish", "make the vectors that the database lacks, and index nothing"),
			skipBad: f.bool("skip-bad", "skip and count what cannot be read; the exit code is then 0"),
			words:   f.int("visual-words", 0, "visual words of the codebook of a new database of images, 16 to 4,096; default 1,024"),
			chunk:   f.int("chunk-tokens", 0, "most tokens of a chunk; default what the model reads; -1 truncates longer texts"),
			overlap: f.int("chunk-overlap", 0, "most tokens that a chunk repeats from the one before; default an eighth; -1 none"),
			metric:  f.str("metric", "", "`NAME`how vectors are compared: cosine, or dot or l2, for which lengths count; default the database's own, cosine for a new one"),
			holds:   f.str("kind", "", "`KIND`what is stored, for the ranking of hybrid searches: code, text, or auto: code while most documents are source files; default the database's own, auto for a new one"),
			kind:    f.str("index", "", "`KIND`"+indexKinds),
			lang:    f.str("language", "", "`CODE`language of the texts, for stems and function words: en, de, …, or none for no stems; default the database's own, en for a new one"),
			states:  f.str("token-states", "", "`WHEN`keep the state of every token: auto (up to 1 GiB, and not of source code), on or off; default the database's own, auto for a new one"),
			noSync:  f.bool("no-sync", "do not wait for the disk; a power cut may lose the last batches"),
			memory:  f.int("memory", 0, "`MIB`memory for the caches of the store (default 128)"),
			most:    memoryFlag(f),
			keep:    cacheFlags(f),
			json:    f.bool("json", "print the summary as JSON"),
			given:   f.given,
		}
		return o.run
	},
}

type indexOptions struct {
	batch, poll                         *int
	watch, stay, prune, skipBad, noSync *bool
	vectors, global, strict, lacks      *bool
	first, behind, finish               *bool
	kind, holds, metric, prefix, lang   *string
	columns, states, idField, moved     *string
	exclude                             *[]string
	usual, reread                       *bool
	words, chunk, overlap               *int
	memory, most                        *int
	keep                                func() cacheBounds
	json                                *bool
	given                               func(flag string) bool
}

// indexSummary is the output of index --json.
type indexSummary struct {
	DB              string         `json:"db"`
	Root            string         `json:"root,omitempty"` // with --watch: the folder that was synced
	Added           int            `json:"added"`          // documents that were new
	Replaced        int            `json:"replaced"`       // documents that replaced one with the same id
	Removed         int            `json:"removed"`        // documents whose files are gone
	Unchanged       int            `json:"unchanged"`      // documents that were there as they are
	Stored          int            `json:"stored"`         // documents now, in all
	Failed          []indexFailed  `json:"failed"`
	Warned          []indexWarned  `json:"warned"`           // the texts of these files are stored
	Chunked         int            `json:"chunked"`          // of these, documents that were cut into chunks
	Chunks          int            `json:"chunks"`           // how many chunks those have
	Truncated       int            `json:"truncated"`        // of these, documents with text that no vector stands for
	TruncatedTokens int            `json:"truncated_tokens"` // tokens cut off in all
	Bad             int            `json:"bad"`              // what --skip-bad left out
	Skipped         folder.Skipped `json:"skipped"`          // in folders
	Documents       int            `json:"documents"`        // the same as stored
	Texts           int64          `json:"texts"`            // documents and chunks that a model that is not hash was asked for; 0 without the cache
	FromCache       int64          `json:"from_cache"`       // of these, those whose vectors an earlier run had kept
	Seconds         float64        `json:"seconds"`
	PerSecond       float64        `json:"documents_per_second"`
	Note            string         `json:"note,omitempty"`    // that of stats
	Waiting         int            `json:"waiting,omitempty"` // passages whose vectors another process makes
}

// emptySummary is the summary of a run that has done nothing yet.
func emptySummary(dir string) indexSummary {
	return indexSummary{DB: dir, Failed: []indexFailed{}, Warned: []indexWarned{}, Skipped: folder.Skipped{Kinds: []problems.Extension{}}}
}

// indexFailed is a file that could not be read, or not completely.
type indexFailed struct {
	Path  string `json:"path"`
	Line  int    `json:"line,omitempty"` // of it, from 1, where the trouble is that of one record
	Error string `json:"error"`
	Stale int    `json:"stale,omitempty"` // documents that stay as they were, since nothing of the path could be read
}

// indexWarned is an unreadable part of a file other than its text.
type indexWarned struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"` // from 1; left out for the whole file
	Warning string `json:"warning"`
}

func (o indexOptions) check(paths []string) error {
	switch {
	case *o.lacks && (len(paths) > 0 || *o.watch):
		return hinted(usagef("--problems indexes nothing"), "run it without paths and --watch")
	case *o.finish && (len(paths) > 0 || *o.watch || *o.behind || *o.lacks):
		return hinted(usagef("--finish indexes nothing"), "run it without paths, --watch, --background and --problems")
	case *o.behind && *o.watch:
		return hinted(usagef("both --background and --watch"), "leave one of them out: --watch makes the vectors while it follows the folders")
	case *o.lacks, *o.finish:
		return nil
	case len(paths) == 0:
		return hinted(usagef("nothing to index"), "name files, folders or - for JSONL on standard input; a folder that has its own database, "+folderName+", needs no name")
	case *o.batch < 1 || *o.batch > 100_000:
		return usagef("--batch %d: use a number from 1 to 100,000", *o.batch)
	case *o.poll < 0:
		return usagef("--poll %d: use a number of seconds from 1", *o.poll)
	case *o.poll > 0 && !*o.watch:
		return hinted(usagef("--poll goes with --watch"), "--poll sets how often --watch scans the folders")
	case *o.moved != "" && len(paths) != 1:
		return hinted(usagef("--moved with %d paths", len(paths)), "name the one folder that OLD has become")
	case *o.stay && *o.prune:
		return hinted(usagef("both --keep and --prune-all"), "leave one of them out: --keep keeps documents whose files are gone, --prune-all removes them")
	}
	for _, pattern := range *o.exclude {
		if err := folder.CheckPattern(pattern); err != nil {
			return &usageError{msg: "--exclude: " + err.Error()}
		}
	}
	return o.keep().check()
}

func (o indexOptions) run(ctx context.Context, a *app, paths []string) (err error) {
	if paths, err = o.place(a, paths); err != nil {
		return err
	}
	if err := o.check(paths); err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	if *o.lacks {
		return runProblems(ctx, a, dir, *o.json)
	}
	a.keep = o.keep()
	if *o.finish {
		return o.makeVectors(ctx, a, dir)
	}
	*o.first = *o.first || *o.behind
	opt := engine.Options{Index: *o.kind, Kind: *o.holds, Metric: *o.metric, VisualWords: *o.words, ChunkTokens: *o.chunk, ChunkOverlap: *o.overlap, Language: *o.lang, NoSync: *o.noSync, MemoryMiB: *o.memory, MaxMemoryMiB: *o.most, TokenStates: *o.states}
	if err := opt.Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	for _, p := range paths {
		if err := o.checkPath(p); err != nil {
			return err
		}
	}
	columns, err := columnsOf(*o.columns)
	if err != nil {
		return err
	}
	if *o.idField != "" {
		if columns.ID != "" {
			return hinted(usagef("--id-field and --columns id=… name the same"), "leave one of them out")
		}
		columns.ID = *o.idField
	}
	p := a.progress()
	defer p.done()
	ix := &indexer{app: a, ctx: ctx, options: o, progress: p}
	ix.summary = emptySummary(dir)
	opt.Progress = ix.hear
	ix.db, err = a.openDB(ctx, dir, opt)
	if err != nil {
		return err
	}
	later := false // another process is to make the vectors
	defer func() {
		if err = errors.Join(err, ix.db.close()); later {
			err = errors.Join(err, a.startFinish(dir, *o.memory, *o.most))
		}
	}()
	before, err := ix.db.Stats(ctx)
	if err != nil {
		return err
	}
	ix.dir = before.Dir
	if filepath.Base(dir) == folderName {
		if err := hideFromGit(ix.dir); err != nil {
			return err
		}
	}
	ix.how = files.Options{Columns: columns, DropVectors: before.Encoder.Model != "" && !*o.vectors}
	if *o.watch {
		return ix.watch(paths)
	}

	begin := time.Now()
	ix.total = total(paths)
	p.update(step{stage: "indexing", unit: "documents"})
	if err = ix.take(paths); err == nil { // what the first search would wait for is saved with the rest
		if *o.first {
			ix.tell("note", fmt.Sprintf("words find all documents after %.1f s; their vectors follow", time.Since(begin).Seconds()))
		}
		if !*o.behind {
			err = ix.db.settle(ctx, p)
		}
	}
	p.done()
	if e := ix.keepProblems(); e != nil {
		return errors.Join(err, e)
	}
	if err != nil {
		return ix.stopped(err)
	}
	stats, err := ix.end(begin)
	if err != nil {
		return err
	}
	if _, other := ix.db.Holder(); *o.behind && stats.Waiting > 0 && !other { // which makes them itself
		later = true
	}
	if err := o.print(a, ix.summary, stats); err != nil {
		return err
	}
	return ix.verdict()
}

// columnsOf reads the flag --columns.
func columnsOf(s string) (c files.Columns, err error) {
	if s == "" {
		return c, nil
	}
	to := map[string]*string{"id": &c.ID, "title": &c.Title, "text": &c.Text, "vector": &c.Vector}
	for part := range strings.SplitSeq(s, ",") {
		what, column, ok := strings.Cut(part, "=")
		what, column = strings.TrimSpace(what), strings.TrimSpace(column)
		if at := to[what]; !ok || at == nil || column == "" || *at != "" {
			return c, hinted(usagef("--columns %s: cannot read %q", s, part), "write the ones that you need of id=NAME,title=NAME,text=NAME,vector=NAME, each once")
		}
		*to[what] = column
	}
	return c, nil
}

// end completes the summary.
func (ix *indexer) end(begin time.Time) (engine.Stats, error) {
	stats, err := ix.db.Stats(ix.ctx)
	if err != nil {
		return stats, err
	}
	ix.summary.Documents, ix.summary.Stored, ix.summary.Note, ix.summary.Waiting = stats.Documents, stats.Documents, stats.Note, stats.Waiting
	ix.summary.took(begin, ix.db)
	return stats, nil
}

// took records the cost of a run that began at the given time.
func (s *indexSummary) took(begin time.Time, db *database) {
	s.FromCache, s.Texts = fromCache(db.encoder())
	s.Seconds = time.Since(begin).Seconds()
	s.PerSecond = float64(s.Added+s.Replaced+s.Unchanged) / max(s.Seconds, 1e-9)
}

// verdict is the error for files that failed; everything else is already stored.
func (ix *indexer) verdict() error {
	failed := ix.summary.Failed
	if len(failed) == 0 || *ix.options.skipBad {
		if err := ix.strict(); err != nil {
			return errors.Join(ix.vanished, err)
		}
		return ix.vanished
	}
	var names []string
	for _, f := range failed {
		if !slices.Contains(names, f.Path) {
			names = append(names, f.Path)
		}
	}
	what := count(len(names), "file was", "files were")
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	hint := "correct the files and run the same command again, or skip them with --exclude; with --skip-bad they are counted and the exit code is 0"
	if ix.foreign {
		hint = "--prefix P makes the ids of a folder's files differ from those of other folders"
	}
	err := hinted(fmt.Errorf("%s not taken over, the rest is: %s", what, strings.Join(names, ", ")), hint)
	if ix.vanished != nil {
		return errors.Join(ix.vanished, err)
	}
	return err
}

// strict is the error for warnings if --strict is set.
func (ix *indexer) strict() error {
	n := len(ix.summary.Warned)
	if n == 0 || !*ix.options.strict {
		return nil
	}
	w := ix.summary.Warned[0]
	return hinted(fmt.Errorf("%s, the first is %w", count(n, "warning", "warnings"), &badInput{w.Path, w.Line, errors.New(w.Warning)}),
		"correct the files, or run without --strict; `lexsem index --problems` lists all")
}

func (o indexOptions) print(a *app, s indexSummary, stats engine.Stats) error {
	if *o.json {
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	removed := ""
	if s.Removed > 0 {
		removed = thousands(s.Removed) + " removed, "
	}
	fmt.Fprintf(a.Stdout, "%s: %s added, %s replaced, %s%s unchanged in %s (%s documents/s); %s stored\n", s.DB, thousands(s.Added), thousands(s.Replaced), removed, thousands(s.Unchanged),
		short(time.Duration(s.Seconds*float64(time.Second))), significant(s.PerSecond), thousands(s.Documents))
	if s.Chunked > 0 {
		fmt.Fprintf(a.Stdout, "%s stored in %s\n", count(s.Chunked, "long document is", "long documents are"), count(s.Chunks, "chunk", "chunks"))
	}
	if s.Truncated > 0 {
		limit := ""
		if n := stats.Encoder.MaxTokens; n > 0 {
			limit = fmt.Sprintf("the %d tokens that ", n)
		}
		fmt.Fprintf(a.Stdout, "%s longer than %s%s reads: %s tokens at their ends are not searchable\n",
			count(s.Truncated, "document is", "documents are"), limit, stats.Encoder.Model, thousands(s.TruncatedTokens))
	}
	if s.FromCache > 0 {
		fmt.Fprintln(a.Stdout, cacheLine(s.FromCache, s.Texts))
	}
	if s.Bad > 0 {
		fmt.Fprintf(a.Stdout, "%s left out because of errors\n", count(s.Bad, "document", "documents"))
	}
	if n := len(s.Warned); n > 0 {
		fmt.Fprintf(a.Stdout, "%s; `lexsem index --problems` lists them\n", count(n, "warning", "warnings"))
	}
	if !s.Skipped.Zero() {
		fmt.Fprintf(a.Stdout, "left out in folders: %s\n", leftOutWords(s.Skipped))
	}
	if s.Note != "" {
		fmt.Fprintln(a.Stdout, s.Note)
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
