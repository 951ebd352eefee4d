package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	dir := must(os.MkdirTemp("", "own-encoder"))
	must(dir, os.Chdir(dir))
	code := m.Run()
	must(dir, os.RemoveAll(dir))
	os.Exit(code)
}

// The second time the database is there.
func Example() {
	main()
	main()
	// Output:
	// The oak lost its leaves.
	// The oak lost its leaves.
}
