// Package collections keeps several databases in one folder. Start with [Open], then [Set.Create] and [Set.Get].
// The databases share an encoder. Each is an ordinary database in a folder with its name. It is opened at its
// first use, and closed when it has been idle or when others need its memory or file descriptors.
//
// Collections are shared as in package share: other processes call the one that has a collection open, and
// several Sets, in one process or in several, may use the same folder.
//
// A Set is safe for concurrent use, and a busy collection does not block another. Create and Drop are atomic for
// other processes and after a kill: a collection exists completely or not at all. Errors are those of package
// engine: ErrNotFound for a name that does not exist, ErrExists for one that does, ErrInvalid for an invalid one.
package collections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/store"
)

// Options configure a Set.
type Options struct {
	// Engine are the options of each collection. Engine.Metric is the metric of collections that are
	// created without one. Engine.MustExist is ignored. With Engine.ReadOnly nothing can be created or
	// dropped. Each open collection has its own caches of Engine.MemoryMiB. Engine.Reranker runs in this
	// process, even if another process has a collection open.
	Engine engine.Options
	// Command names this process for other processes, as share.Options.Command.
	Command string
	// MaxOpen is how many collections may be open at the same time; 0 means as many as the limit of file
	// descriptors allows. OpenMiB is about the memory of all open collections, in MiB; 0 means 512. Beyond
	// either, the collection that was used longest ago is closed before another is opened.
	MaxOpen, OpenMiB int
	// Idle is how long an unused collection stays open; 0 means one minute, below 0 means without end.
	Idle time.Duration
}

// Set is a folder of databases. Its methods are safe for concurrent use; work on one collection does
// not block the others.
type Set struct {
	dir string
	enc encoder.Encoder
	o   Options

	mu    sync.Mutex // guards the fields below, and those of each collection that say so
	ended bool
	stop  chan struct{} // closed by Close; nil until the first collection is opened
	all   map[string]*collection
	room  room
}

// Open opens the collections in dir, which need not exist. enc may be nil as for engine.Open; Close does not
// close it. Open does not open any collection yet. It removes the remains of an interrupted Create or Drop.
// Errors: engine.ErrInvalid, and those of the file system.
func Open(dir string, enc encoder.Encoder, o Options) (*Set, error) {
	if err := o.Engine.Validate(); err != nil {
		return nil, err
	}
	if o.MaxOpen < 0 || o.OpenMiB < 0 {
		return nil, fmt.Errorf("%w: Options.MaxOpen is %d and Options.OpenMiB %d; use positive numbers, or 0 for the default", engine.ErrInvalid, o.MaxOpen, o.OpenMiB)
	}
	dir, err := fault.Folder(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file; name a folder for collections", engine.ErrInvalid, dir)
	}
	if !o.Engine.ReadOnly {
		if err := store.Folder(dir).ClearRemoved(); err != nil {
			return nil, err
		}
	}
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	return &Set{dir: dir, enc: enc, o: o, all: map[string]*collection{}, room: newRoom(o)}, nil
}

// names matches names that every file system keeps distinct.
var names = regexp.MustCompile(`^[a-z0-9_-]+$`)

// Dir returns the folder of the collection name among the collections in dir. Errors: engine.ErrInvalid for a name
// that no collection can have.
func Dir(dir, name string) (string, error) {
	if len(name) > 64 || !names.MatchString(name) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%w: collection %q: use a name of 1 to 64 of the characters a to z, 0 to 9, _ and -", engine.ErrInvalid, fault.Clip(name))
	}
	return filepath.Join(dir, name), nil
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
		dir, err := Dir(s.dir, e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		there, err := store.Folder(dir).Exists()
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

// Create makes an empty collection with a metric; "" means the metric of Options. If it fails, nothing is left.
// Errors: engine.ErrInvalid for an invalid name or metric, engine.ErrExists for a name in use,
// engine.ErrForeign if the folder holds other files, engine.ErrReadOnly, engine.ErrClosed, and those of
// engine.Open.
func (s *Set) Create(ctx context.Context, name, metric string) error {
	if s.o.Engine.ReadOnly {
		return engine.ErrReadOnly
	}
	c, err := s.turn(ctx, name)
	if err != nil {
		return err
	}
	defer c.done()
	if there, err := store.Folder(c.dir).Exists(); err != nil {
		return err
	} else if there {
		return fmt.Errorf("collection %s: %w", name, engine.ErrExists)
	}
	if err := c.shut(); err != nil { // one of this name that another process has dropped
		return err
	}
	o := s.engineOptions()
	o.Metric = cmp.Or(metric, o.Metric)
	return c.open(ctx, func(ctx context.Context) error { return s.create(ctx, c, o) })
}

// create makes the folder of a collection under a temporary name, which ClearRemoved clears after a kill, and renames
// it.
func (s *Set) create(ctx context.Context, c *collection, o engine.Options) error {
	make := func(dir string) error {
		e, err := engine.Open(ctx, dir, s.enc, o)
		if err != nil {
			return err
		}
		return e.Close()
	}
	if _, err := os.Lstat(c.dir); !errors.Is(err, fs.ErrNotExist) { // an empty folder, or an error
		return make(c.dir)
	}
	err := store.Folder(c.dir).Create(make)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("collection %s: %w", c.name, engine.ErrExists)
	}
	return err
}

