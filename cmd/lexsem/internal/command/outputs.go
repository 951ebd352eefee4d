package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/store"
)

// outFile declares a flag that names an output file. The command checks that the file can
// be written before it starts its work.
func (f *flags) outFile(name, value, usage string) *string {
	p := f.str(name, value, usage)
	f.checks = append(f.checks, func() error { return checkOutFile(name, *p) })
	return p
}

// outDir declares a flag that names an output folder, which is created if needed.
func (f *flags) outDir(name, usage string) *string {
	p := f.str(name, "", usage)
	f.checks = append(f.checks, func() error {
		if *p == "" {
			return nil
		}
		if err := private.MkdirAll(*p); err != nil {
			return usagef("%s %s: %v; name a folder that exists or can be made", dashed(name), *p, err)
		}
		return writable(name, *p, *p)
	})
	return p
}

// standardOutput reports whether the value of a file flag means standard output. "1" and
// "true" do, so that LEXSEM_JSON=1 works for every command.
func standardOutput(file string) bool { return file == "-" || file == "1" || file == "true" }

func checkOutFile(name, file string) error {
	switch {
	case file == "" || standardOutput(file) && (name == "json" || name == "out"):
		return nil
	case file == "-":
		return usagef("%s -: name a file", dashed(name))
	case strings.HasPrefix(file, "-"):
		return usagef("%s %s: this is a flag; name a file before it, or ./%s", dashed(name), file, file)
	}
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return usagef("%s %s: this is a folder; name a file", dashed(name), file)
	case err == nil && !info.Mode().IsRegular():
		return nil
	}
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return usagef("%s %s: there is no folder %s; make it first", dashed(name), file, dir)
	}
	if err := outside(file); err != nil {
		return err
	}
	return writable(name, file, dir)
}

// outside refuses a file in the folder of a database, with which it would be lost.
func outside(file string) error {
	db, err := store.Folder(filepath.Dir(file)).Within()
	if err == nil && db != "" {
		err = usagef("%s is in the folder of the database %s, and would be lost with it; name a file elsewhere", file, db)
	}
	return err
}

// writable tries to make a file in dir.
func writable(name, value, dir string) error {
	f, err := os.CreateTemp(dir, ".lexsem-*")
	if err != nil {
		return usagef("%s %s: cannot write there: %v", dashed(name), value, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeFile writes a file that only its owner can read, since most files contain texts. A
// failure leaves the previous content. If name is not a regular file but, for example,
// /dev/null or a pipe, it is written to directly.
func writeFile(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if err := outside(name); err != nil {
		return err
	}
	return atomicfile.Write(name, func(f *os.File) error { return write(f) })
}
