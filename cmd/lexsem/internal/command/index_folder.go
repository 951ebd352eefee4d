package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/folder"
)

// checkPath reports whether p can be indexed, before a database is opened.
func (o indexOptions) checkPath(p string) error {
	if p == "" {
		return hinted(usagef("empty name among the paths to index"), "name files, folders or - for JSONL on standard input")
	}
	info, err := os.Stat(p)
	switch {
	case *o.watch && (p == "-" || err == nil && !info.IsDir()):
		return hinted(usagef("--watch needs a folder, and %s is not one", p), "name the folder that holds it")
	case p == "-" || err != nil || info.IsDir():
		return nil
	case files.KindOf(p) == "":
		return hinted(usagef("%s: cannot index files of this kind", p), "kinds are "+strings.Join(files.Kinds(), ", ")+"; pipe JSONL to `lexsem index --db DIR -`")
	}
	return nil
}

// take indexes all paths in their order.
func (ix *indexer) take(paths []string) error {
	src := &sources{stdin: ix.app.Stdin, how: ix.how, repeated: !*ix.options.global, each: ix.add, bad: ix.bad, read: func(n int) { ix.bytes += int64(n) }}
	src.failed = ix.unread
	src.warned = ix.hearWarning
	src.begun = ix.begun
	defer ix.more() // after the last flush
	for _, p := range paths {
		if p == "-" {
			if err := src.stream(ix.ctx); err != nil {
				return err
			}
			continue
		}
		is, err := ix.isFolder(p)
		switch {
		case err != nil:
			ix.begun(p)
			return err
		case !is:
			err = src.file(ix.ctx, p)
		default: // whose documents come after those before it
			if err = ix.flush(); err == nil {
				err = ix.folder(p)
			}
		}
		if err != nil {
			return err
		}
	}
	return ix.flush()
}

// isFolder reports whether p is a folder, or was a folder whose documents are stored.
func (ix *indexer) isFolder(p string) (bool, error) {
	info, err := os.Stat(p)
	if err == nil {
		return info.IsDir(), nil
	}
	if n, e := folder.Recorded(ix.ctx, ix.db, p); e != nil || n > 0 {
		return true, e
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w; name files, folders or - for standard input", p, fs.ErrNotExist)
	}
	return false, err
}

// open connects a folder with the database.
func (ix *indexer) open(p string) (*folder.Folder, error) {
	o := ix.options
	exclude := *o.exclude
	if corpus := judgedCorpus(p); corpus != "" {
		ix.tell("note", p+": a corpus with judged queries; "+corpus+" alone is indexed. To index another file too, use --exclude '!/NAME'")
		exclude = append([]string{"/*", "!/" + corpus}, exclude...)
	}
	f, err := folder.Open(ix.ctx, ix.db, p, folder.Options{
		Prefix: *o.prefix, Keep: *o.stay, PruneAll: *o.prune, Exclude: exclude, NoDefaultExcludes: *o.usual, Reread: *o.reread, Moved: *o.moved, Batch: *o.batch, WordsFirst: *o.first,
		Columns: ix.how.Columns, DropVectors: ix.how.DropVectors, GlobalIDs: *o.global,
		Poll:     time.Duration(*o.poll) * time.Second,
		Progress: ix.hearFolder,
		Failed:   func(x folder.Failure) { ix.failed(failureOf(p, x)) },
		Warned:   func(x folder.Failure) { ix.warned(failureOf(p, x)) },
	})
	if errors.Is(err, engine.ErrInvalid) {
		return nil, &usageError{msg: err.Error()}
	}
	return f, err
}

// judgedCorpus names the passage files of a folder with queries and judgements, in the layouts of BEIR and MTEB
// that bench reads; "" for any other folder.
func judgedCorpus(dir string) string {
	has := func(pattern string) bool {
		found, err := filepath.Glob(filepath.Join(strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(dir), pattern))
		return err == nil && len(found) > 0
	}
	switch {
	case has("corpus.jsonl") && has("queries.jsonl") && has("qrels"):
		return "corpus.jsonl"
	case has("corpus/*.parquet") && has("queries/*.parquet") && (has("qrels/*.parquet") || has("data/*.parquet") || has("default/*.parquet")):
		return "corpus"
	}
	return ""
}

// failureOf names a file as the user would.
func failureOf(p string, x folder.Failure) *badInput {
	return &badInput{filepath.Join(p, filepath.FromSlash(x.Path)), x.Line, x.Err}
}

