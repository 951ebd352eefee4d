package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"syscall"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// TestSurvive: y.Check is a panic while Badger opens, and nothing else changes for who writes to the standard logger. No test that
// runs beside this one may open a database.
func TestSurvive(t *testing.T) {
	before := log.Writer()
	defer log.SetOutput(before)
	var out bytes.Buffer
	log.SetOutput(&out)
	check := func() (p any) {
		defer func() { p = recover() }()
		_, err := survive(func() (*badger.DB, error) {
			log.Print("passes")
			_, err := survive(func() (*badger.DB, error) { return nil, nil }) // of another
			y.Check(fmt.Errorf("opening\nmapping: %w", syscall.EIO))
			return nil, err
		})
		return err
	}
	err, ok := check().(error)
	if !ok || !errors.Is(systemError(firstLine(err)), syscall.EIO) {
		t.Errorf("it ended with %v", err)
	}
	if log.Writer() != io.Writer(&out) {
		t.Error("the writer is another")
	}
	if got := out.String(); !strings.HasSuffix(got, "passes\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("wrote %q", got)
	}
	log.Print("the logger is not locked")

	var other bytes.Buffer
	if _, err := survive(func() (*badger.DB, error) { log.SetOutput(&other); return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if log.Writer() != io.Writer(&other) {
		t.Error("what the host has set is gone")
	}
}
