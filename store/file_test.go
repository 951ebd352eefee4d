package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestTemporariesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, small).Close()
	kept := filepath.Join(dir, "bridges", "slr")
	if err := Folder(dir).WriteBridge("slr", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Folder(dir).WriteBridge("slr", []byte("two")); err != nil {
		t.Fatal(err)
	}
	// A process that dies before the rename leaves the old file and a temporary.
	died := errors.New("died")
	failpoint = func(name string) {
		if name == "temporary" {
			panic(died)
		}
	}
	func() {
		defer func() {
			failpoint = nil
			if r := recover(); r != died {
				t.Errorf("recovered %v", r)
			}
		}()
		Folder(dir).WriteBridge("slr", []byte("three"))
	}()
	if left, _ := filepath.Glob(kept + "*"); len(left) != 2 {
		t.Fatalf("files %v", left)
	}
	open(t, dir, small).Close()
	left, _ := filepath.Glob(kept + "*")
	if b, err := os.ReadFile(kept); len(left) != 1 || err != nil || string(b) != "two" {
		t.Errorf("files %v, contents %q, %v", left, b, err)
	}
}
