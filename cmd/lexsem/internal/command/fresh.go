package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// A search of a folder's own database first looks for files that have changed since they were stored. If they are few, it stores
// them as words, and a process of its own makes their vectors; else it says how many there are.

const mostFresh = 100 // files that are stored before a search

// freshFor is how long the look, and then the storing, may take. Scripts in tests, which run on busy machines, have more.
var freshFor = time.Second

// openFresh opens a database for a search that sees the files of its folder as they are.
func (a *app) openFresh(ctx context.Context, dir string, w way) (*database, error) {
	db, err := a.openSearch(ctx, dir, w)
	if err != nil || filepath.Base(dir) != folderName {
		return db, err
	}
	n, err := behind(ctx, db)
	if err == nil && n > mostFresh {
		err = fmt.Errorf("%s are new, changed or gone; `lexsem index` stores what is there", count(n, "file", "files"))
	}
	if err != nil {
		return db, a.stored(ctx, db, err)
	}
	if n == 0 {
		return db, nil
	}
	if _, other := db.Holder(); !other { // it is open for reading, perhaps without a model
		if err := db.close(); err != nil {
			return nil, err
		}
		if db, err = a.openDB(ctx, dir, engine.Options{MustExist: true, Logger: a.warnings(), Local: w.local()}); err != nil {
			if !errors.Is(err, engine.ErrLocked) { // by others that read
				return nil, err
			}
			if db, err = a.openSearch(ctx, dir, w); err != nil {
				return nil, err
			}
			return db, a.stored(ctx, db, fmt.Errorf("%s are new, changed or gone, and another process has the database open", count(n, "file", "files")))
		}
	}
	if err := a.freshen(ctx, db, dir); err != nil {
		return db, a.stored(ctx, db, err)
	}
	return db, nil
}

// stored says that a search sees what is stored, and why. It returns the error of ctx, and then closes db.
func (a *app) stored(ctx context.Context, db *database, why error) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(err, db.close())
	}
	if !a.quiet {
		fmt.Fprintf(a.Stderr, "note: searching what is stored: %v\n", why)
	}
	return nil
}

// again is the folder of its own database as the last index of it was told, or nil if none is known.
func again(ctx context.Context, db *database) (*folder.Folder, error) {
	s, err := db.Stats(ctx)
	if err != nil {
		return nil, err
	}
	root := filepath.Dir(s.Dir)
	o, ok, err := folder.Again(s.Dir, root, folder.Options{WordsFirst: true})
	if err != nil || !ok {
		return nil, err
	}
	return folder.Open(ctx, db, root, o)
}

// behind counts the files that have changed since they were stored.
func behind(ctx context.Context, db *database) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, freshFor, errors.New("the files could not be looked through in a second"))
	defer cancel()
	f, err := again(ctx, db)
	if err != nil || f == nil {
		return 0, err
	}
	n, err := f.Behind(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err
}

// freshen stores the files that have changed, and has their vectors made once the database is closed.
func (a *app) freshen(ctx context.Context, db *database, dir string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, freshFor, errors.New("the changed files could not be stored in a second; `lexsem index` stores them"))
	defer cancel()
	f, err := again(ctx, db)
	if err != nil || f == nil {
		return err
	}
	_, err = f.Sync(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	s, err := db.Stats(ctx)
	if _, other := db.Holder(); err == nil && s.Waiting > 0 && !other {
		db.then = func() error { return a.startFinish(dir, 0, 0) }
	}
	return err
}
