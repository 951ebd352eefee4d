package folder

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/internal/problems"
)

// removeAtOnce is how many documents one commit removes.
const removeAtOnce = 5000

// run is the state of one sync. One goroutine reads files (reader), another stores their
// documents (keeper); each field belongs to one of them.
type run struct {
	f      *Folder
	dir    *os.Root        // the root
	scope  map[string]bool // paths below the root that may have changed; nil for all
	walk   walk
	mounts []string            // that are there, or were and keep their documents
	paths  map[string][]string // ids that are recorded from each file, of the scope

	report Report         // Failed is guarded by Folder.mu, AddResult is the keeper's, the rest the reader's
	failed map[string]int // path → how many failures it has; guarded by Folder.mu
	want   atomic.Int64

	claimed   map[string]string // the reader's: id → path of the file that has it now
	unchanged int               // the reader's: documents of files that are as they were
	others    int               // the reader's: files that are no documents
	badRead   map[string]bool   // the reader's: paths of which something could not be read
	reread    map[string]bool   // the reader's: paths that were read
	warned    []Failure         // the reader's: of these
	badKept   map[string]bool   // the keeper's: paths of which something could not be stored
	now       map[string]place  // the keeper's: what it stored
	stamps    map[string]stamp  // the keeper's: those of the folder and its own
	dirty     bool              // the keeper's: these differ from the file
}

// sync processes the changes below the root, or only those at some paths. The caller must
// hold the turn.
func (f *Folder) sync(ctx context.Context, scope []string) (Report, error) {
	var moved []string
	if !f.loaded {
		var err error
		if moved, err = f.adopt(ctx); err != nil {
			return Report{}, err
		}
	}
	if err := f.load(ctx); err != nil {
		return Report{}, err
	}
	r := &run{f: f, report: Report{Moved: moved}, failed: map[string]int{}, claimed: map[string]string{}, badRead: map[string]bool{}, reread: map[string]bool{}, badKept: map[string]bool{}, now: map[string]place{}, stamps: maps.Clone(f.stamps)}
	if scope != nil {
		r.scope = map[string]bool{}
		for _, name := range scope {
			r.scope[name] = true
		}
	}
	rooted, err := r.look(ctx)
	if r.dir != nil {
		defer r.dir.Close()
	}
	if err != nil {
		return r.report, err
	}
	if rooted != nil && (!f.o.PruneAll || len(f.docs) == 0) {
		if len(f.docs) == 0 {
			return r.report, rooted
		}
		return r.report, f.vanished(&VanishedError{Root: f.root, Documents: len(f.docs), Err: reason(rooted)})
	}
	err = r.take(ctx)
	maps.Copy(f.docs, r.now)
	f.stamps, f.dirty = r.stamps, f.dirty || r.dirty || !slices.Equal(f.mounts, r.mounts)
	f.mounts = r.mounts
	r.report.Unchanged += r.unchanged
	var gone []string
	if err == nil {
		gone = r.gone()
		if len(gone) == len(f.docs) && len(gone) > 0 && !f.o.PruneAll {
			if scope != nil { // look at the whole before all is removed
				more, err := f.sync(ctx, nil)
				return r.report.plus(more), err
			}
			if len(r.walk.files) == r.others {
				return r.report, f.vanished(&VanishedError{Root: f.root, Documents: len(f.docs)})
			}
		}
	}
	if err == nil {
		err = r.remove(ctx, gone)
	}
	if err == nil {
		r.forget()
	}
	f.folders = r.walk.folders
	return r.report, errors.Join(err, r.keepProblems(err == nil))
}

