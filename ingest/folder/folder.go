// Package folder makes a database equal to a folder of files. Start with [Open], then [Folder.Sync] once or
// [Folder.Watch] to follow changes.
//
// A sync stores new and changed documents, and removes those whose files are gone. It changes only documents that
// it has recorded from that folder. Files whose size and time are unchanged since the last sync are not read. In
// doubt nothing is deleted: below an unreadable folder everything stays, an unreadable file keeps its last
// version, and a folder that is unexpectedly empty is ErrVanished. A folder below it that was another disk
// and is empty or gone keeps its documents and is a failure. If a part of a file besides its text cannot be
// read, this is a warning. engine.Stats.Problems lists failures and warnings until they are resolved.
//
// Each batch is one commit. After an error or a kill, the previous batches are stored, and the next Sync
// continues. Files that fail are listed in Report.Failed; they are not an error. One Sync of a Folder
// runs at a time.
package folder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/problems"
)

// ErrVanished reports a root that is missing, unreadable or empty while documents are recorded from it:
// a disk may not be mounted. Nothing was removed. Options.PruneAll removes the documents.
var ErrVanished = errors.New("the folder is suddenly empty")

// ErrForeign reports a file whose document has the id of a document that is not from this root.
var ErrForeign = errors.New("the id belongs to another document")

// Defaults of Options.
const (
	defaultBatch = 500
	stateFolder  = problems.Folder // below that of the database
)

// Options configure the syncs of one root. The zero value is a good default.
type Options struct {
	// Prefix, followed by a slash, is put before the ids of files, so that two roots may have files of the
	// same name. A changed prefix changes the ids: documents with the old ids are removed.
	Prefix string
	// Keep keeps documents of files that no longer exist.
	Keep bool
	// PruneAll also removes the documents of a root, or of a disk below it, that is empty, unreadable or gone.
	PruneAll bool
	// Exclude are gitignore patterns, relative to the root, of files and folders to skip. They are applied
	// after .gitignore and .lexsemignore of all folders and override them. In a Git repository, .gitignore of the folders
	// above the root, .git/info/exclude and the user's core.excludesFile count, too.
	Exclude []string
	// NoDefaultExcludes reads files that are left out by default: minified files and lock files and, outside of Git
	// repositories, which have rules of their own, node_modules, venv, __pycache__, and target, dist and build without
	// source files.
	NoDefaultExcludes bool
	// Moved is the former path of the root: its documents become those of this root. Without it, a vanished root is
	// recognised if most of its files are here with the same ids.
	Moved string
	// Reread reads files that have not changed, too.
	Reread bool
	// GlobalIDs makes the ids of records unique in the database: a record whose id belongs to another file fails,
	// and of two records of one file with the same id the later replaces the earlier. Otherwise such a record is
	// stored under a different id: FILE:ID, or ID~2 in one file.
	GlobalIDs bool
	// WordsFirst stores documents without waiting for their vectors (engine.Document.WordsFirst).
	WordsFirst bool
	// Batch limits the documents of one commit; 0 means defaultBatch. Batches are smaller if documents
	// take long, so that each batch ends within seconds.
	Batch int
	// Columns, DropVectors and MaxBytes are passed to files.Options.
	Columns     files.Columns
	DropVectors bool
	MaxBytes    int64
	// Poll, if not 0, makes Watch scan the folder at this interval instead of waiting for notifications of
	// the system. Network drives send no notifications.
	Poll time.Duration
	// Progress, Failed and Warned, if not nil, are called from one goroutine at a time. Failed is called for each
	// failure as it happens, and Warned for each warning of a file that is read.
	Progress func(Progress)
	Failed   func(Failure)
	Warned   func(Failure)
}

// Progress reports the progress of a sync.
type Progress struct {
	Stage       string // "scan", "sync" or "remove"
	Files, Of   int    // that are done, and in all; in a scan Of is 0
	Bytes, Size int64  // the same in bytes of files
	Storing     int64  // bytes of the files in the batch that is being stored
	Documents   int    // stored or found unchanged; in the stage "remove", removed
	File        string // that was begun last, below the root, with slashes; only in the stage "sync"
}

// Failure is a file or a folder that a sync could not read or store. The documents recorded from it
// stay.
type Failure struct {
	Path string // below the root, with slashes; "" is the root
	Line int    // of the file, from 1, where the trouble begins; 0 where there is none
	Err  error
}

