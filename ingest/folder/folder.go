// Package folder makes a database equal to a folder of files. Start with [Open], then [Folder.Sync] once or
// [Folder.Watch] to follow changes.
//
// A sync stores new and changed documents, and removes those whose files are gone. It changes only documents
// that it has recorded from that folder. Files whose size and time are those of the last sync are not read.
// In doubt nothing is deleted: below a folder that cannot be read everything stays, a file that cannot be
// read keeps its last version, and a folder that is suddenly empty is ErrVanished.
//
// Each batch is one commit. After an error, or a kill, the batches before are stored and the next Sync goes
// on. Files that fail are listed in Report.Failed and are no error. One Sync of a Folder runs at a time.
package folder

import (
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
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/location"
)

// ErrVanished answers a sync of a root that is not there, unreadable or empty, while
// documents are recorded from it: a disk may not be mounted. Nothing was removed.
// Options.PruneAll removes them.
var ErrVanished = errors.New("the folder is suddenly empty")

// ErrForeign is in the failure of a file whose document has the id of one that is not of this root.
var ErrForeign = errors.New("the id belongs to another document")

// Defaults of Options.
const (
	DefaultBatch = 500
	stateFolder  = "sync" // below that of the database
)

// Options shape the syncs of one root. The zero value is a good default.
type Options struct {
	// Prefix, with a slash, stands before the ids of files, so that two roots may
	// have files of one name. Another prefix gives documents other ids: the old ones go.
	Prefix string
	// Keep leaves documents whose files are gone.
	Keep bool
	// PruneAll removes the documents also of a root that is empty, unreadable or gone.
	PruneAll bool
	// Exclude are patterns of gitignore, relative to the root, of what to leave out.
	// They have the last word, after .gitignore and .lexsemignore in any folder.
	Exclude []string
	// Batch is the most documents of one commit; 0 means DefaultBatch. Batches are
	// smaller where documents take long, so that each ends within seconds.
	Batch int
	// Columns, DropVectors and MaxBytes are those of files.Options.
	Columns     files.Columns
	DropVectors bool
	MaxBytes    int64
	// Poll, if not 0, makes Watch look through the folder so often, and not wait for the
	// system to tell of changes: drives of other machines do not.
	Poll time.Duration
	// Progress and Failed, if not nil, are called from one goroutine at a time. Failed
	// hears of each failure when it happens.
	Progress func(Progress)
	Failed   func(Failure)
}

// Progress says how far a sync is.
type Progress struct {
	Stage       string // "scan", "sync" or "remove"
	Files, Of   int    // that are done, and in all; in a scan Of is 0
	Bytes, Size int64  // the same in bytes of files
	Storing     int64  // bytes of the files in the batch that is being stored
	Documents   int    // stored or found unchanged; in the stage "remove", removed
}

// Failure is a file, or a folder, that a sync could not take over. What was recorded
// from it stays.
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

// StaleError is in the failure of a file, or of a folder, that could not be read at all, while documents are
// recorded from it: they stay as they were, and may no longer be what it holds.
type StaleError struct {
	Documents int // that stay
	Err       error
}

func (e *StaleError) Error() string {
	if e.Documents == 1 {
		return e.Err.Error() + "; the document that is stored of it stays as it was"
	}
	return fmt.Sprintf("%v; the %d documents that are stored of it stay as they were", e.Err, e.Documents)
}

// Unwrap returns the cause.
func (e *StaleError) Unwrap() error { return e.Err }

// stale adds to the reason of a failure how many documents stay as they were.
func stale(err error, documents int) error {
	if documents == 0 {
		return err
	}
	return &StaleError{documents, err}
}

// Report tells what a sync did.
type Report struct {
	// AddResult has the sums over all commits. Unchanged counts the documents that were
	// there as they are, most of them of files that were not read.
	engine.AddResult
	Removed int
	Files   int   // found
	Read    int   // of these, read
	Bytes   int64 // of the files found
	Skipped Skipped
	Failed  []Failure
}

// Folder is one root and the database that follows it.
type Folder struct {
	db       engine.Database
	images   bool // whether it holds images
	root     string
	o        Options
	exclude  rules
	own      fs.FileInfo // the database's folder
	stamped  string      // file of stamps
	settings string

	turn   chan struct{} // whoever holds it syncs
	loaded bool
	stale  bool                // docs are of an earlier sync: others may have written since
	docs   map[string]place    // by id: what is recorded from this root
	unsure map[string]said     // by id: documents that say that they are, but were not noted
	likely map[string][]string // ids of these that say so in all that a sync writes, by path
	noted  *notes              // the ids that syncs have stored
	stamps map[string]stamp    // by path
	dirty  bool                // the stamps are others than those in their file
	saved  time.Time           // when they were written

	folders []string // that the last sync has read

	mu sync.Mutex // of Options.Progress and Options.Failed
}

// place is where a recorded document came from.
type place struct {
	path string
	time int64 // seconds since 1970
}

