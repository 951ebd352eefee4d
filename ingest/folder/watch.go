package folder

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet    = 200 * time.Millisecond // without a change before a sync begins
	patience = 2 * time.Second        // from the first change to the sync, at most
	pollRate = 5 * time.Second        // where the system does not tell of changes
	straggle = 3 * time.Millisecond   // for changes that the system is about to tell of, in CatchUp
)

// Watch syncs the whole folder and then its changes, until ctx ends; it returns the error of ctx. each
// is called after the first sync and after each later sync that changed or reported something. It
// receives ErrVanished while the root is gone. Any other error ends Watch, also an error of each. A
// change is stored within seconds. Its cost is that of the changed files and one pass over all recorded
// paths in memory. If the system cannot watch so many folders, or if Options.Poll is set, Watch scans
// the folder repeatedly. No other Sync of this Folder may run meanwhile.
func (f *Folder) Watch(ctx context.Context, each func(Report, error) error) (err error) {
	if err := f.enter(ctx); err != nil {
		return err
	}
	defer f.leave()
	f.loaded = false
	if err := f.remember(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.save()) }()
	w := &watch{f: f, each: each, told: map[string]string{}, heard: map[string]string{}, first: true}
	defer w.close()
	ended := make(chan struct{})
	defer func() { f.follow.Store(nil); close(ended) }()
	for {
		if err := w.whole(ctx); err != nil {
			return err
		}
		f.follow.Store(&ended)
		if err := w.follow(ctx); err != nil {
			return err
		}
	}
}

// CatchUp has a Watch in progress store the changes that it has heard of, without the pause for which it waits otherwise, and
// returns when they are stored, when ctx ends, or at once without a Watch that hears of changes. A change that the system
// tells of later is not waited for.
func (f *Folder) CatchUp(ctx context.Context) {
	ended := f.follow.Load()
	if ended == nil {
		return
	}
	stored := make(chan struct{})
	select {
	case f.hurry <- stored:
	case <-*ended:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-stored:
	case <-*ended:
	case <-ctx.Done():
	}
}

// watch is one Watch.
type watch struct {
	f     *Folder
	each  func(Report, error) error
	told  map[string]string // failures that each has heard of, by path
	heard map[string]string // warnings that each has heard of, by path
	first bool
	lost  bool // the root is gone

	events  *fsnotify.Watcher // nil: folders are looked through
	watched map[string]bool   // folders, below the root
	poll    bool              // the system cannot watch

	waiting []chan struct{} // of CatchUp, for the next sync
}

// answer tells those who wait that the changes are stored, or cannot be.
func (w *watch) answer() {
	for _, stored := range w.waiting {
		close(stored)
	}
	w.waiting = nil
}

func (w *watch) close() {
	if w.events != nil {
		w.events.Close()
	}
	w.events, w.watched = nil, map[string]bool{}
}

// whole watches all folders and syncs them.
func (w *watch) whole(ctx context.Context) error {
	if w.poll || w.f.o.Poll > 0 {
		return w.sync(ctx, nil)
	}
	if w.events == nil {
		events, err := fsnotify.NewWatcher()
		if err != nil {
			w.poll = true
			return w.sync(ctx, nil)
		}
		w.events, w.watched = events, map[string]bool{}
	}
	// Folders are watched before they are read, so that nothing is missed between.
	if folders, err := w.f.allFolders(ctx); err == nil {
		w.add(folders)
	} else if e := ctx.Err(); e != nil {
		return e
	}
	return w.sync(ctx, nil)
}

// add watches folders, and returns the new ones.
func (w *watch) add(folders []string) (fresh []string) {
	for _, name := range folders {
		if w.events == nil || w.watched[name] {
			continue
		}
		err := w.events.Add(w.f.path(name))
		if gone(err) {
			continue
		}
		if err != nil { // too many for the system
			w.close()
			w.poll = true
			return nil
		}
		w.watched[name] = true
		fresh = append(fresh, name)
	}
	return fresh
}

// sync syncs a scope and then new folders in it until there are none, and reports the
// result.
func (w *watch) sync(ctx context.Context, scope []string) error {
	defer w.answer()
	var sum Report
	var err error
	for {
		var r Report
		r, err = w.f.sync(ctx, scope)
		sum = sum.plus(r)
		if err != nil {
			break
		}
		w.forget(scope, r)
		if scope = w.add(w.f.folders); len(scope) == 0 {
			break
		}
		scope = outermost(scope)
	}
	if e := ctx.Err(); e != nil {
		return e
	}
	if err == nil && time.Since(w.f.saved) > saveEvery {
		err = w.f.save()
	}
	if err != nil && !errors.Is(err, ErrVanished) && !w.rootGone(err) {
		return err
	}
	return w.tell(sum, err)
}

