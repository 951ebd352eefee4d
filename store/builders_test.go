package store

import (
	"fmt"
	"strings"
	"testing"
)

// TestFreeBuilders: buffers of tables that were written are found and let go of, beside writers as well.
func TestFreeBuilders(t *testing.T) {
	s := open(t, t.TempDir(), small)
	write := func(from int) {
		t.Helper()
		for i := range 20 {
			d := doc(fmt.Sprint("d", from+i), i)
			d.Text = strings.Repeat(fmt.Sprint(i, " "), 40_000)
			add(t, s, d)
		}
	}
	write(0)
	if err := s.Flush(t.Context()); err != nil { // into tables
		t.Fatal(err)
	}
	if n := freeBuilders(s.db); n < 1<<20 {
		t.Errorf("%d bytes of buffers behind tables", n)
	}
	if n := freeBuilders(s.db); n != 0 {
		t.Errorf("%d bytes again", n)
	}
	write(20)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.ForgetTables(1 << 40); err != nil {
		t.Fatal(err)
	}
	if n := freeBuilders(s.db); n != 0 {
		t.Errorf("%d bytes behind ForgetTables", n)
	}
}
