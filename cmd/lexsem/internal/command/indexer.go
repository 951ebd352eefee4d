package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/problems"
)

// indexer gathers documents into batches and stores them.
type indexer struct {
	app      *app
	ctx      context.Context
	options  indexOptions
	how      files.Options // what of records is read
	db       *database
	dir      string // of it
	progress *progress
	batch    []item
	inBatch  map[string]struct{}
	summary  indexSummary
	bads     map[string]int // records of files that were named, and of "stdin", that were not taken over

	bytes, total   int64 // of files that were named, read so far, and in all (0 unknown)
	flushed, shown int64 // bytes read when the last batch was stored, and when the running one was full

	mu       sync.Mutex
	sync     *folder.Progress              // of the folder that is being synced
	vanished error                         // the last folder that is suddenly empty
	foreign  bool                          // a file failed because its id is another document's
	lacks    map[string][]problems.Problem // what files that were named lack, by their absolute path, and "stdin"
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

// bad records a document that cannot be read, or that the engine refuses, and lets indexing continue, as in a folder.
func (ix *indexer) bad(b *badInput) {
	if ix.bads == nil {
		ix.bads = map[string]int{}
	}
	if ix.bads[b.file]++; ix.bads[b.file] <= problems.MaxFailures {
		ix.lack(b, problems.Failed)
		ix.failed(b)
	}
}

// more tells of each file how many were bad besides those that were told.
func (ix *indexer) more() {
	for _, file := range slices.Sorted(maps.Keys(ix.bads)) {
		if n := ix.bads[file]; n > problems.MaxFailures {
			if *ix.options.skipBad {
				ix.summary.Bad += n - problems.MaxFailures - 1 // the last one is told
			}
			b := &badInput{file, 0, problems.More(n)}
			ix.lack(b, problems.Failed)
			ix.failed(b)
		}
	}
}

// unread decides about a named file that cannot be read. Its documents stay. A file without content is not a failure.
func (ix *indexer) unread(b *badInput) error {
	at := sourceName(b.file)
	of := location.Where(location.Path, func(path string) filter.Filter { return filter.Eq(path, filepath.ToSlash(at)) })
	n, err := ix.db.Count(ix.ctx, filter.And(of, filter.Not(location.Where(location.Root, filter.Exists))))
	if err != nil {
		return err
	}
	switch {
	case n > 0:
		ix.lacks[at] = append(ix.lacks[at], problems.Problem{State: problems.Stale, Documents: n, Reason: oneLine(b.err.Error())})
		b.err = &folder.StaleError{Documents: n, Err: b.err}
	case errors.Is(b.err, files.ErrNoText) && !errors.Is(b.err, files.ErrMalformed):
		if ix.summary.Skipped.Empty++; b.err != files.ErrNoText { // a scan, or a table without texts
			ix.hearWarning(b)
		}
		return nil
	default:
		ix.lack(b, problems.Failed)
	}
	ix.failed(b)
	return nil
}

// failed records an unreadable part of a file and lets indexing continue.
func (ix *indexer) failed(b *badInput) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	what := "failed"
	if *ix.options.skipBad {
		what = "left out"
		ix.summary.Bad++
	}
	ix.foreign = ix.foreign || errors.Is(b.err, folder.ErrForeign)
	ix.tell(what, b.Error())
	if !*ix.options.watch { // where each sync has a summary of its own, and there is no last one
		ix.summary.fail(b)
	}
}

// hearWarning records a warning about a named file or standard input.
func (ix *indexer) hearWarning(b *badInput) {
	ix.lack(b, problems.Warned)
	ix.summary.warn(b)
	ix.warned(b)
}

// warned reports an unreadable part of a file other than its text.
func (ix *indexer) warned(b *badInput) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.tell("warned", b.Error())
}

// lack records a problem of a named file or of standard input.
func (ix *indexer) lack(b *badInput, state string) {
	at := sourceName(b.file)
	ix.lacks[at] = append(ix.lacks[at], problems.Problem{State: state, Line: b.line, Reason: oneLine(b.err.Error())})
}

