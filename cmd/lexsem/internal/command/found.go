package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/store"
)

// folderName is the folder, inside a folder of documents, that has their database. `lexsem index DIR` makes it. Without
// --db, a command looks for it in the working folder, then in each folder above. Its name begins with a dot, so no index
// reads it. Its .gitignore keeps it out of Git.
const folderName = ".lexsem"

// ownDB returns the folder of a folder's own database, and whether there is one. One of another user is none, since that user
// can read what is stored in it; root uses all.
func ownDB(folder string) (dir string, is bool, err error) {
	dir = filepath.Join(folder, folderName)
	is, err = store.Folder(dir).Exists()
	return dir, is && mine(dir), err
}

// findDB looks for the database of the working folder. dir is "" if there is none.
func findDB() (dir string, err error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		dir, is, err := ownDB(at)
		switch {
		case is:
			return dir, nil
		case err != nil && !errors.Is(err, fs.ErrPermission):
			return "", hinted(err, "name the folder of the database with --db DIR or LEXSEM_DB")
		}
		above := filepath.Dir(at)
		if above == at {
			return "", nil
		}
		at = above
	}
}

// hideFromGit writes the .gitignore of a database inside a folder.
func hideFromGit(dir string) error {
	name := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Write(name, func(f *os.File) error {
		_, err := f.WriteString("*\n")
		return err
	})
}

// place chooses the database of `lexsem index` without --db: that in the folder to index, which is made; without a path, the
// nearest one and its folder. Words find the texts first, and a process of its own makes the vectors, unless flags say otherwise.
func (o indexOptions) place(a *app, paths []string) ([]string, error) {
	if a.db != "" {
		return paths, nil
	}
	switch len(paths) {
	case 0:
		dir, err := findDB()
		if err != nil || dir == "" {
			return nil, err
		}
		if a.db = dir; *o.lacks || *o.finish {
			return nil, nil
		}
		paths = []string{filepath.Dir(dir)}
		if err := o.again(dir, paths[0]); err != nil {
			return nil, err
		}
	case 1:
		if info, err := os.Stat(paths[0]); err != nil || !info.IsDir() {
			return paths, nil
		}
		a.db = filepath.Join(paths[0], folderName)
	default:
		return paths, nil
	}
	if !o.given("words-first") {
		*o.first = true
		*o.behind = *o.behind || !*o.watch && !o.given("background")
	}
	return paths, nil
}

// again sets the flags that are not given, and decide what is stored, as the last index of a folder had them.
func (o indexOptions) again(dir, root string) error {
	was, ok, err := folder.Again(dir, root, folder.Options{})
	if err != nil || !ok {
		return err
	}
	columns := ""
	for _, c := range [][2]string{{"id", was.Columns.ID}, {"title", was.Columns.Title}, {"text", was.Columns.Text}, {"vector", was.Columns.Vector}} {
		if c[1] != "" {
			columns += "," + c[0] + "=" + c[1]
		}
	}
	restore(o, "prefix", o.prefix, was.Prefix)
	restore(o, "exclude", o.exclude, was.Exclude)
	restore(o, "columns", o.columns, strings.TrimPrefix(columns, ","))
	restore(o, "keep", o.stay, was.Keep)
	restore(o, "no-default-excludes", o.usual, was.NoDefaultExcludes)
	restore(o, "global-ids", o.global, was.GlobalIDs)
	restore(o, "vectors", o.vectors, !was.DropVectors)
	return nil
}

func restore[T any](o indexOptions, flag string, to *T, was T) {
	if !o.given(flag) {
		*to = was
	}
}
