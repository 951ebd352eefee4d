package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// child is the program in a process of its own. It is killed after a minute, and when the
// test ends.
type child struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said *said // on standard error
}

// start runs the program with pipes for what it reads and writes.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	c := &child{Cmd: exec.CommandContext(ctx, "lexsem", args...), said: &said{}}
	c.Stderr = c.said
	in, errIn := c.StdinPipe()
	out, errOut := c.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if c.ProcessState == nil {
			_ = c.Wait() // killed
		}
	})
	return c
}

// interrupt sends a signal, and waits for the end that the program has of it.
func (c *child) interrupt(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	err := c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("ended with %v, want exit code %d; stderr: %s", err, exitInterrupted, c.said)
	}
}

// stores waits until the database in dir, which it fills, holds n documents.
func (c *child) stores(t *testing.T, dir string, n int) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if code, out, _ := lexsem(t, "count", "--db", dir); code == 0 && strings.TrimSpace(out) == fmt.Sprint(n) {
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("the child does not store %d documents: %s", n, c.said)
		}
	}
}

// said is text that is read while it is written.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// lexsem runs the program to its end.
func lexsem(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "lexsem", args...)
	var out, notes strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &notes
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), notes.String()
}
