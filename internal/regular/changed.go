package regular

import (
	"io/fs"
	"os"
)

// Exists reports whether there is a file or folder at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Changed reports whether the file at a path is another one than it was, or has another time, size or mode; nil is a file that is
// missing.
func Changed(was fs.FileInfo, path string) (now fs.FileInfo, changed bool) {
	now, err := os.Stat(path)
	if err != nil {
		return nil, was != nil
	}
	return now, was == nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) || was.Size() != now.Size() || was.Mode() != now.Mode()
}