// Get returns a collection. Its calls open the collection if it is not open; concurrent calls for the same
// collection wait. The set owns the collection: do not close it. After Drop its methods return engine.ErrClosed.
// Errors: engine.ErrNotFound, engine.ErrInvalid for an invalid name, engine.ErrForeign if the folder holds
// other files, engine.ErrClosed, and those of engine.Open.
func (s *Set) Get(ctx context.Context, name string) (engine.Database, error) {
	if c := s.there(name); c != nil {
		return c.db, ctx.Err()
	}
	if err := s.known(name); err != nil {
		return nil, err
	}
	c, err := s.turn(ctx, name)
	if err != nil {
		return nil, err
	}
	defer c.done()
	if err := s.known(name); err != nil { // dropped meanwhile
		return nil, err
	}
	return c.db, c.open(ctx, nil)
}

// Share opens a collection so that other processes can call it; see share.Joined.ShareCollection. Errors: those of Get.
func (s *Set) Share(ctx context.Context, name string) error {
	db, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	return db.(*handle).touch(ctx)
}

// there is a collection that this process has open, nil for others: another process may have dropped what it has open.
func (s *Set) there(name string) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.all[name]; c != nil && c.joined != nil && c.own != nil && !c.gone {
		return c
	}
	return nil
}

// Opened returns the open collections by name. Their calls do not open a collection that was closed meanwhile, but
// return engine.ErrClosed, and do not count as use. Opened opens none and does not block.
func (s *Set) Opened() map[string]engine.Database {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]engine.Database{}
	for name, c := range s.all {
		if c.joined != nil && !c.gone {
			open[name] = &handle{counted{c.peek}, c}
		}
	}
	return open
}

// known refuses names that no collection can have.
func (s *Set) known(name string) error {
	if err := s.open(); err != nil {
		return err
	}
	dir, err := Dir(s.dir, name)
	if err != nil {
		return err
	}
	there, err := store.Folder(dir).Exists()
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
	c, err := s.turn(ctx, name)
	if err != nil {
		return err
	}
	defer c.done()
	if err := s.known(name); err != nil {
		return err
	}
	s.mu.Lock()
	own := c.own != nil
	c.gone = own // while another process has it open, that refuses the removal, and calls go on
	s.mu.Unlock()
	if own {
		err = c.shut()
	}
	if err == nil {
		err = store.Folder(c.dir).Remove()
	}
	s.mu.Lock()
	c.gone = err == nil
	s.mu.Unlock()
	if err == nil && !own {
		err = c.shut()
	}
	if err != nil {
		return fmt.Errorf("collection %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == c {
		delete(s.all, name)
	}
	return nil
}

// engineOptions are the options of one collection.
func (s *Set) engineOptions() engine.Options {
	o := s.o.Engine
	o.MustExist, o.Reranker, o.RerankDepth = false, nil, 0 // the reranker is put before the handle
	return o
}

// turn waits for the turn of a collection; its method done releases the turn.
func (s *Set) turn(ctx context.Context, name string) (*collection, error) {
	dir, err := Dir(s.dir, name)
	if err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return nil, engine.ErrClosed
		}
		c := s.all[name]
		if c == nil {
			c = newCollection(s, name, dir)
			s.all[name] = c
		}
		s.mu.Unlock()
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		ended, same := s.ended, s.all[name] == c
		s.mu.Unlock()
		switch {
		case ended:
			c.done()
			return nil, engine.ErrClosed
		case same:
			return c, nil
		}
		c.done() // it was dropped
	}
}

// Close closes all open collections as engine.Engine.Close does. Later calls return engine.ErrClosed; a
// second Close does nothing.
func (s *Set) Close() error {
	s.mu.Lock()
	s.ended = true
	all := s.all
	s.all = nil
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
	s.mu.Unlock()
	var wait sync.WaitGroup
	errs := make(chan error, len(all))
	for name, c := range all {
		wait.Go(func() {
			_ = c.wait(context.Background()) // who opens it ends first
			defer c.done()
			if err := c.shut(); err != nil {
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
