package folder

import "io/fs"

// SetDisk replaces the numbers of file systems, and returns a function that restores them.
func SetDisk(f func(fs.FileInfo) uint64) func() {
	disk = f
	return func() { disk = device }
}
