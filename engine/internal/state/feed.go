package state

import (
	"context"
	"math"
	"slices"
	"sync"
)

// feed is a diff that may still grow while parts read it, each at its own pace. Its
// removed chunks are complete from the start.
type feed struct {
	gone []Version
	dead []uint64

	mu    sync.Mutex
	df    diff          // so far; what is there never changes
	grown chan struct{} // closed when want chunks have come, or the end; nil where no one waits
	want  int           // the least that someone waits for
	ended bool
	err   error // of a feed that ended early
}

// fed is a feed of all of df.
func fed(df diff) *feed { return &feed{gone: df.gone, dead: df.dead, df: df, ended: true} }

// add passes on version ord with its chunks.
func (f *feed) add(ord uint64, vs []Version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.df.live, f.df.added = append(f.df.live, ord), append(f.df.added, vs...)
	if len(f.df.added) >= f.want {
		f.tell()
	}
}

// end says that no more chunks come; with an error, readers get the error. The first end
// counts.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended, f.err = true, err
		f.tell()
	}
}

func (f *feed) tell() {
	if f.grown != nil {
		close(f.grown)
		f.grown = nil
	}
}

// diff returns the chunks so far: all, once a reader has reached the end.
func (f *feed) diff() diff {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.df
}

// upTo waits for n chunks or the end, and returns all chunks so far.
func (f *feed) upTo(ctx context.Context, n int) (all []Version, ended bool, err error) {
	for {
		f.mu.Lock()
		all, ended, err := f.df.added, f.ended, f.err
		if len(all) >= n || ended {
			f.mu.Unlock()
			return all, ended, err
		}
		if f.grown == nil {
			f.grown, f.want = make(chan struct{}), n
		}
		f.want = min(f.want, n)
		grown := f.grown
		f.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// each calls g with pieces of n chunks, the last one smaller; the pieces do not depend on
// how chunks arrive.
func (f *feed) each(ctx context.Context, n int, g func([]Version) error) error {
	for done := 0; ; {
		all, ended, err := f.upTo(ctx, done+n)
		if err != nil {
			return err
		}
		there := all[done:]
		if !ended {
			there = there[:len(there)/n*n]
		}
		if err := each(ctx, n, there, g); err != nil || ended {
			return err
		}
		done += len(there)
	}
}

// whole waits for the end and returns all chunks.
func (f *feed) whole(ctx context.Context) ([]Version, error) {
	all, _, err := f.upTo(ctx, math.MaxInt)
	return all, err
}

// each calls f with pieces of n chunks, the last one smaller, and ends with ctx.
func each(ctx context.Context, n int, vs []Version, f func([]Version) error) error {
	for piece := range slices.Chunk(vs, n) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(piece); err != nil {
			return err
		}
	}
	return nil
}