// rootGone reports whether a sync failed because the root, from which nothing is recorded,
// does not exist.
func (w *watch) rootGone(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == w.f.root
}

// forget makes a failure reportable again if a sync of scope found its file repaired or
// gone.
func (w *watch) forget(scope []string, r Report) {
	in, failed := map[string]bool{"": scope == nil}, map[string]bool{}
	for _, s := range scope {
		in[s] = true
	}
	for _, x := range r.Failed {
		failed[x.Path] = true
	}
	mended := func(p string, _ string) bool {
		return !failed[p] && under(p, func(at string) bool { return in[at] })
	}
	maps.DeleteFunc(w.told, mended)
	for _, x := range r.Warned {
		failed[x.Path] = true
	}
	maps.DeleteFunc(w.heard, mended)
}

// news are those of some failures that are not in told, by path.
func news(told map[string]string, all []Failure) (out []Failure) {
	now := map[string]string{}
	for _, x := range all {
		now[x.Path] += x.Error() + "\n"
	}
	for _, x := range all {
		if told[x.Path] != now[x.Path] {
			out = append(out, x)
		}
	}
	maps.Copy(told, now)
	return out
}

// tell calls each if there is something new to report.
func (w *watch) tell(r Report, err error) error {
	lost := err != nil
	changed := w.first || lost != w.lost || r.Added+r.Replaced+r.Removed > 0
	r.Failed, r.Warned = news(w.told, r.Failed), news(w.heard, r.Warned)
	w.first, w.lost = false, lost
	if lost { // its watches are of a folder that is no more
		w.close()
	}
	if changed || len(r.Failed)+len(r.Warned) > 0 {
		return w.each(r, err)
	}
	return nil
}

// follow waits for changes and syncs them. It returns nil when everything must be scanned.
func (w *watch) follow(ctx context.Context) error {
	if w.events == nil {
		every := pollRate
		if w.f.o.Poll > 0 {
			every = w.f.o.Poll
		}
		return w.sleep(ctx, every)
	}
	var changed map[string]bool
	all := false
	var began time.Time
	var timer <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.events.Events:
			if !ok {
				return nil
			}
			name, here := w.name(e)
			if !here {
				continue
			}
			if changed == nil {
				changed, began = map[string]bool{}, time.Now()
			}
			changed[name] = true
			all = all || name == ""
			pause := quiet
			if len(w.waiting) > 0 {
				pause = straggle
			}
			timer = time.After(max(0, min(pause, patience-time.Since(began))))
		case stored := <-w.f.hurry:
			w.waiting = append(w.waiting, stored)
			timer = time.After(straggle)
		case err, ok := <-w.events.Errors:
			if !ok {
				return nil
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) { // what changed is not known
				all = true
				timer = time.After(quiet)
				continue
			}
			w.close() // watching does not work here
			w.poll = true
			return nil
		case <-timer:
			if all {
				return nil
			}
			if len(changed) == 0 {
				w.answer()
				timer = nil
				continue
			}
			if err := w.sync(ctx, outermost(slices.Collect(maps.Keys(changed)))); err != nil || w.events == nil {
				return err
			}
			changed, timer = nil, nil
		}
	}
}

// name returns the path below the root that must be examined after an event.
func (w *watch) name(e fsnotify.Event) (string, bool) {
	rel, err := filepath.Rel(w.f.root, e.Name)
	if err != nil {
		return "", false
	}
	name := filepath.ToSlash(rel)
	if name == "." {
		return "", e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.unwatch(name)
	}
	if slices.Contains(ignoreFiles, path.Base(name)) {
		name = strings.TrimPrefix(path.Dir(name), ".")
		return name, true
	}
	return name, !hidden(name)
}

// unwatch removes the watches of a folder that was moved away, and of its subfolders: a
// watch would follow the folder and report the old names.
func (w *watch) unwatch(name string) {
	if !w.watched[name] {
		return
	}
	for at := range w.watched {
		if at == name || strings.HasPrefix(at, name+"/") {
			_ = w.events.Remove(w.f.path(at)) // most are gone by themselves
			delete(w.watched, at)
		}
	}
}

// outermost removes paths that are below other paths of the list.
func outermost(names []string) []string {
	slices.Sort(names)
	in := make(map[string]bool, len(names))
	var out []string
	for _, n := range names {
		if n == "" {
			return nil
		}
		if !under(path.Dir(n), func(at string) bool { return in[at] }) {
			out = append(out, n)
		}
		in[n] = true
	}
	return out
}

// sleep waits for the next look at the folder, or until CatchUp asks for one.
func (w *watch) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case stored := <-w.f.hurry:
		w.waiting = append(w.waiting, stored)
		return nil
	case <-t.C:
		return nil
	}
}