// begun records that a named file or standard input is being read, and forgets its earlier problems.
func (ix *indexer) begun(file string) {
	if ix.lacks == nil {
		ix.lacks = map[string][]problems.Problem{}
	}
	ix.lacks[sourceName(file)] = nil
}

// sourceName is the name under which the problems of a named file are kept.
func sourceName(file string) string {
	if abs, err := filepath.Abs(file); err == nil && file != "stdin" {
		return abs
	}
	return file
}

// keepProblems stores the problems of the named files that were read.
func (ix *indexer) keepProblems() error {
	for source, list := range ix.lacks {
		if err := problems.Write(ix.dir, source, folder.Skipped{}, list); err != nil {
			return err
		}
	}
	return nil
}

func (ix *indexer) tell(what, message string) {
	if !ix.app.quiet {
		ix.progress.done()
		fmt.Fprintf(ix.app.Stderr, "%s: %s\n", what, oneLine(message))
	}
}

func (s *indexSummary) warn(b *badInput) {
	s.Warned = append(s.Warned, indexWarned{b.file, b.line, oneLine(b.err.Error())})
}

func (s *indexSummary) fail(b *badInput) {
	one := indexFailed{Path: b.file, Line: b.line, Error: oneLine(b.err.Error())}
	if stale, ok := errors.AsType[*folder.StaleError](b.err); ok {
		one.Stale = stale.Documents
	}
	s.Failed = append(s.Failed, one)
}

// add adds the results of a commit to the counts.
func (s *indexSummary) add(r engine.AddResult) {
	s.Added += r.Added
	s.Replaced += r.Replaced
	s.Unchanged += r.Unchanged
	s.Chunked += r.Chunked
	s.Chunks += r.Chunks
	s.Truncated += r.Truncated
	s.TruncatedTokens += r.TruncatedTokens
}

// flush stores the batch. A document that the engine refuses counts as unreadable.
func (ix *indexer) flush() error {
	ix.shown = ix.bytes
	for len(ix.batch) > 0 {
		docs := make([]engine.Document, len(ix.batch))
		for i, it := range ix.batch {
			docs[i] = it.doc
			docs[i].WordsFirst = *ix.options.first && it.doc.Data == nil
		}
		res, err := ix.db.Upsert(ix.ctx, docs)
		var refused *engine.DocumentError
		if errors.As(err, &refused) && refused.Position < len(ix.batch) {
			ix.bad(&badInput{ix.batch[refused.Position].file, ix.batch[refused.Position].line, refused.Err})
			ix.batch = append(ix.batch[:refused.Position], ix.batch[refused.Position+1:]...)
			continue
		}
		if err != nil {
			return err
		}
		ix.summary.add(res)
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
	if f := ix.syncing(); f != nil {
		ix.progress.update(syncStep(*f, p.Done, share))
		return
	}
	s := step{stage: "indexing", done: ix.summary.Added + ix.summary.Replaced + ix.summary.Unchanged + p.Done, unit: "documents"}
	if ix.total > 0 {
		s.fraction = (float64(ix.flushed) + share*float64(ix.shown-ix.flushed)) / float64(ix.total)
	}
	ix.progress.update(s)
}

// stopped says how much was stored before err.
func (ix *indexer) stopped(err error) error {
	stored := ix.summary.Added + ix.summary.Replaced
	if _, ok := errors.AsType[*folder.VanishedError](err); ok {
		return vanished(err)
	}
	if errors.Is(err, context.Canceled) {
		stats, e := ix.db.Stats(context.WithoutCancel(ix.ctx))
		if e != nil {
			return errors.Join(err, e)
		}
		return hinted(&interrupted{fmt.Sprintf("interrupted; %s stored, %s of them by this run", count(stats.Documents, "document is", "documents are"), thousands(stored))},
			"run the same command again to continue; stored documents are not encoded again")
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
