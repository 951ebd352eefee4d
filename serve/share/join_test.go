package share_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/share"
)

// opener opens a database for Join, as a program does.
func opener(dir string) func(context.Context) (share.Opened, error) {
	return func(ctx context.Context) (share.Opened, error) {
		e, err := engine.Open(ctx, dir, encoder.NewHash(dim), engine.Options{NoSync: true})
		if err != nil {
			return share.Opened{}, err
		}
		return share.Opened{Database: e, Model: "hash-48"}, nil
	}
}

func joined(t *testing.T, dir string, o share.JoinOptions) *share.Joined {
	t.Helper()
	j, err := share.Join(t.Context(), dir, opener(dir), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// TestJoin: the first opens the database, others ask it, and the next opens it when it
// has ended; nothing is lost on the way.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	var at []*share.Joined
	for i := range 4 {
		j := joined(t, dir, share.JoinOptions{Options: share.Options{Command: fmt.Sprint("number ", i)}})
		at = append(at, j)
		h, other := j.Holder()
		if other != (i > 0) || other && h.Command != "number 0" {
			t.Errorf("%d: %v, %v", i, h, other)
		}
	}
	docs := documents(40)
	var all sync.WaitGroup
	for i, j := range at {
		all.Go(func() {
			defer j.Close()
			for n := i; n < len(docs)-i; n += len(at) {
				if _, err := j.Upsert(t.Context(), docs[n:n+1]); err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				if i == 0 && n > 8 {
					return
				}
			}
		})
	}
	all.Wait()
	e := opened(t, dir, encoder.NewHash(dim), engine.Options{})
	for i := 1; i < len(at); i++ {
		for n := i; n < len(docs)-i; n += len(at) {
			if _, err := e.Get(t.Context(), docs[n].ID); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "socket")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the socket is left")
	}
}

// TestJoinLocked: a database that is open and not shared is in use, after Wait and no
// sooner; one that is let go meanwhile is opened.
func TestJoinLocked(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir, encoder.NewHash(dim), engine.Options{})
	begin := time.Now()
	_, err := share.Join(t.Context(), dir, opener(dir), share.JoinOptions{Wait: 150 * time.Millisecond})
	if !errors.Is(err, engine.ErrLocked) || time.Since(begin) < 150*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := share.Join(ctx, dir, opener(dir), share.JoinOptions{Wait: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	locked := func(context.Context) (share.Opened, error) { stop(); return share.Opened{}, engine.ErrLocked }
	if _, err := share.Join(ctx, dir, locked, share.JoinOptions{Wait: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it opens: %v", err)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		e.Close()
	}()
	j := joined(t, dir, share.JoinOptions{Wait: time.Minute})
	if _, other := j.Holder(); other {
		t.Error("somebody else has it")
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := j.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
}

// TestJoinStarting: a process that has just opened the database is waited for, as it may share it soon; one that opened it long
// ago, or an own Wait, is not.
func TestJoinStarting(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir, encoder.NewHash(dim), engine.Options{})
	shared := make(chan *share.Shared, 1)
	go func() {
		time.Sleep(1500 * time.Millisecond)
		s, err := share.Share(e, dir, share.Options{})
		if err != nil {
			t.Error(err)
		}
		shared <- s
	}()
	if _, err := share.Join(t.Context(), dir, opener(dir), share.JoinOptions{Wait: 50 * time.Millisecond}); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("with an own Wait: %v", err)
	}
	j := joined(t, dir, share.JoinOptions{})
	if _, other := j.Holder(); !other {
		t.Error("another place opened it")
	}
	if err := errors.Join(j.Close(), (<-shared).Close()); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "LOCK"), old, old); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := share.Join(t.Context(), dir, opener(dir), share.JoinOptions{}); !errors.Is(err, engine.ErrLocked) || time.Since(begin) > 8*time.Second {
		t.Errorf("opened long ago: %v after %v", err, time.Since(begin))
	}
}

// TestJoinAccept: a holder that will not do is waited for, and named.
func TestJoinAccept(t *testing.T) {
	dir := t.TempDir()
	first := joined(t, dir, share.JoinOptions{})
	unfit := errors.New("it will not do")
	o := share.JoinOptions{Wait: 100 * time.Millisecond, Accept: func(context.Context, *share.Joined) error { return unfit }}
	if _, err := share.Join(t.Context(), dir, opener(dir), o); !errors.Is(err, unfit) {
		t.Error(err)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		first.Close()
	}()
	o.Wait = time.Minute
	if _, other := joined(t, dir, o).Holder(); other {
		t.Error("it is still held")
	}
}

