package store

import (
	"errors"
	"io"
	"log"
	"runtime"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// Badger (v4.9.6) calls log.Fatal during opening if it cannot list its folder, or open or map its file
// DISCARD (y.Check), although fence could do so a moment before. log.Fatal writes its message before
// it ends the process. So during the opening, the output of the standard logger passes through
// unfatal, which panics if it comes from y.Check: openBadger turns the panic into an error. Whatever
// Badger has opened by then stays open: some memory, files and goroutines that write nothing.
type unfatal struct{ io.Writer }

// Write writes everything except the last message of Badger before it would end the process.
func (w unfatal) Write(b []byte) (int, error) {
	if checking() {
		panic(errors.New(strings.Join(strings.Fields(string(b)), " "))) // one line, with the cause
	}
	return w.Writer.Write(b)
}

// checking reports whether y.Check is ending the process in this goroutine, while openBadger opens
// there.
func checking() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	fatal := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "log.Fatalf":
			fatal = true
		case strings.Contains(f.Function, "/store.survive"):
			return fatal
		}
		if !more {
			return false
		}
	}
}

// surviving counts the calls of survive that are in progress.
var surviving struct {
	sync.Mutex
	n int
}

// survive calls open and turns a log.Fatal in it into a panic. Afterwards the writer of the standard logger
// is the previous one, or one that others have set meanwhile.
func survive(open func() (*badger.DB, error)) (*badger.DB, error) {
	surviving.Lock()
	if surviving.n++; surviving.n == 1 {
		log.SetOutput(unfatal{log.Writer()})
	}
	surviving.Unlock()
	defer func() {
		surviving.Lock()
		defer surviving.Unlock()
		surviving.n--
		if w, ours := log.Writer().(unfatal); ours && surviving.n == 0 {
			log.SetOutput(w.Writer)
		}
	}()
	return open()
}