// Open binds a root to a database; nothing is read yet. The root need not be there any
// more, so that its documents can be removed. Stamps of files are kept in
// the folder "sync" of the database's own. Errors: engine.ErrInvalid for options or a
// root that can never work, those of db.
func Open(ctx context.Context, db engine.Database, root string, o Options) (*Folder, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(root) || !utf8.ValidString(o.Prefix) {
		return nil, fmt.Errorf("%w: root %q, prefix %q: not UTF-8; rename it", engine.ErrInvalid, root, o.Prefix)
	}
	if o.Batch < 0 {
		return nil, fmt.Errorf("%w: batches of %d documents; 0 is the default", engine.ErrInvalid, o.Batch)
	}
	if o.Poll < 0 {
		return nil, fmt.Errorf("%w: looking every %v; 0 waits for the system to tell", engine.ErrInvalid, o.Poll)
	}
	for _, e := range o.Exclude {
		if err := CheckPattern(e); err != nil {
			return nil, err
		}
	}
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	o.Prefix = strings.Trim(o.Prefix, "/")
	stats, err := db.Stats(ctx)
	if err != nil {
		return nil, err
	}
	f := &Folder{db: db, root: root, o: o, images: stats.Encoder.Media == encoder.MediaImages, turn: make(chan struct{}, 1), exclude: parseRules("", []byte(strings.Join(o.Exclude, "\n")))}
	if f.own, err = os.Stat(stats.Dir); err != nil {
		return nil, err
	}
	f.stamped = stampsFile(filepath.Join(stats.Dir, stateFolder), root)
	settings, err := json.Marshal(struct {
		Reading     int
		Prefix      string
		Columns     files.Columns
		DropVectors bool
		MaxBytes    int64
	}{readingVersion, o.Prefix, o.Columns, o.DropVectors, o.MaxBytes})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(settings)
	f.settings = hex.EncodeToString(sum[:8])
	return f, nil
}

// CheckPattern says whether a pattern of Options.Exclude can name anything: else it is
// an engine.ErrInvalid.
func CheckPattern(pattern string) error {
	if _, ok := parsePattern(pattern); !ok || strings.ContainsAny(pattern, "\r\n") {
		return fmt.Errorf("%w: the pattern %q to exclude matches nothing; write it as a line of .gitignore", engine.ErrInvalid, pattern)
	}
	return nil
}

// Sync makes the database equal to the folder, in commits of Options.Batch documents.
// After an error, or when ctx ends, the commits before stay and the next Sync goes on.
// Files that fail are in Report.Failed, and are no error. Errors: ErrVanished (in a
// *VanishedError), that the root cannot be read, those of the database. One Sync runs at a
// time. Cost: a look at each file and at each document of this root, reading and encoding
// of what changed.
func (f *Folder) Sync(ctx context.Context) (Report, error) {
	if err := f.enter(ctx); err != nil {
		return Report{}, err
	}
	defer f.leave()
	f.loaded = false // others may have written
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

// VanishedError is ErrVanished with the particulars.
type VanishedError struct {
	Root      string
	Documents int   // that are recorded from it
	Err       error // why it cannot be read; nil for a folder without any file
}

func (e *VanishedError) Error() string {
	why := "holds no files any more"
	if e.Err != nil {
		why = "cannot be read (" + e.Err.Error() + ")"
	}
	return fmt.Sprintf("%s %s, but %d documents are recorded from it; nothing was removed", e.Root, why, e.Documents)
}

// Is makes it an ErrVanished.
func (e *VanishedError) Is(target error) bool { return target == ErrVanished }

// Unwrap returns the cause.
func (e *VanishedError) Unwrap() error { return e.Err }

// Recorded returns how many documents of db are recorded from a root.
func Recorded(ctx context.Context, db engine.Database, root string) (int, error) {
	root, err := filepath.Abs(root)
	if err != nil || !utf8.ValidString(root) {
		return 0, err
	}
	return db.Count(ctx, filter.Eq(location.Root, root))
}

// load reads what is recorded from the root, and the stamps.
func (f *Folder) load(ctx context.Context) error {
	if f.stale = f.loaded; f.loaded {
		return nil
	}
	remedy := func(err error) error { return fmt.Errorf("%w; remove the file, it is made anew", err) }
	stamps, err := readStamps(f.stamped, f.root, f.settings)
	if err != nil {
		return remedy(err)
	}
	noted, err := readNotes(strings.TrimSuffix(f.stamped, filepath.Ext(f.stamped))+".ids", f.root)
	if err != nil {
		return remedy(err)
	}
	docs, unsure := map[string]place{}, map[string]said{}
	for d, err := range f.db.All(ctx, filter.Eq(location.Root, f.root)) {
		if err != nil {
			return err
		}
		s, ok := f.says(d.ID, d.Metadata)
		switch {
		case !ok:
		case noted.has(d.ID), !noted.there && s.exact && oneDocument(s.kind): // of a backup, which has no notes
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
	f.docs, f.unsure, f.likely, f.noted, f.stamps, f.loaded = docs, unsure, likely, noted, stamps, true
	return nil
}

// prove adds to docs those of unsure that stamps speak of.
func (f *Folder) prove(docs map[string]place, unsure map[string]said, stamps map[string]stamp) error {
	if len(unsure) == 0 {
		return nil
	}
	if len(stamps) == 0 { // those of other settings tell it, too
		var err error
		if stamps, err = readStamps(f.stamped, f.root, ""); err != nil {
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
