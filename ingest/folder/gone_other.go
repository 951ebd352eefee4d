//go:build !unix

package folder

import "io/fs"

// notFolder reports whether a file has replaced a folder.
func notFolder(error) bool { return false }

// device is the same for all files: a disk within a folder is a link here, which is not followed.
func device(fs.FileInfo) uint64 { return 0 }
