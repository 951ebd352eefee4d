package folder

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/problems"
)

// file is one file that may hold documents.
type file struct {
	path string // below the root, with slashes
	size int64
	time int64 // of its modification, in nanoseconds since 1970
}

// walk holds what was found below a root.
type walk struct {
	files   []file    // in the order of their names
	folders []string  // that were read, for whoever watches them; "" is the root
	closed  []Failure // what could not be looked at: nothing is known of what lies below
	mounts  []string  // folders that are file systems of their own
	skipped Skipped
	kinds   map[string]problems.Extension // of files of other kinds
}

// walker walks a tree. It follows no links except the root itself.
type walker struct {
	dir     *os.Root // the root
	exclude rules
	outer   []rules          // that hold for the root from outside
	own     fs.FileInfo      // the database's folder, nil for none
	images  bool             // whether images are what is looked for, and else all but images
	each    func(files int)  // hears of progress
	disk    uint64           // of the folder that is walked
	ignores map[string]rules // of folders, by their path below the root; read once a walk
	walk
}

// all walks the whole tree. It returns the error of the root.
func (w *walker) all(ctx context.Context) error {
	entries, err := entriesOf(w.dir)
	if err != nil {
		return &fs.PathError{Op: "open", Path: w.dir.Name(), Err: reason(err)}
	}
	return w.folder(ctx, w.dir, "", entries, w.outer)
}

// below walks the entry at a path below the root: a file, a folder, or nothing if it no
// longer exists.
func (w *walker) below(ctx context.Context, name string) error {
	in := slices.Clone(w.outer)
	at, dir := "", w.dir
	defer w.enter(w.disk, "")
	parts := strings.Split(name, "/")
	for i, part := range parts {
		r, err := w.rules(dir, at)
		if err != nil {
			w.fail(at, err)
			return nil
		}
		in = append(in, r...)
		at = path.Join(at, part)
		info, err := dir.Lstat(part)
		if gone(err) {
			return nil
		}
		if err != nil {
			w.fail(at, err)
			return nil
		}
		if i == len(parts)-1 {
			return w.entry(ctx, dir, at, fs.FileInfoToDirEntry(info), in)
		}
		if out, _ := w.ignored(in, at, true); out || !info.IsDir() || hidden(part) || w.foreign(info) {
			return nil
		}
		w.enter(disk(info), at)
		if dir, err = openDir(dir, part); gone(err) {
			return nil
		}
		if err != nil {
			w.fail(at, err)
			return nil
		}
		defer dir.Close()
	}
	return nil
}

// hidden reports whether a name begins with a dot, or with ~$ as the files that Office hides while a document is open.
func hidden(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "~$")
}

