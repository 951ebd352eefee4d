package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "function")
	check(err)
	check(os.Chdir(dir))
	code := m.Run()
	check(os.RemoveAll(dir))
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
