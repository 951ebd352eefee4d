package command

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/serve/mcp"
)

// lexsem mcp --dir serves a folder: it creates the database, stores the files as words first, and follows their changes
// until the client ends. Vectors are made in the background; the next process makes the remaining ones.

// firstSync is the maximum time that a client waits for the words of a folder before it gets an answer.
const firstSync = 2 * time.Second

// folderDB is the place of a folder's database unless --db names another: in the folder, if it has its own, else in the cache
// folder, so that nothing is written into the folder itself.
func (a *app) folderDB(dir string) (string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", usagef("--dir %s: no folder; name one that is there", dir)
	}
	if a.db != "" {
		return a.needDB()
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil { // one database, whatever the folder is called by
		abs = real
	}
	if own, is, err := ownDB(abs); err == nil && is {
		return own, nil
	}
	cache, err := a.cacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(cache, "folders", fmt.Sprintf("%s-%x", filepath.Base(abs), sum[:8])), nil
}

// follow keeps a database equal to a folder until end is called. It returns when words find the files, or after firstSync.
func (a *app) follow(ctx context.Context, db *database, dir string) (_ *folder.Folder, end func(), err error) {
	s, err := db.Stats(ctx)
	if err != nil {
		return nil, nil, err
	}
	tell := func(x folder.Failure) { a.warnings().Warn("a file is left out", "file", x.Path, "error", x.Err) }
	f, err := folder.Open(ctx, db, dir, folder.Options{WordsFirst: true, DropVectors: s.Encoder.Model != "", Failed: tell})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	synced, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		err := f.Watch(ctx, func(_ folder.Report, err error) error {
			if err != nil {
				a.warnings().Warn("the folder cannot be read; what is stored of it stays", "error", err)
			}
			select {
			case synced <- struct{}{}:
			default:
			}
			return nil
		})
		if ctx.Err() == nil {
			a.warnings().Warn("changes of the folder are no longer followed; start the server again", "error", err)
		}
	}()
	select {
	case <-synced:
	case <-ended:
	case <-time.After(firstSync):
	}
	return f, func() { cancel(); <-ended }, nil
}

// firstChanges is how long a call waits at most for changes of the folder that are not stored yet.
const firstChanges = time.Second

// fresh is the database of a folder that is followed. A call waits a moment for the changes made before it. If they take
// longer, it reads what is stored, and hits tell which files have changed.
type fresh struct {
	mcp.Database
	f *folder.Folder
}

func (d fresh) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstChanges)
	defer cancel()
	d.f.CatchUp(ctx)
}

func (d fresh) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	d.catchUp(ctx)
	return d.Database.Search(ctx, q)
}

func (d fresh) Get(ctx context.Context, id string) (engine.Document, error) {
	d.catchUp(ctx)
	return d.Database.Get(ctx, id)
}