// folder syncs one folder. An unexpectedly empty folder is an error, but other folders are still synced.
func (ix *indexer) folder(p string) error {
	f, err := ix.open(p)
	if err != nil {
		return err
	}
	r, err := f.Sync(ix.ctx)
	ix.mu.Lock()
	ix.sync = nil
	ix.mu.Unlock()
	ix.summary.sync(p, r)
	ix.tellMoved(p, r)
	if errors.Is(err, folder.ErrVanished) {
		ix.summary.fail(&badInput{p, 0, err})
		ix.vanished = vanished(err)
		ix.tell("failed", err.Error())
		return nil
	}
	return err
}

// tellMoved names the former paths of a folder.
func (ix *indexer) tellMoved(p string, r folder.Report) {
	for _, old := range r.Moved {
		ix.tell("note", p+" was "+old+" before: its documents are kept")
	}
}

func vanished(err error) error {
	return hinted(err, "mount or restore the folder; --prune-all removes its documents")
}

// sync counts what a sync of folder p did.
func (s *indexSummary) sync(p string, r folder.Report) {
	s.add(r.AddResult)
	s.Removed += r.Removed
	s.Skipped.Add(r.Skipped)
	for _, x := range r.Warned {
		s.warn(failureOf(p, x))
	}
}

// hearFolder shows the progress of a sync.
func (ix *indexer) hearFolder(p folder.Progress) {
	ix.mu.Lock()
	ix.sync = &p
	ix.mu.Unlock()
	ix.progress.update(syncStep(p, 0, 0))
}

// syncing is the progress of the folder that is being synced, or nil.
func (ix *indexer) syncing() *folder.Progress {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.sync
}

// syncStep is the progress of a sync in which encoded documents, the given share of the current batch, are
// encoded.
func syncStep(p folder.Progress, encoded int, share float64) step {
	switch p.Stage {
	case "scan":
		return step{stage: "scanning", done: p.Files, unit: "files"}
	case "remove":
		return step{stage: "removing", done: p.Documents, unit: "documents"}
	}
	s := step{stage: "indexing", done: p.Documents + encoded, unit: "documents"}
	if p.Size > 0 {
		done := float64(p.Bytes) + share*float64(p.Storing)
		s.fraction = done / float64(p.Size)
		s.note = strings.TrimSpace(bytesOf(int64(done)) + " of " + bytesOf(p.Size) + "  " + p.File)
	}
	return s
}

// watch follows folders until the context ends, and prints one line for each sync.
func (ix *indexer) watch(paths []string) error {
	var turn sync.Mutex
	whole := len(paths) // folders that are not synced for the first time yet
	g, ctx := errgroup.WithContext(ix.ctx)
	for _, p := range paths {
		if is, err := ix.isFolder(p); err != nil || !is {
			return errors.Join(err, ctx.Err())
		}
		f, err := ix.open(p)
		if err != nil {
			return err
		}
		first := true
		begin := time.Now()
		g.Go(func() error {
			return f.Watch(ctx, func(r folder.Report, err error) error {
				turn.Lock()
				defer turn.Unlock()
				ix.progress.done()
				if first {
					whole--
				}
				e := ix.tellSync(p, r, err, first, begin)
				first, begin = false, time.Now()
				return e
			})
		})
	}
	err := g.Wait()
	ix.progress.done()
	if errors.Is(err, context.Canceled) && ix.ctx.Err() != nil && whole == 0 { // as the user ended it
		return ix.db.settle(context.WithoutCancel(ix.ctx), ix.progress)
	}
	return ix.stopped(err)
}

// tellSync prints the result of one sync of a watched folder.
func (ix *indexer) tellSync(p string, r folder.Report, err error, first bool, begin time.Time) error {
	if err != nil {
		ix.tell("failed", err.Error())
		return nil
	}
	stats, err := ix.db.Stats(ix.ctx)
	if err != nil {
		return err
	}
	ix.tellMoved(p, r)
	s := emptySummary(ix.summary.DB)
	s.Root, s.Documents, s.Stored = p, stats.Documents, stats.Documents
	s.sync(p, r)
	for _, x := range r.Failed {
		s.fail(failureOf(p, x))
	}
	if *ix.options.skipBad {
		s.Bad = len(s.Failed)
	}
	if first {
		s.took(begin, ix.db)
	}
	if *ix.options.json {
		return json.NewEncoder(ix.app.Stdout).Encode(s)
	}
	line := fmt.Sprintf("%s  %s: %s added, %s replaced, %s removed", time.Now().Format(time.TimeOnly), p, thousands(s.Added), thousands(s.Replaced), thousands(s.Removed))
	if n := len(s.Failed); n > 0 {
		line += ", " + thousands(n) + " failed"
	}
	if n := len(s.Warned); n > 0 {
		line += ", " + count(n, "warning", "warnings")
	}
	_, err = fmt.Fprintf(ix.app.Stdout, "%s; %s stored\n", line, thousands(s.Documents))
	return err
}
