package state

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// What commits add to the vector index lies in memory until it is saved. Then an index with codes
// reads its vectors from the file, and their memory is given up when no search needs it. Without codes
// every search reads vectors, which would take as much where they are mapped, in small pages.

func mapped(kind string) bool {
	return snapshot.Maps && kind != index.KindFlat && kind != index.KindHNSW
}

// written is a snapshot of vectors that this process has made, and is open.
type written struct {
	of   *Vectors
	mark index.Mark
	file *snapshot.File
}

// keep makes w what mapVectors goes over to.
func (d *DB) keep(w *written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mapped = append(d.mapped, w.file)
	if d.fresh != nil { // nobody has gone over to it
		d.unused = append(d.unused, d.fresh.file)
	}
	d.fresh = w
}

// mapVectors has the vector index go over to the file that it was saved in last, and
// closes those that nobody uses any more.
func (d *DB) mapVectors(ctx context.Context, s *State) (worked bool, err error) {
	if err := d.closeUnused(ctx); err != nil {
		return false, err
	}
	d.mu.Lock()
	w := d.fresh
	d.fresh = nil
	d.mu.Unlock()
	if w == nil {
		return false, nil
	}
	if w.of != s.Vectors { // made anew since
		d.giveUp(w.file)
		return true, nil
	}
	before := d.rows
	var users atomic.Int32 // searches of the index, and of states, that began before
	users.Store(2)
	done := func() {
		if users.Add(-1) == 0 {
			d.giveUp(before...)
		}
	}
	if err := w.of.Keeper.(index.Remapper).Remap(w.mark, w.file, done); err != nil {
		d.giveUp(w.file)
		return false, err
	}
	d.rows = []*snapshot.File{w.file}
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	defer d.turn.unlock()
	d.cell.Publish(d.now, done) // the same, to hear when all before are released
	return true, nil
}

// forgetEvery is how long work in the background keeps the memory of the vectors of a file that it has read.
const forgetEvery = 100 * time.Millisecond

// forgetting gives that memory back until end is called, and what tables of the store take, since no other task runs
// meanwhile. The maintainer, which alone closes files, calls it around its work.
func (d *DB) forgetting() (end func()) {
	forget := func() {
		for _, f := range d.rows {
			index.ForgetRows(f)
		}
	}
	var looping sync.WaitGroup
	done, read := make(chan struct{}), false
	looping.Go(func() {
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
				forget()
				read = true
				if time.Duration(n)*forgetEvery%rest == 0 {
					_ = d.st.ForgetTables(tablesBytes) // what fails now fails in the task "tables", too, and is told there
				}
			}
		}
	})
	return func() {
		close(done)
		looping.Wait()
		if read { // else it was little
			forget()
		}
	}
}

// giveUp has files closed by the maintainer: it takes too long for whoever ends a search.
func (d *DB) giveUp(files ...*snapshot.File) {
	d.mu.Lock()
	d.unused = append(d.unused, files...)
	d.mu.Unlock()
	d.wake()
}

// closeUnused closes files that nobody uses any more.
func (d *DB) closeUnused(ctx context.Context) error {
	d.mu.Lock()
	files := d.unused
	d.mu.Unlock()
	if len(files) == 0 {
		return nil
	}
	if err := d.turn.lock(ctx); err != nil { // a commit holds no state, and may have been shown vectors
		return err
	}
	d.turn.unlock()
	d.mu.Lock()
	d.unused = d.unused[len(files):]
	d.mapped = slices.DeleteFunc(d.mapped, func(f *snapshot.File) bool { return slices.Contains(files, f) })
	d.mu.Unlock()
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