// TestJoinUnshared: that a database cannot be shared is told, and does not keep it from
// being used.
func TestJoinUnshared(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, encoder.NewHash(dim), engine.Options{}).Close()
	if err := os.WriteFile(filepath.Join(dir, "socket"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told error
	j := joined(t, dir, share.JoinOptions{Warn: func(err error) { told = err }})
	if _, err := j.Upsert(t.Context(), documents(2)); err != nil || told == nil {
		t.Errorf("%v; told %v", err, told)
	}
}

// TestJoinNoFolder: without a folder nothing is looked for, and nothing made, in the folder of the process.
func TestJoinNoFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	_, joined := share.Join(t.Context(), "", func(context.Context) (share.Opened, error) {
		t.Error("it opens a database")
		return share.Opened{}, engine.ErrNoDatabase
	}, share.JoinOptions{})
	_, opened := share.Open(t.Context(), "")
	if !errors.Is(joined, engine.ErrInvalid) || !errors.Is(opened, engine.ErrInvalid) {
		t.Errorf("%v, %v", joined, opened)
	}
}

// TestBegunOnce: a call that may not be made twice, and a stream of which a part has
// come, end with the holder that was lost.
func TestBegunOnce(t *testing.T) {
	dir := t.TempDir()
	holder := child(t, dir, "slow")
	j := joined(t, dir, share.JoinOptions{Wait: time.Minute})
	if _, other := j.Holder(); !other {
		t.Fatal("the child does not hold it")
	}
	done := make(chan error, 1)
	go func() {
		_, err := j.Add(t.Context(), []engine.Document{{ID: "new", Text: "slow words"}})
		done <- err
	}()
	if line := holder.line(t); line != "encoding" {
		t.Fatal(line)
	}
	holder.kill(t)
	var lost *share.LostError
	if err := <-done; !errors.As(err, &lost) || !lost.Begun || lost.Holder.PID != holder.cmd.Process.Pid {
		t.Errorf("%v", err)
	}
	if _, err := j.Add(t.Context(), []engine.Document{{ID: "new", Text: "words"}}); err != nil { // by this process now
		t.Error(err)
	}
}

// TestHolderKilled: kill -9 of the holder loses nothing that was acknowledged, and the one
// that asked it goes on with the call and the database, the socket made anew.
func TestHolderKilled(t *testing.T) {
	for round := range 3 {
		dir := t.TempDir()
		holder := child(t, dir, "")
		j := joined(t, dir, share.JoinOptions{Wait: time.Minute})
		docs := documents(30)
		for i := range docs {
			if i == 10+round {
				go holder.kill(t)
			}
			if _, err := j.Upsert(t.Context(), docs[i:i+1]); err != nil {
				t.Fatalf("round %d, document %d: %v", round, i, err)
			}
		}
		holder.kill(t)
		if n, err := j.Count(t.Context(), engine.Filter{}); n != len(docs) || err != nil {
			t.Errorf("round %d: %d, %v", round, n, err)
		}
		if _, other := j.Holder(); other {
			t.Error("a killed process holds it")
		}
		if h, _ := asked(t, dir).Holder(); h.PID != os.Getpid() {
			t.Error(h)
		}
		if r, err := j.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// proc is a process that holds a database.
type proc struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner
	once sync.Once
}

// child runs this test's binary as the holder of a database; "slow" waits when it encodes.
func child(t *testing.T, dir, how string) *proc {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEXSEM_CHILD_DIR="+dir, "LEXSEM_CHILD_HOW="+how)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // its end ends the child
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &proc{cmd: cmd, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		p.kill(t)
	})
	if line := p.line(t); line != "holds" {
		t.Fatal(line)
	}
	return p
}

func (p *proc) line(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("the child has ended: %v", p.out.Err())
	}
	return p.out.Text()
}

func (p *proc) kill(*testing.T) {
	p.once.Do(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
}

// TestMain is that process where the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LEXSEM_CHILD_DIR"); dir != "" {
		if err := hold(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func hold(ctx context.Context, dir string) error {
	e, err := engine.Open(ctx, dir, telling{encoder.NewHash(dim)}, engine.Options{})
	if err != nil {
		return err
	}
	if _, err := share.Share(e, dir, share.Options{Command: "child"}); err != nil {
		return err
	}
	fmt.Println("holds")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// telling tells of a text that is slow, and does not end with it.
type telling struct{ encoder.Encoder }

func (e telling) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	for _, i := range in {
		if strings.HasPrefix(i.Text, "slow") && os.Getenv("LEXSEM_CHILD_HOW") == "slow" {
			fmt.Println("encoding")
			select {}
		}
	}
	return e.Encoder.Encode(ctx, role, in, need)
}
