package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// A signal in the middle of index leaves a database that opens and holds
// exactly the documents that the command said are stored.
func TestInterruptIndex(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a child on Windows")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		for _, feeding := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v feeding %v", sig, feeding), func(t *testing.T) {
				t.Parallel()
				interruptIndex(t, sig, feeding)
			})
		}
	}
}

func interruptIndex(t *testing.T, sig os.Signal, feeding bool) {
	dir := filepath.Join(t.TempDir(), "db")
	c := start(t, "index", "--db", dir, "--model", "hash", "--batch", "50", "-")
	stop, fed, enough := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(fed)
		w := bufio.NewWriter(c.in)
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i == 5000 {
				w.Flush()
				close(enough)
				if !feeding { // the pipe stays open and idle
					<-stop
					return
				}
			}
			if _, err := fmt.Fprintf(w, "{\"_id\": \"%d\", \"text\": \"document number%d\"}\n", i, i); err != nil {
				return
			}
		}
	}()
	// 5,000 lines are more than all buffers between here and the engine hold,
	// so some batches are stored by now.
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Fatal("the child does not read")
	}
	c.interrupt(t, sig)
	close(stop)
	<-fed
	m := regexp.MustCompile(`interrupted; ([0-9,]+) documents? (?:is|are) stored`).FindStringSubmatch(c.said.String())
	if m == nil {
		t.Fatalf("stderr %q does not say what is stored", c.said)
	}
	stored, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	checkStored(t, dir, stored)
}

func checkStored(t *testing.T, dir string, stored int) {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, encoder.NewHash(384), engine.Options{MustExist: true})
	if err != nil {
		t.Fatalf("the database does not open: %v", err)
	}
	defer e.Close()
	stats, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stats.Documents != stored || stored%50 != 0 || stored == 0 {
		t.Fatalf("%d documents are stored, the command said %d; want the same whole number of batches, not 0", stats.Documents, stored)
	}
	for i := 1; i <= stored; i++ {
		d, err := e.Get(t.Context(), strconv.Itoa(i))
		if err != nil || d.Text != fmt.Sprintf("document number%d", i) {
			t.Fatalf("document %d: %+v, %v", i, d, err)
		}
	}
	res, err := e.Search(t.Context(), engine.Query{Text: fmt.Sprintf("document number%d", stored), K: 1})
	if err != nil || len(res.Hits) != 1 || res.Hits[0].ID != strconv.Itoa(stored) {
		t.Errorf("the last document is not found: %+v, %v", res.Hits, err)
	}
}

// A signal in the middle of restore leaves no database and nothing else, and the same
// command then makes it.
func TestInterruptRestore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a child on Windows")
	}
	from := filepath.Join(t.TempDir(), "from")
	e, err := engine.Open(t.Context(), from, encoder.NewHash(384), engine.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	docs := make([]engine.Document, 400)
	for i := range docs {
		docs[i] = engine.Document{ID: strconv.Itoa(i + 1), Text: fmt.Sprintf("document number%d", i+1)}
	}
	if _, err := e.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.backup")
	_, err = e.Backup(t.Context(), file)
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		for _, there := range []bool{true, false} { // the folder, empty
			t.Run(fmt.Sprintf("%v, folder %v", sig, there), func(t *testing.T) { interruptRestore(t, sig, there, file, backup) })
		}
	}
}

func interruptRestore(t *testing.T, sig os.Signal, there bool, file string, backup []byte) {
	dir := filepath.Join(t.TempDir(), "db")
	if there {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := start(t, "restore", "--db", dir, "-")
	// Once half of it, more than a pipe holds, is read, restore waits for the rest.
	if _, err := c.in.Write(backup[:len(backup)/2]); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "restore.*")); err != nil || len(left) == 0 {
		t.Fatalf("nothing is under way: %v, %v", left, err)
	}
	c.interrupt(t, sig)
	entries, err := os.ReadDir(dir)
	if there && err != nil || !there && !errors.Is(err, os.ErrNotExist) || len(entries) > 0 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
	if code, out, notes := lexsem(t, "restore", "--db", dir, file); code != exitOK {
		t.Fatalf("the same again: exit %d: %s%s", code, out, notes)
	}
	checkStored(t, dir, 400)
}

func TestCancelReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	c := &cancelReader{ctx: ctx, r: r}
	go w.Write([]byte("hello"))
	buf := make([]byte, 3)
	if n, err := io.ReadFull(c, buf); n != 3 || err != nil || string(buf) != "hel" {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
	if n, err := c.Read(buf); n != 2 || err != nil || string(buf[:n]) != "lo" {
		t.Fatalf("read %q, %v", buf[:n], err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := c.Read(buf); !errors.Is(err, context.Canceled) {
		t.Errorf("a blocked read gave %v after cancelling", err)
	}
	data, err := io.ReadAll(&cancelReader{ctx: t.Context(), r: strings.NewReader(strings.Repeat("x", 200_000))})
	if len(data) != 200_000 || err != nil {
		t.Errorf("read %d bytes, %v", len(data), err)
	}
}
