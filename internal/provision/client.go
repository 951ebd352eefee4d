package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/secret"
)

// maxClientOutput bounds how much of a client's output is kept; its end shows why the client
// failed.
const maxClientOutput = 4 << 10

var errNoClient = errors.New("not on PATH")

// fromClient calls the first installed client that works, in an empty folder, and unpacks the one
// file that the client leaves there.
func (s *session) fromClient(ctx context.Context, t transfer, what string, commands [][]string, args []string) error {
	var failed []error
	for _, c := range commands {
		program, err := exec.LookPath(c[0])
		if err != nil {
			continue
		}
		dir, err := os.MkdirTemp(t.tmp, "client-*")
		if err != nil {
			return err
		}
		argv := append(append([]string{program}, c[1:]...), args...)
		err = s.runClient(ctx, t, dir, argv)
		if err == nil {
			return s.unpackOnly(ctx, t, dir)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = append(failed, fmt.Errorf("%s: %w", strings.Join(c, " "), err))
	}
	if failed == nil {
		return fmt.Errorf("%s is %w", what, errNoClient)
	}
	return errors.Join(failed...)
}

// runClient runs argv in dir. While it runs, the size of dir is reported, and every s.silence a
// line says that it is still running.
func (s *session) runClient(ctx context.Context, t transfer, dir string, argv []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("gave up after %v", s.limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"TMPDIR="+dir, "TMP="+dir, "TEMP="+dir, // so that progress shows in dir, and dies with it
		"PIP_REQUIRE_VIRTUALENV=0") // which is about installing
	cmd.WaitDelay = 2 * time.Second
	killWithChildren(cmd)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	name := filepath.Base(argv[0])
	s.report.logf("%s: fetching %s %s with %s", t.artifact, t.pkg.Name, t.pkg.Version, name)

	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for said := begin; ; {
		select {
		case err := <-done:
			if err == nil {
				return nil
			}
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return fmt.Errorf("%w: %s", err, out.String())
		case <-tick.C:
			n := treeSize(dir)
			s.report.event(Event{Artifact: t.artifact, Route: t.pkg.Via, Bytes: n})
			if time.Since(said) >= s.silence {
				said = time.Now()
				s.report.logf("%s: %s is still fetching %s %s after %.0f s%s; it is given %v",
					t.artifact, name, t.pkg.Name, t.pkg.Version, time.Since(begin).Seconds(), sofar(n), s.limit)
			}
		}
	}
}

// sofar says how much has arrived, if the client shows it.
func sofar(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(", %.1f MB so far", float64(bytes)/1e6)
}

// unpackOnly extracts the wanted files from the only archive in dir.
func (s *session) unpackOnly(ctx context.Context, t transfer, dir string) error {
	var found []string
	for _, pattern := range []string{"*.whl", "*.jar", "*.tgz"} {
		m, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		found = append(found, m...)
	}
	if len(found) != 1 {
		return fmt.Errorf("it left %d archives, want 1", len(found))
	}
	return extract(ctx, found[0], t)
}

// treeSize is the number of bytes in the files below dir. Files that vanish
// meanwhile do not count.
func treeSize(dir string) int64 {
	var n int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// tail keeps the last bytes that were written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b) - maxClientOutput; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

// String returns the last three non-empty lines, joined into one. It removes the password from
// addresses in the client's output.
func (t *tail) String() string {
	b := t.b
	if len(b) == maxClientOutput { // it may begin within an address
		b = b[max(0, bytes.IndexAny(b, " \n")):]
	}
	var lines []string
	for _, l := range bytes.Split(b, []byte("\n")) {
		if l := strings.TrimSpace(string(l)); l != "" {
			lines = append(lines, l)
		}
	}
	if n := len(lines) - 3; n > 0 {
		lines = lines[n:]
	}
	if len(lines) == 0 {
		return "it said nothing"
	}
	return secret.Hide(strings.ToValidUTF8(strings.Join(lines, " | "), "?"))
}
