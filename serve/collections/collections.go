// Package collections keeps several databases in one folder. Start with [Open], then [Set.Create] and
// [Set.Get]. The databases share an encoder. Each is an ordinary database in the folder of its name, and is
// opened when it is first asked for.
//
// A Set is safe for concurrent use, and a busy collection keeps no other waiting. For other processes, and
// after a kill, Drop has removed a collection as a whole or not at all. Errors are those of package engine:
// ErrNotFound for a name that does not exist, ErrExists for one that does, ErrInvalid for one that cannot be.
package collections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/store"
)

// Options configure a Set.
type Options struct {
	// Engine are the options of each collection. Engine.Metric is the metric of collections that are
	// created without one. Engine.MustExist is ignored. With Engine.ReadOnly nothing can be created or
	// dropped. Each open collection has its own caches of Engine.MemoryMiB.
	Engine engine.Options
}

// Set is a folder of databases. Its methods are safe for concurrent use; work on one collection does
// not block the others.
type Set struct {
	dir string
	enc encoder.Encoder
	o   Options

	mu    sync.Mutex // guards the fields below
	ended bool
	all   map[string]*collection // those that were opened, created or dropped
}

// collection is a name that was asked for, and the database if it is open.
type collection struct {
	turn    chan struct{}  // holds a value while somebody opens, creates or drops it
	db      *engine.Engine // guarded by Set.mu; nil while it is not open
	dropped bool           // guarded by Set.mu; is being closed to be dropped
}

// Open opens the collections in dir, which need not exist. enc may be nil as for engine.Open; Close
// does not close it. Open does not open any collection yet. It removes what an interrupted Drop left.
// Errors: engine.ErrInvalid, and those of the file system.
func Open(dir string, enc encoder.Encoder, o Options) (*Set, error) {
	if err := o.Engine.Validate(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file; name a folder for collections", engine.ErrInvalid, dir)
	}
	if !o.Engine.ReadOnly {
		if err := store.ClearRemoved(dir); err != nil {
			return nil, err
		}
	}
	return &Set{dir: dir, enc: enc, o: o, all: map[string]*collection{}}, nil
}

// names are those that every file system keeps apart.
var names = regexp.MustCompile(`^[a-z0-9_-]+$`)

// path is the folder of a collection.
func (s *Set) path(name string) (string, error) {
	if len(name) > 64 || !names.MatchString(name) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%w: collection %q: use a name of 1 to 64 of the characters a to z, 0 to 9, _ and -", engine.ErrInvalid, fault.Clip(name))
	}
	return filepath.Join(s.dir, name), nil
}

// List returns the sorted names of the collections. It leaves out other files and folders.
func (s *Set) List(ctx context.Context) ([]string, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir, err := s.path(e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		there, err := store.Exists(dir)
		if err != nil && !errors.Is(err, engine.ErrForeign) {
			return nil, err
		}
		if there {
			list = append(list, e.Name())
		}
	}
	return list, nil
}

func (s *Set) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return engine.ErrClosed
	}
	return nil
}

// Create makes an empty collection with a metric; "" means the metric of Options. Errors:
// engine.ErrInvalid for an invalid name or metric, engine.ErrExists for a name in use,
// engine.ErrForeign if the folder holds other files, engine.ErrReadOnly, engine.ErrClosed, and those of
// engine.Open.
func (s *Set) Create(ctx context.Context, name, metric string) error {
	if s.o.Engine.ReadOnly {
		return engine.ErrReadOnly
	}
	_, err := s.use(ctx, name, func(c *collection, dir string) (*engine.Engine, error) {
		if there, err := store.Exists(dir); err != nil {
			return nil, err
		} else if there {
			return nil, fmt.Errorf("collection %s: %w", name, engine.ErrExists)
		}
		o := s.o.Engine
		o.MustExist, o.Metric = false, cmp.Or(metric, o.Metric)
		return engine.Open(ctx, dir, s.enc, o)
	})
	return err
}

