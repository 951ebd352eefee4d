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

// Vectors that commits add to the index stay in memory until it is saved. Then an index with codes reads its
// vectors from the file, and their memory is freed when no search needs it. Without codes every search reads
// vectors; mapped, they would take as much memory, in small pages.

func mapped(kind string) bool {
	return snapshot.Maps && kind != index.KindFlat && kind != index.KindHNSW
}

// written is an open snapshot of vectors that this process has made.
type written struct {
	of   *Vectors
	mark index.Mark
	file *snapshot.File
}

// keep makes w the file that mapVectors will switch to.
func (d *DB) keep(w *written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mapped = append(d.mapped, w.file)
	if d.fresh != nil { // nobody has gone over to it
		d.unused = append(d.unused, d.fresh.file)
	}
	d.fresh = w
}

// mapVectors switches the vector index to its last saved file, and closes unused files.
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
	if err := w.of.Index.Remap(w.mark, w.file, done); err != nil {
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

// forgetEvery is how long background work keeps the memory of vectors that it read from a file.
const forgetEvery = 100 * time.Millisecond

// forgetting frees that memory, and that of tables of the store, until end is called, since no other task runs
// meanwhile. The maintainer, which alone closes files, calls it around its tasks.
func (d *DB) forgetting() (end func()) {
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
				d.chooseAside(d.st.Seq())
				d.forgetRows()
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
			d.forgetRows()
		}
	}
}

// giveUp leaves closing files to the maintainer, since it would delay the end of a search.
func (d *DB) giveUp(files ...*snapshot.File) {
	d.mu.Lock()
	d.unused = append(d.unused, files...)
	d.mu.Unlock()
	d.wake()
}

// closeUnused closes unused files.
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
