package state

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Vectors that commits add to the index stay in memory until it is saved. Then an index with codes reads its
// vectors from the file, and their memory is freed when no search needs it. Without codes every search reads
// vectors; mapped, they would take as much memory, in small pages. Words of a large database are read from their
// saved file, too, as after an opening.

func mapped(kind string) bool {
	return snapshot.Maps && kind != index.KindFlat && kind != index.KindHNSW
}

// written is an open snapshot of vectors or words that this process has made.
type written struct {
	vectors *Vectors
	mark    index.Mark
	words   *inverted.Words
	file    *snapshot.File
}

// keep makes w the file that mapSaved will switch a part to.
func (d *DB) keep(part parts, w *written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mapped = append(d.mapped, w.file)
	if before := d.fresh[part]; before != nil { // nobody has gone over to it
		d.unused = append(d.unused, before.file)
	}
	d.fresh[part] = w
}

// mapSaved switches vectors and words to their last saved files, and closes unused files.
func (d *DB) mapSaved(ctx context.Context, s *State) (worked bool, err error) {
	if err := d.closeUnused(ctx); err != nil {
		return false, err
	}
	d.mu.Lock()
	fresh := d.fresh
	d.fresh = map[parts]*written{}
	d.mu.Unlock()
	if w := fresh[words]; w != nil {
		err = d.mapWords(ctx, w)
	}
	if w := fresh[vectors]; w != nil { // last, since the next task frees their memory
		err = errors.Join(err, d.mapVectors(ctx, s, w))
	}
	return len(fresh) > 0 && err == nil, err
}

// mapWords lets words be read from a saved file. What has changed since stays in memory.
func (d *DB) mapWords(ctx context.Context, w *written) error {
	saved, err := inverted.OpenWords(d.wordsOptions(), w.file)
	if err == nil {
		err = d.change(ctx, func(next *State) (err error) {
			next.Words, err = next.Words.Rebase(w.words, saved)
			return err
		})
	}
	if err != nil {
		d.giveUp(w.file)
		if errors.Is(err, inverted.ErrBase) { // compacted or made anew since
			err = nil
		}
		return err
	}
	before := d.wordsFile
	d.wordsFile = w.file
	if before == nil {
		return nil
	}
	return d.whenReleased(ctx, func() { d.giveUp(before) })
}

// mapVectors does that for vectors.
func (d *DB) mapVectors(ctx context.Context, s *State, w *written) error {
	if w.vectors != s.Vectors { // made anew since
		d.giveUp(w.file)
		return nil
	}
	before := d.rows
	var users atomic.Int32 // searches of the index, and of states, that began before
	users.Store(2)
	done := func() {
		if users.Add(-1) == 0 {
			d.giveUp(before...)
		}
	}
	if err := w.vectors.Index.Remap(w.mark, w.file, done); err != nil {
		d.giveUp(w.file)
		return err
	}
	d.rows = []*snapshot.File{w.file}
	return d.whenReleased(ctx, done)
}

// whenReleased calls f once nobody uses a state from before this call.
func (d *DB) whenReleased(ctx context.Context, f func()) error {
	if err := d.turn.lock(ctx); err != nil {
		return err
	}
	defer d.turn.unlock()
	d.cell.Publish(d.now, f) // the same, to hear of it
	return nil
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
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				d.chooseAside(d.st.Seq())
				d.forgetRows()
				read = true
				_ = d.lookAtTables() // what fails now fails in the task "tables", too, and is told there
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
