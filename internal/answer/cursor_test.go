package answer

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
)

func TestCursor(t *testing.T) {
	for _, id := range []string{"a", "é", "d\xff", "\xff", "\x00", "\x0064", "\x00\xff", "a\x00", "\ufffd"} {
		c := Cursor(id)
		if !utf8.ValidString(c) || id == "é" && c != id {
			t.Errorf("%q is written %q", id, c)
		}
		if back, err := After(c); back != id || err != nil {
			t.Errorf("%q is read %q, %v", id, back, err)
		}
	}
	if id, err := After(""); id != "" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := After("\x00xyz"); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("no cursor: %v", err)
	}
}