func (f Failure) Error() string {
	at := f.Path
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	return at + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

// StaleError is in the failure of a file or folder that could not be read at all while documents are
// recorded from it. These documents stay and may be out of date.
type StaleError struct {
	Documents int // that stay
	Err       error
}

func (e *StaleError) Error() string {
	if e.Documents == 1 {
		return e.Err.Error() + "; its stored document stays as it was"
	}
	return fmt.Sprintf("%v; its %d stored documents stay as they were", e.Err, e.Documents)
}

// Unwrap returns the cause.
func (e *StaleError) Unwrap() error { return e.Err }

// stale adds to the reason of a failure how many documents stay unchanged.
func stale(err error, documents int) error {
	if documents == 0 {
		return err
	}
	return &StaleError{documents, err}
}

// Report describes the result of a sync.
type Report struct {
	// AddResult holds the totals of all commits. Unchanged counts the documents that were already stored
	// with the same content; the files of most of them were not read.
	engine.AddResult
	Removed int
	Moved   []string // former paths of the root whose documents were taken over
	Files   int      // found
	Read    int      // of these, read
	Bytes   int64    // of the files found
	Skipped Skipped
	Failed  []Failure // at most 10,000 of a file, then one that counts the rest
	// Warned lists the warnings of all files found, including those that were not read again. Their texts are
	// stored.
	Warned []Failure
}

// Skipped counts the files that a sync left out.
type Skipped = problems.LeftOut

// Folder connects one root with the database that follows it.
type Folder struct {
	db       engine.Database
	images   bool // whether it holds images
	root     string
	o        Options
	exclude  rules
	own      fs.FileInfo // the database's folder
	dir      string      // that folder
	stamped  string      // file of stamps
	settings string

	turn   chan struct{}                 // whoever holds it syncs
	hurry  chan chan struct{}            // from CatchUp to the Watch that follows changes; each is closed when they are stored
	follow atomic.Pointer[chan struct{}] // closed when that Watch ends; nil while there is none
	loaded bool
	stale  bool                // docs are of an earlier sync: others may have written since
	docs   map[string]place    // by id: what is recorded from this root
	unsure map[string]said     // by id: documents that say that they are, but were not noted
	likely map[string][]string // ids of these that say so in all that a sync writes, by path
	noted  *notes              // the ids that syncs have stored
	stamps map[string]stamp    // by path
	mounts []string            // folders that were file systems of their own
	dirty  bool                // the stamps are others than those in their file
	saved  time.Time           // when they were written

	folders []string // that the last sync has read

	lacks map[string][]problems.Problem // by path: what failed, and warnings of files without a stamp
	left  Skipped                       // by the last sync of the whole folder

	mu   sync.Mutex // of Options.Progress and Options.Failed, and of told
	told Progress   // last
}

// place is the origin of a recorded document.
type place struct {
	path string
	time int64 // seconds since 1970
	flat bool  // an earlier build stored it: the fields of location.File stand beside those of the file
}

// patch is the change of metadata that gives the document another value of a field of location.File.
func (p place) patch(name string, v any) map[string]any {
	if p.flat {
		return map[string]any{name: v}
	}
	return map[string]any{location.File: map[string]any{name: v}}
}

// Open binds a root to a database and reads nothing yet. The root may be missing, so that its documents
// can be removed. Size and time of its files are kept in the folder "sync" inside the folder of the
// database. Errors: engine.ErrInvalid for invalid options or an invalid root, and those of db.
func Open(ctx context.Context, db engine.Database, root string, o Options) (*Folder, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(root) || !utf8.ValidString(o.Prefix) || !utf8.ValidString(o.Moved) {
		return nil, fmt.Errorf("%w: root %q, prefix %q, moved from %q: not UTF-8; rename it", engine.ErrInvalid, root, o.Prefix, o.Moved)
	}
	if o.Batch < 0 {
		return nil, fmt.Errorf("%w: batch of %d documents; use a positive number, or 0 for the default", engine.ErrInvalid, o.Batch)
	}
	if o.Poll < 0 {
		return nil, fmt.Errorf("%w: poll interval %v; use a positive time, or 0 for notifications of the system", engine.ErrInvalid, o.Poll)
	}
	for _, e := range o.Exclude {
		if err := CheckPattern(e); err != nil {
			return nil, err
		}
	}
	o.Batch = cmp.Or(o.Batch, defaultBatch)
	o.Prefix = strings.Trim(o.Prefix, "/")
	stats, err := db.Stats(ctx)
	if err != nil {
		return nil, err
	}
	f := &Folder{db: db, root: root, o: o, images: stats.Encoder.Media == encoder.MediaImages, turn: make(chan struct{}, 1), hurry: make(chan chan struct{}), exclude: parseRules("", []byte(strings.Join(o.Exclude, "\n")))}
	if f.own, err = os.Stat(stats.Dir); err != nil {
		return nil, err
	}
	f.dir = stats.Dir
	f.stamped = stampsFile(filepath.Join(stats.Dir, stateFolder), root)
	settings, err := json.Marshal(struct {
		Reading     int
		Prefix      string
		Columns     files.Columns
		DropVectors bool
		MaxBytes    int64
		GlobalIDs   bool
	}{readingVersion, o.Prefix, o.Columns, o.DropVectors, o.MaxBytes, o.GlobalIDs})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(settings)
	f.settings = hex.EncodeToString(sum[:8])
	return f, nil
}

// CheckPattern returns engine.ErrInvalid if a pattern of Options.Exclude can match nothing.
func CheckPattern(pattern string) error {
	if _, ok := parsePattern(pattern); !ok || strings.ContainsAny(pattern, "\r\n") {
		return fmt.Errorf("%w: exclude pattern %q matches nothing; write it as a line of .gitignore", engine.ErrInvalid, pattern)
	}
	return nil
}

// Sync makes the documents of the root equal to its files, in commits of Options.Batch documents. After
// an error, or when ctx ends, earlier commits stay, and the next Sync continues. Files that fail are
// listed in Report.Failed and are not an error. Errors: ErrVanished (as a *VanishedError), an
// unreadable root, and those of the database. Only one Sync may run at a time. Cost: one check of each
// file and each document of this root, and reading and encoding the changed files.
func (f *Folder) Sync(ctx context.Context) (Report, error) {
	if err := f.enter(ctx); err != nil {
		return Report{}, err
	}
	defer f.leave()
	f.loaded = false // others may have written
	if err := f.remember(); err != nil {
		return Report{}, err
	}
	r, err := f.sync(ctx, nil)
	return r, errors.Join(err, f.save())
}

func (f *Folder) enter(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Folder) leave() { <-f.turn }

// VanishedError is ErrVanished with details.
type VanishedError struct {
	Root      string
	Documents int   // that are recorded from it
	Err       error // why it cannot be read; nil for a folder without any file
}

func (e *VanishedError) Error() string {
	why := "has no files any more"
	if e.Err != nil {
		why = "cannot be read (" + e.Err.Error() + ")"
	}
	return fmt.Sprintf("%s %s, but %d documents are recorded from it; nothing was removed", e.Root, why, e.Documents)
}

// Is reports whether target is ErrVanished.
func (e *VanishedError) Is(target error) bool { return target == ErrVanished }

// Unwrap returns the cause.
func (e *VanishedError) Unwrap() error { return e.Err }

// Recorded returns how many documents of db are recorded from a root.
func Recorded(ctx context.Context, db engine.Database, root string) (int, error) {
	root, err := filepath.Abs(root)
	if err != nil || !utf8.ValidString(root) {
		return 0, err
	}
	return db.Count(ctx, from(root))
}

// from matches the documents whose metadata name a root.
func from(root string) filter.Filter {
	return location.Where(location.Root, func(path string) filter.Filter { return filter.Eq(path, root) })
}

// load reads the records of the root, and the stamps.
func (f *Folder) load(ctx context.Context) error {
	if f.stale = f.loaded; f.loaded {
		return nil
	}
	remedy := func(err error) error { return fmt.Errorf("%w; remove the file; it will be made again", err) }
	stamps, mounts, err := readStamps(f.stamped, f.root, f.settings)
	if err != nil {
		return remedy(err)
	}
	noted, err := readNotes(strings.TrimSuffix(f.stamped, filepath.Ext(f.stamped))+".ids", f.root)
	if err != nil {
		return remedy(err)
	}
	docs, unsure := map[string]place{}, map[string]said{}
	for d, err := range f.db.All(ctx, from(f.root)) {
		if err != nil {
			return err
		}
		s, ok := f.says(d.ID, d.Metadata)
		switch {
		case !ok:
		case noted.has(d.ID), !noted.there && s.exact && !s.flat && oneDocument(s.kind): // of a backup, which has no notes
			docs[d.ID] = s.place
		default:
			unsure[d.ID] = s
		}
	}
	if err := f.prove(docs, unsure, stamps); err != nil {
		return remedy(err)
	}
	likely := map[string][]string{}
	for id, s := range unsure {
		if s.exact {
			likely[s.path] = append(likely[s.path], id)
		}
	}
	if err := noted.add(slices.Collect(maps.Keys(docs))...); err != nil {
		return err
	}
	f.docs, f.unsure, f.likely, f.noted, f.stamps, f.mounts = docs, unsure, likely, noted, stamps, mounts
	if err := f.loadProblems(); err != nil {
		return err
	}
	f.loaded = true
	return nil
}

// prove adds those of unsure to docs that stamps confirm.
func (f *Folder) prove(docs map[string]place, unsure map[string]said, stamps map[string]stamp) error {
	if len(unsure) == 0 {
		return nil
	}
	if len(stamps) == 0 { // those of other settings tell it, too
		var err error
		if stamps, _, err = readStamps(f.stamped, f.root, ""); err != nil {
			return err
		}
	}
	paths, known := map[string][]string{}, map[string][]uint64{}
	for id, s := range unsure {
		paths[s.path] = append(paths[s.path], id)
	}
	for id, p := range docs {
		if paths[p.path] != nil {
			known[p.path] = append(known[p.path], hashOf(id))
		}
	}
	for path, ids := range paths {
		for _, id := range proven(stamps[path], known[path], ids) {
			docs[id] = unsure[id].place
			delete(unsure, id)
		}
	}
	return nil
}

func (f *Folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }
