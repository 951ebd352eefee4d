//go:build !unix

package folder

// notFolder reports whether a file has replaced a folder.
func notFolder(error) bool { return false }