// nanoseconds since 1970, or the nearest that an int64 holds: disks have times of 1601 and 2446, too.
func nanoseconds(t time.Time) int64 {
	switch s := t.Unix(); {
	case s <= math.MinInt64/int64(time.Second):
		return math.MinInt64
	case s >= math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// gone reports whether a name has vanished, perhaps with a folder above it.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || err != nil && notFolder(err)
}

func (w *walker) fail(name string, err error) {
	w.closed = append(w.closed, Failure{Path: name, Err: reason(err)})
}

// reason is err without the path, since the message already begins with the path.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// folder walks the entries of an open folder that is not left out.
func (w *walker) folder(ctx context.Context, dir *os.Root, name string, entries []fs.DirEntry, in []rules) error {
	if isDatabase(entries) {
		w.skipped.Other++
		return nil
	}
	own, err := w.rulesOf(dir, name, entries)
	if err != nil { // who knows what it would have left out
		w.fail(name, err)
		return nil
	}
	w.folders = append(w.folders, name)
	in = append(in[:len(in):len(in)], own...)
	for _, e := range entries {
		if err := w.entry(ctx, dir, path.Join(name, e.Name()), e, in); err != nil {
			return err
		}
	}
	return nil
}

// takes reports whether files of a kind are read.
func (w *walker) takes(kind string) bool { return kind != "" && (kind == files.KindImage) == w.images }

// entry examines one name in dir.
func (w *walker) entry(ctx context.Context, dir *os.Root, name string, e fs.DirEntry, in []rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if hidden(name) {
		w.skipped.Hidden++
		return nil
	}
	switch out, usual := w.ignored(in, name, e.IsDir()); {
	case out:
		w.skipped.Ignored++
		if usual && len(w.skipped.Usual) < problems.MostUsual && (e.IsDir() || w.takes(files.KindOf(name))) {
			w.skipped.Usual = append(w.skipped.Usual, strings.ToValidUTF8(name, "\ufffd"))
		}
		return nil
	case !e.IsDir() && (!e.Type().IsRegular() || !w.takes(files.KindOf(name))):
		w.other(name, e)
		return nil
	}
	info, err := dir.Lstat(e.Name())
	if gone(err) {
		return nil
	}
	if err != nil {
		w.fail(name, err)
		return nil
	}
	if !utf8.ValidString(name) {
		w.fail(name, errName)
		return nil
	}
	if e.IsDir() {
		if w.foreign(info) {
			w.skipped.Other++
			return nil
		}
		defer w.enter(w.disk, "")
		w.enter(disk(info), name)
		return w.open(ctx, dir, name, in)
	}
	w.files = append(w.files, file{name, info.Size(), nanoseconds(info.ModTime())})
	if w.each != nil {
		w.each(len(w.files))
	}
	return nil
}

// other counts a file of another kind.
func (w *walker) other(name string, e fs.DirEntry) {
	w.skipped.Other++
	if e.Type().IsRegular() {
		w.name(name)
	}
}

// name counts the extension of a file that is of another kind or has no documents.
func (w *walk) name(name string) {
	if w.kinds == nil {
		w.kinds = map[string]problems.Extension{}
	}
	ext := strings.ToValidUTF8(strings.ToLower(path.Ext(name)), "\ufffd")
	k, seen := w.kinds[ext]
	if !seen {
		k = problems.Extension{Extension: ext, Example: strings.ToValidUTF8(name, "\ufffd")}
	}
	k.Files++
	w.kinds[ext] = k
}

// open walks a folder in dir.
func (w *walker) open(ctx context.Context, dir *os.Root, name string, in []rules) error {
	sub, err := openDir(dir, path.Base(name))
	var entries []fs.DirEntry
	if err == nil {
		defer sub.Close()
		entries, err = entriesOf(sub)
	}
	if gone(err) {
		return nil
	}
	if err != nil {
		w.fail(name, err)
		return nil
	}
	return w.folder(ctx, sub, name, entries, in)
}

var errName = errors.New("its name is not UTF-8; rename it")

// ignored reports whether a name is left out, and whether the defaults decide this. A folder with source files is no output
// of a build, such as the package go/build.
func (w *walker) ignored(in []rules, name string, folder bool) (out, usual bool) {
	if out, none := w.exclude.match(name, folder); !none {
		return out, false
	}
	out, usual = decided(in, name, folder)
	if usual && folder && w.hasSource(name) {
		return false, true
	}
	return out, usual
}

// hasSource reports whether a folder for outputs of builds has files in it that no build puts there.
func (w *walker) hasSource(name string) bool {
	if base := path.Base(name); base != "build" && base != "dist" && base != "target" {
		return false
	}
	dir, err := openDir(w.dir, name)
	if err != nil {
		return false // it stays left out, which is named
	}
	defer dir.Close()
	entries, err := entriesOf(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return slices.Contains([]string{".go", ".java", ".kt", ".py", ".rs"}, path.Ext(e.Name()))
	})
}

// foreign reports whether a folder is that of the database itself.
func (w *walker) foreign(info fs.FileInfo) bool { return w.own != nil && os.SameFile(info, w.own) }

// isDatabase reports whether a folder is a database, whose files are not documents.
func isDatabase(entries []fs.DirEntry) bool {
	marker, records := false, false
	for _, e := range entries {
		marker = marker || e.Name() == "LEXSEM" && e.Type().IsRegular()
		records = records || e.Name() == "records" && e.IsDir()
	}
	return marker && records
}

// rulesOf reads the ignore files among the entries of a folder.
func (w *walker) rulesOf(dir *os.Root, name string, entries []fs.DirEntry) ([]rules, error) {
	var out []rules
	for _, file := range ignoreFiles {
		for _, e := range entries {
			if e.Name() != file || !e.Type().IsRegular() {
				continue
			}
			r, err := w.readRules(dir, name, file)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// rules reads the ignore files of a folder without its list of entries.
func (w *walker) rules(dir *os.Root, name string) ([]rules, error) {
	var out []rules
	for _, file := range ignoreFiles {
		info, err := dir.Lstat(file)
		if gone(err) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, err := w.readRules(dir, name, file)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (w *walker) readRules(dir *os.Root, name, file string) (rules, error) {
	at := path.Join(name, file)
	if r, ok := w.ignores[at]; ok {
		return r, nil
	}
	b, err := readIn(dir, file, maxIgnoreFile)
	if gone(err) {
		return rules{base: name}, nil
	}
	if err != nil {
		return rules{}, &ignoreFileError{file, reason(err)}
	}
	r := parseRules(name, b)
	if w.ignores == nil {
		w.ignores = map[string]rules{}
	}
	w.ignores[at] = r
	return r, nil
}

// ignoreFileError reports that an ignore file cannot be read, so its patterns are
// unknown.
type ignoreFileError struct {
	file string
	err  error
}

func (e *ignoreFileError) Error() string {
	return "its " + e.file + " cannot be read (" + e.err.Error() + "), so the folder is left as it is; make the file readable"
}
func (e *ignoreFileError) Unwrap() error { return e.err }
