//go:build !linux

package trial

// InMemory does nothing: only Linux has a folder in memory everywhere.
func InMemory() {}