// look opens the root, and walks the scope. rooted is the reason why the root cannot be
// read.
func (r *run) look(ctx context.Context) (rooted, err error) {
	f := r.f
	r.dir, rooted = openRoot(f.root)
	w, unclear := f.walker(r.dir)
	if unclear != nil { // who knows what that would have left out
		w.fail("", unclear)
	}
	w.each = func(n int) {
		if n%100 == 0 {
			f.progress(Progress{Stage: "scan", Files: n})
		}
	}
	f.progress(Progress{Stage: "scan"})
	if rooted == nil && r.scope == nil && unclear == nil {
		rooted = w.all(ctx)
	}
	for _, name := range slices.Sorted(maps.Keys(r.scope)) {
		if rooted != nil || unclear != nil {
			break
		}
		if err := w.below(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.report.Files, r.report.Skipped = len(w.files), w.skipped
	r.report.Skipped.Kinds = problems.MostFrequent(slices.Collect(maps.Values(w.kinds)))
	r.paths = map[string][]string{}
	for id, p := range f.docs {
		if r.inScope(p.path) {
			r.paths[p.path] = append(r.paths[p.path], id)
		}
	}
	r.mounts = w.mounts
	for _, m := range f.mounts {
		has := slices.ContainsFunc(slices.Collect(maps.Keys(r.paths)), func(name string) bool {
			return under(name, func(at string) bool { return at == m })
		})
		switch {
		case rooted != nil, f.o.PruneAll, slices.Contains(r.mounts, m):
		case has && w.unmounted(m):
			w.fail(m, errUnmounted)
			r.mounts = append(r.mounts, m)
		case r.scope != nil: // it was not looked at
			r.mounts = append(r.mounts, m)
		}
	}
	slices.Sort(r.mounts)
	r.mounts = slices.Compact(r.mounts)
	r.walk = w.walk
	below := map[string]int{} // documents that are recorded from below a folder that cannot be read
	for _, c := range w.closed {
		below[c.Path] = 0
	}
	for name, ids := range r.paths {
		under(name, func(at string) bool {
			if _, closed := below[at]; closed {
				below[at] += len(ids)
			}
			return false
		})
	}
	for _, c := range w.closed {
		c.Err = stale(c.Err, below[c.Path])
		r.fail(c)
	}
	return rooted, nil
}

// walker returns a walker of the root, which must be open.
func (f *Folder) walker(dir *os.Root) (*walker, error) {
	outer, err := f.outer()
	w := &walker{dir: dir, exclude: f.exclude, outer: outer, own: f.own, images: f.images}
	if dir != nil && err == nil {
		w.disk, err = diskOf(dir, ".")
	}
	return w, err
}

// allFolders lists the folders below the root that a sync would read.
func (f *Folder) allFolders(ctx context.Context) ([]string, error) {
	dir, err := openRoot(f.root)
	if err != nil {
		return nil, err
	}
	w, err := f.walker(dir)
	if err == nil {
		err = w.all(ctx)
	}
	return w.folders, errors.Join(err, dir.Close())
}

// inScope reports whether this sync decides about a path.
func (r *run) inScope(name string) bool {
	return r.scope == nil || under(name, func(at string) bool { return r.scope[at] })
}

// under reports whether in is true for a path or a folder above it, including the root.
func under(name string, in func(string) bool) bool {
	for at := name; ; at = path.Dir(at) {
		if at == "." || at == "/" {
			return in("")
		}
		if in(at) {
			return true
		}
	}
}

// take reads and stores concurrently.
func (r *run) take(ctx context.Context) error {
	r.want.Store(int64(min(firstBatch, r.f.o.Batch)))
	p := Progress{Stage: "sync", Of: len(r.walk.files)}
	for _, f := range r.walk.files {
		p.Size += f.size
	}
	r.f.progress(p) // before a file is begun, which is told of this stage alone
	batches := make(chan *batch, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		return r.read(ctx, batches)
	})
	g.Go(func() error { return r.keep(ctx, batches, p) })
	return g.Wait()
}

// gone lists, in order, the documents in the scope whose files no longer exist or no
// longer contain them.
func (r *run) gone() []string {
	if r.f.o.Keep {
		return nil
	}
	closed := map[string]bool{}
	for _, c := range r.walk.closed {
		closed[c.Path] = true
	}
	var out []string
	for name, ids := range r.paths {
		if r.badRead[name] || r.badKept[name] || len(closed) > 0 && under(name, func(at string) bool { return closed[at] }) {
			continue
		}
		for _, id := range ids {
			if _, there := r.claimed[id]; !there {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (r *run) remove(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(ids, removeAtOnce) {
		var ours []string // still: a user's may have taken the place of one meanwhile
		for _, id := range part {
			is, err := r.still(ctx, id, r.f.docs[id].path)
			if err != nil {
				return err
			}
			if is {
				ours = append(ours, id)
			}
		}
		n, err := r.f.db.Delete(ctx, ours)
		if err != nil {
			return err
		}
		r.report.Removed += n
		for _, id := range part {
			delete(r.f.docs, id)
		}
		r.f.noted.drop(part...)
		r.f.progress(Progress{Stage: "remove", Documents: r.report.Removed})
	}
	return nil
}

// forget drops the stamps of files in the scope that were not found.
func (r *run) forget() {
	found := make(map[string]bool, len(r.walk.files))
	for _, f := range r.walk.files {
		found[f.path] = true
	}
	for name := range r.f.stamps {
		if !found[name] && r.inScope(name) {
			delete(r.f.stamps, name)
			r.f.dirty = true
		}
	}
}

// fail records a file or folder that could not be read or stored, or a record of a file.
func (r *run) fail(x Failure) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.failed[x.Path]++; r.failed[x.Path] > problems.MaxFailures {
		return
	}
	r.failure(x)
}

func (r *run) failure(x Failure) {
	r.report.Failed = append(r.report.Failed, x)
	if r.f.o.Failed != nil {
		r.f.o.Failed(x)
	}
}

func (f *Folder) progress(p Progress) {
	if f.o.Progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.Stage == f.told.Stage {
		p.File = f.told.File
	}
	f.told = p
	f.o.Progress(p)
}

// begun reports that reading a file begins.
func (f *Folder) begun(path string) {
	if f.o.Progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told.Stage == "sync" {
		f.told.File = path
		f.o.Progress(f.told)
	}
}

// save writes the stamps and the notes if they have changed.
func (f *Folder) save() (err error) {
	if f.noted != nil && f.noted.dirty {
		err = f.noted.write()
	}
	if !f.dirty {
		return err
	}
	failed := writeStamps(f.stamped, f.root, f.settings, f.mounts, f.stamps)
	f.dirty, f.saved = failed != nil, time.Now()
	return errors.Join(err, failed)
}

// id is the id of a file that is one document.
func (f *Folder) id(name string) string { return strings.TrimPrefix(f.o.Prefix+"/"+name, "/") }

// plus is the sum of two reports.
func (r Report) plus(o Report) Report {
	r.Add(o.AddResult)
	r.Removed += o.Removed
	r.Files, r.Skipped = max(r.Files, o.Files), o.Skipped
	r.Read += o.Read
	r.Bytes += o.Bytes
	r.Failed = append(r.Failed, o.Failed...)
	r.Warned = append(r.Warned, o.Warned...)
	return r
}
