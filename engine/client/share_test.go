package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/client"
)

func filledShare(t *testing.T, dir string, n int) *engine.Engine {
	t.Helper()
	e := opened(t, dir, encoder.NewHash(dim), engine.Options{})
	if _, err := e.Upsert(t.Context(), documents(n)); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestNobody: where nobody shares a database Open says so, and touches nothing.
func TestNobody(t *testing.T) {
	dir := t.TempDir()
	if _, err := client.Open(t.Context(), dir); !errors.Is(err, client.ErrNoHolder) {
		t.Error(err)
	}
	if _, err := client.Open(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, client.ErrNoHolder) {
		t.Error(err)
	}
}

// TestHolder: who holds is told, and the socket has the permissions of the folder and goes
// with the sharing.
func TestHolder(t *testing.T) {
	for _, mode := range []fs.FileMode{0o700, 0o755, 0o750} {
		dir := t.TempDir()
		e := filledShare(t, dir, 3)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		s := shared(t, e, dir, client.ShareOptions{Command: "lexsem test", Model: "hash-48"})
		info, err := os.Lstat(filepath.Join(dir, "socket"))
		if err != nil || info.Mode()&fs.ModeSocket == 0 || runtime.GOOS != "windows" && info.Mode().Perm() != mode&0o666 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		h := asked(t, dir).Holder()
		if h.PID != os.Getpid() || h.Command != "lexsem test" || h.Model != "hash-48" || time.Since(h.Since) > time.Minute {
			t.Errorf("%+v", h)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "socket")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	}
}

// TestLongPath: a path that is longer than a socket's may be is no hindrance, and leaves
// nothing behind.
func TestLongPath(t *testing.T) {
	base := t.TempDir()
	runtimeDir := filepath.Join(base, "run")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	dir := base
	for len(dir) < 220 {
		dir = filepath.Join(dir, strings.Repeat("long", 10))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := filledShare(t, dir, 3)
	s := shared(t, e, dir, client.ShareOptions{})
	if n, err := asked(t, dir).Count(t.Context(), engine.Filter{}); n != 3 || err != nil {
		t.Error(n, err)
	}
	for _, folder := range []string{runtimeDir, os.TempDir()} {
		left, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range left {
			if strings.HasPrefix(f.Name(), "lexsem-") && folder == runtimeDir {
				t.Errorf("%s is left in %s", f.Name(), folder)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStaleSocket: a socket that a killed process left is nobody, and makes room; what is
// no socket stays as it is, and is neither followed nor taken for a holder.
func TestStaleSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "socket")
	e := filledShare(t, dir, 3)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Open(t.Context(), dir); !errors.Is(err, client.ErrNoHolder) {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("one who does not hold the database has removed the socket: %v", err)
	}
	s := shared(t, e, dir, client.ShareOptions{})
	asked(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Share(e, dir, client.ShareOptions{}); err == nil || !strings.Contains(err.Error(), "stays") {
		t.Error(err)
	}
	if raw, err := os.ReadFile(path); string(raw) != "somebody's" {
		t.Errorf("%q, %v", raw, err)
	}
	if _, err := client.Open(t.Context(), dir); !errors.Is(err, client.ErrNoHolder) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	other := t.TempDir()
	theirs := shared(t, filledShare(t, other, 1), other, client.ShareOptions{})
	defer theirs.Close()
	if err := os.Symlink(filepath.Join(other, "socket"), path); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	if _, err := client.Open(t.Context(), dir); !errors.Is(err, client.ErrNoHolder) {
		t.Errorf("a link was followed: %v", err)
	}
	if _, err := client.Share(e, dir, client.ShareOptions{}); err == nil {
		t.Error("a link was replaced")
	}
	if _, err := os.Readlink(path); err != nil {
		t.Error(err)
	}
	asked(t, other)
}

// TestCloseLeavesOthers: a socket that is not the one that was made stays.
func TestCloseLeavesOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "socket")
	s := shared(t, filledShare(t, dir, 1), dir, client.ShareOptions{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// TestHostilePeers: whatever a peer sends, it is let go soon, and others are served.
func TestHostilePeers(t *testing.T) {
	dir := t.TempDir()
	reset := client.Hasten(time.Second)
	shared(t, filledShare(t, dir, 3), dir, client.ShareOptions{})
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
			shared(t, filledShare(t, e, 1), e, client.ShareOptions{})
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
		_, err = client.Open(t.Context(), dir)
		var p *client.ProtocolError
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

// TestSilentHolder: one that takes connections and says nothing is waited for 2 s, and no
// longer than the context.
func TestSilentHolder(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := client.Open(ctx, dir); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if _, err := client.Open(t.Context(), dir); err == nil || errors.Is(err, client.ErrNoHolder) || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}

// slow is an encoder that does not end before it is let go, or its context has.
type slow struct {
	encoder.Encoder
	begun   chan struct{} // a value for each Encode
	goOn    chan struct{}
	stopped atomic.Int64 // Encodes that their context ended
}

func newSlow() *slow {
	return &slow{Encoder: encoder.NewHash(dim), begun: make(chan struct{}, 100), goOn: make(chan struct{})}
}

func (s *slow) Encode(ctx context.Context, role encoder.Role, texts []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	s.begun <- struct{}{}
	select {
	case <-s.goOn:
	case <-ctx.Done():
		s.stopped.Add(1)
		return nil, ctx.Err()
	}
	return s.Encoder.Encode(ctx, role, texts, need)
}

// TestCancel: a call that its caller gives up ends at the holder, soon, and leaves nothing.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	enc := newSlow()
	e := opened(t, dir, enc, engine.Options{})
	shared(t, e, dir, client.ShareOptions{Drain: -1})
	c := asked(t, dir)
	calls := map[string]func(ctx context.Context) error{
		"upsert": func(ctx context.Context) error { _, err := c.Upsert(ctx, documents(3)); return err },
		"search": func(ctx context.Context) error {
			_, err := c.Search(ctx, engine.Query{Text: "keys"})
			return err
		},
		"import": func(ctx context.Context) error {
			x, err := engine.NewExported(strings.NewReader(`{"_id":"i","text":"words"}`))
			if err != nil {
				return err
			}
			_, err = c.Import(ctx, x)
			return err
		},
	}
	for name, call := range calls {
		for _, how := range []struct {
			end  func(context.Context) (context.Context, context.CancelFunc)
			want error
		}{
			{context.WithCancel, context.Canceled},
			{func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 100*time.Millisecond)
			}, context.DeadlineExceeded},
		} {
			before := enc.stopped.Load()
			ctx, cancel := how.end(t.Context())
			done := make(chan error, 1)
			go func() { done <- call(ctx) }()
			<-enc.begun
			if how.want == context.Canceled {
				cancel()
			} else {
				<-ctx.Done()
			}
			begin := time.Now()
			if err := <-done; !errors.Is(err, how.want) {
				t.Errorf("%s: %v, want %v", name, err, how.want)
			}
			for enc.stopped.Load() == before {
				if time.Since(begin) > 5*time.Second {
					t.Fatalf("%s: the holder does not end", name)
				}
				time.Sleep(time.Millisecond)
			}
			t.Logf("%s: ended %v after", name, time.Since(begin))
			cancel()
		}
	}
	if n, err := c.Count(t.Context(), engine.Filter{}); n != 0 || err != nil {
		t.Errorf("%d documents are left, %v", n, err)
	}
}

// TestCallerDies: the call of a caller that is gone ends.
func TestCallerDies(t *testing.T) {
	dir := t.TempDir()
	enc := newSlow()
	shared(t, opened(t, dir, enc, engine.Options{}), dir, client.ShareOptions{})
	c := asked(t, dir)
	done := make(chan error, 1)
	go func() { _, err := c.Upsert(t.Context(), documents(3)); done <- err }()
	<-enc.begun
	c.Close()
	if err := <-done; !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
	for begin := time.Now(); enc.stopped.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 5*time.Second {
			t.Fatal("the holder does not end")
		}
	}
	if _, err := c.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
}

// TestDrain: Close waits for what runs, then gives it up, and says that it was not done.
func TestDrain(t *testing.T) {
	for _, patient := range []bool{true, false} {
		dir := t.TempDir()
		enc := newSlow()
		o := client.ShareOptions{Drain: time.Minute}
		if !patient {
			o.Drain = 20 * time.Millisecond
		}
		e := opened(t, dir, enc, engine.Options{})
		s := shared(t, e, dir, o)
		c := asked(t, dir)
		done := make(chan error, 1)
		go func() { _, err := c.Upsert(t.Context(), documents(3)); done <- err }()
		<-enc.begun
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		for { // no new call is taken
			if _, err := client.Open(t.Context(), dir); errors.Is(err, client.ErrNoHolder) {
				break
			}
		}
		if patient {
			select {
			case err := <-closed:
				t.Fatalf("Close did not wait: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			close(enc.goOn)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		err := <-done
		var lost *client.LostError
		if patient && err != nil || !patient && (!errors.As(err, &lost) || lost.Begun) {
			t.Errorf("patient %v: %v", patient, err)
		}
		if n, err := e.Count(t.Context(), engine.Filter{}); err != nil || n != map[bool]int{true: 3}[patient] {
			t.Errorf("patient %v: %d documents, %v", patient, n, err)
		}
		if _, err := c.Count(t.Context(), engine.Filter{}); !errors.As(err, &lost) || lost.Begun || !errors.Is(err, client.ErrLost) {
			t.Error(err)
		}
	}
}

// TestManyClients: a hundred at once, each in its own connection, beside a writer.
func TestManyClients(t *testing.T) {
	dir := t.TempDir()
	e := filledShare(t, dir, 50)
	shared(t, e, dir, client.ShareOptions{})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			c, err := client.Open(t.Context(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range 5 {
				if i%10 == 0 {
					_, err = c.Upsert(t.Context(), documents(50)[i%50:][:1])
				} else {
					var r engine.Result
					if r, err = c.Search(t.Context(), engine.Query{Text: "keys of y7", K: 5}); err == nil && len(r.Hits) != 5 {
						err = fmt.Errorf("%d hits", len(r.Hits))
					}
				}
				if err != nil {
					t.Error(i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestLoopMayEnd: a loop over documents that ends early, or calls the database, ends well
// at the holder, too.
func TestLoopMayEnd(t *testing.T) {
	dir := t.TempDir()
	e := filledShare(t, dir, 40)
	s := shared(t, e, dir, client.ShareOptions{})
	c := asked(t, dir)
	n := 0
	for d, err := range c.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), d.ID); err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range c.All(ctx, engine.Filter{}) {
		cancel()
		last = err
	}
	if last != nil && !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
	begin := time.Now()
	if err := s.Close(); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
