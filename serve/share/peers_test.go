package share_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/share"
)

// TestHostilePeers: whatever a peer sends, it is let go soon, and others are served.
func TestHostilePeers(t *testing.T) {
	dir := t.TempDir()
	reset := share.Hasten(time.Second)
	shared(t, filledShare(t, dir, 3), dir, share.Options{})
	reset()
	greeting := greetingOf(t, dir)
	call := func(frames ...[]byte) []byte { return append(slices.Clone(greeting), bytes.Join(frames, nil)...) }
	frame := func(kind byte, more byte, n uint32, payload string) []byte {
		return append([]byte{kind, more, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, payload...)
	}
	for name, sent := range map[string][]byte{
		"nothing":              nil,
		"zeros":                make([]byte, 1<<16),
		"garbage":              bytes.Repeat([]byte("GET / HTTP/1.1\r\nHost: x\r\n"), 5000),
		"an endless greeting":  append([]byte("lexsem 1 "), bytes.Repeat([]byte("{"), 1<<20)...),
		"greeting, no JSON":    []byte("lexsem 1 {\n"),
		"a huge frame":         call(frame('m', 0, 1<<31, "Search")),
		"an endless name":      call(bytes.Repeat(frame('m', 1, 6, "Search"), 1000)),
		"an unknown call":      call(frame('m', 0, 4, "What"), frame('a', 0, 1, "\xf6")),
		"arguments alone":      call(frame('a', 0, 1, "\xf6")),
		"empty parts":          call(bytes.Repeat(frame('m', 1, 0, ""), 1000)),
		"arguments of no kind": call(frame('m', 0, 3, "Get"), frame('a', 0, 3, "\xff\xff\xff")),
		"too many at once":     call(frame('m', 0, 6, "Delete"), frame('a', 0, 9, "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff")),
		"deep":                 call(frame('m', 0, 6, "Search"), frame('a', 0, 4000, strings.Repeat("\x81", 4000))),
		"data unasked":         call(frame('m', 0, 5, "Flush"), frame('a', 0, 1, "\xa0"), bytes.Repeat(frame('d', 0, 1, "x"), 1000)),
		"half a frame":         call(frame('m', 0, 60, "Sea")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("unix", filepath.Join(dir, "socket"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			conn.Write(sent) // whether it is read to the end is the holder's affair
			if _, err := io.Copy(io.Discard, conn); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("it was not let go")
			}
			if n, err := asked(t, dir).Count(t.Context(), engine.Filter{}); n != 3 || err != nil {
				t.Error(n, err)
			}
		})
	}
}

// greetingOf is a greeting that the holder takes.
func greetingOf(t *testing.T, dir string) []byte {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("lexsem 1 {}\n")); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := conn.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Shape string }
	if err := json.Unmarshal(bytes.TrimPrefix(line[:n], []byte("lexsem 1 ")), &g); err != nil || g.Shape == "" {
		t.Fatalf("%q, %v", line[:n], err)
	}
	return fmt.Appendf(nil, "lexsem 1 {\"shape\":%q}\n", g.Shape)
}

// TestVersions: programs of other versions refuse each other, and say whom they met.
func TestVersions(t *testing.T) {
	for name, answer := range map[string]string{
		"newer protocol":   `lexsem 2 {"shape":"x","holder":{"pid":7,"command":"lexsem serve","version":"v9.0.0"}}`,
		"other calls":      `lexsem 1 {"shape":"x","holder":{"pid":7,"command":"lexsem serve","version":"v9.0.0"}}`,
		"far away":         `lexsem 77 what`,
		"no lexsem at all": `HTTP/1.1 400 Bad Request`,
		"no holder":        "",
	} {
		dir := t.TempDir()
		l, err := net.Listen("unix", filepath.Join(dir, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		own := answer
		if own == "" {
			e := t.TempDir()
			shared(t, filledShare(t, e, 1), e, share.Options{})
			own = strings.TrimSpace(string(greetingOf(t, e)))
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, own+"\n")
				conn.Close()
			}
		}()
		_, err = share.Open(t.Context(), dir)
		var p *share.ProtocolError
		switch {
		case strings.Contains(answer, "holder"):
			if !errors.As(err, &p) || !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), "process 7 (lexsem serve)") || !strings.Contains(err.Error(), "v9.0.0") {
				t.Errorf("%s: %v", name, err)
			}
		case strings.HasPrefix(answer, "lexsem"):
			if !errors.As(err, &p) {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if err == nil || errors.As(err, &p) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSilentHolder: one that takes connections and says nothing is waited for 5 s, and no
// longer than the context.
func TestSilentHolder(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := share.Open(ctx, dir); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 4*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if _, err := share.Open(t.Context(), dir); err == nil || errors.Is(err, share.ErrNoHolder) || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}
