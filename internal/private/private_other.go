//go:build !unix

package private

import "io/fs"

// tighten does nothing: on this system modes do not control the access of other users.
func tighten(string, Ours) error { return nil }

// Exposed is false: on this system modes do not control the access of other users.
func Exposed(fs.FileInfo) bool { return false }
