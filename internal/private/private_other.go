//go:build !unix

package private

// tighten does nothing: on this system modes do not control the access of other users.
func tighten(string, Ours) error { return nil }
