package engine_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
)

// TestUnread: what is left of an export is the same to who reads it next, to the
// numbers of its lines, at whatever size it is read.
func TestUnread(t *testing.T) {
	t.Parallel()
	text := "\ufeff\n\n{\"_id\":\"a\",\"text\":\"first words\"}\n   \n{\"_id\":\"b\",\"text\":\"other words\"}\r\n{\"_id\":\"c\",\"text\":7}"
	direct := openHash(t)
	x, err := archive.NewExported(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want, wantErr := direct.Import(t.Context(), x)
	if !errors.As(wantErr, new(*archive.LineError)) {
		t.Fatal(wantErr)
	}
	for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader} {
		first, err := archive.NewExported(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := archive.NewExported(wrap(first.Unread()))
		if err != nil {
			t.Fatal(err)
		}
		got, gotErr := openHash(t).Import(t.Context(), again)
		if got != want || gotErr == nil || gotErr.Error() != wantErr.Error() {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, gotErr, want, wantErr)
		}
	}
}

// TestUnreadFails: an error of the original reader is that of what is left.
func TestUnreadFails(t *testing.T) {
	broken := errors.New("broken")
	x, err := archive.NewExported(io.MultiReader(strings.NewReader("{\"_id\":\"a\",\"text\":\"words\"}\n"), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := io.ReadAll(x.Unread()); !errors.Is(err, broken) || string(raw) != "{\"_id\":\"a\",\"text\":\"words\"}\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

func openHash(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(64), engine.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}