// Get returns a collection and opens it if necessary; concurrent calls for the same collection wait.
// The set owns the collection: do not close it. After Drop its methods return engine.ErrClosed. Errors:
// engine.ErrNotFound, engine.ErrInvalid for an invalid name, engine.ErrForeign if the folder holds
// other files, engine.ErrClosed, and those of engine.Open.
func (s *Set) Get(ctx context.Context, name string) (engine.Database, error) {
	if db := s.there(name); db != nil {
		return db, ctx.Err()
	}
	if err := s.known(name); err != nil {
		return nil, err
	}
	db, err := s.use(ctx, name, func(c *collection, dir string) (*engine.Engine, error) {
		if db := s.there(name); db != nil {
			return db, nil
		}
		if err := s.known(name); err != nil { // dropped meanwhile
			return nil, err
		}
		o := s.o.Engine
		o.MustExist, o.Metric = true, "" // it was made with one
		return engine.Open(ctx, dir, s.enc, o)
	})
	if err != nil {
		return nil, err
	}
	return db, nil
}

// there is a collection that is open, nil for others.
func (s *Set) there(name string) *engine.Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.all[name]; c != nil && !c.dropped {
		return c.db
	}
	return nil
}

// Opened returns the open collections by name: those that were created or requested since Open and not
// dropped. The set owns them, as with Get. It opens none and does not block.
func (s *Set) Opened() map[string]engine.Database {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]engine.Database{}
	for name, c := range s.all {
		if c.db != nil && !c.dropped {
			open[name] = c.db
		}
	}
	return open
}

// known refuses names that no collection has.
func (s *Set) known(name string) error {
	if err := s.open(); err != nil {
		return err
	}
	dir, err := s.path(name)
	if err != nil {
		return err
	}
	there, err := store.Exists(dir)
	if err == nil && !there {
		err = fmt.Errorf("collection %s: %w", name, engine.ErrNotFound)
	}
	return err
}

// Drop closes a collection and removes its folder. For other processes, and after a crash, the
// collection exists either completely or not at all. Errors: engine.ErrNotFound, engine.ErrInvalid for
// an invalid name, engine.ErrForeign for a folder that is not a database (it is left as it is),
// engine.ErrLocked if another process has it open, engine.ErrReadOnly, engine.ErrClosed.
func (s *Set) Drop(ctx context.Context, name string) error {
	if s.o.Engine.ReadOnly {
		return engine.ErrReadOnly
	}
	if err := s.known(name); err != nil {
		return err
	}
	_, err := s.use(ctx, name, func(c *collection, dir string) (*engine.Engine, error) {
		if err := s.known(name); err != nil {
			return nil, err
		}
		if err := s.stop(c); err != nil {
			return nil, fmt.Errorf("collection %s: %w", name, err)
		}
		return nil, store.Remove(dir)
	})
	return err
}

// stop closes a collection whose turn the caller has. After an error it may be
// tried again.
func (s *Set) stop(c *collection) error {
	s.mu.Lock()
	db := c.db
	c.dropped = true
	s.mu.Unlock()
	var err error
	if db != nil {
		err = db.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		c.db, c.dropped = nil, false
	}
	return err
}

// use calls f when nobody else opens, creates or drops the collection. What f returns
// is the collection's database from then on.
func (s *Set) use(ctx context.Context, name string, f func(c *collection, dir string) (*engine.Engine, error)) (*engine.Engine, error) {
	dir, err := s.path(name)
	if err != nil {
		return nil, err
	}
	c, err := s.take(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { <-c.turn }()
	if err := s.open(); err != nil { // it was closed meanwhile
		return nil, err
	}
	db, err := f(c, dir)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.db = db
	return db, nil
}

// take waits for the turn of a collection.
func (s *Set) take(ctx context.Context, name string) (*collection, error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, engine.ErrClosed
	}
	c := s.all[name]
	if c == nil {
		c = &collection{turn: make(chan struct{}, 1)}
		s.all[name] = c
	}
	s.mu.Unlock()
	select {
	case c.turn <- struct{}{}:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close closes all open collections as engine.Engine.Close does. Later calls return engine.ErrClosed; a
// second Close does nothing.
func (s *Set) Close() error {
	s.mu.Lock()
	s.ended = true
	all := s.all
	s.all = nil
	s.mu.Unlock()
	var wait sync.WaitGroup
	errs := make(chan error, len(all))
	for name, c := range all {
		wait.Go(func() {
			c.turn <- struct{}{} // who opens it ends first
			defer func() { <-c.turn }()
			if err := s.stop(c); err != nil {
				errs <- fmt.Errorf("collection %s: %w", name, err)
			}
		})
	}
	wait.Wait()
	close(errs)
	var err error
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}
