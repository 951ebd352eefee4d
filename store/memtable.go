package store

import (
	"errors"
	"runtime"
	"strings"
)

// errNoMemtable: Badger could not create a memtable, for example for lack of space. It
// has none from then on (v4.9.6: DB.mt is nil), and panics in every read.
var errNoMemtable = errors.New("there is no memtable, as one could not be made")

// memtable, deferred around a read from Badger, turns the panic into ErrFailed if there
// is no memtable. Every other panic continues.
func (s *Store) memtable(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if _, ok := p.(runtime.Error); !ok || !inMemtables() {
		panic(p)
	}
	s.fail(errNoMemtable)
	*err = s.failure()
}

// inMemtables reports whether the recovered panic comes from Badger's function that
// collects its memtables.
func inMemtables() bool {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "badger/v4.(*DB).getMemTables") {
			return true
		}
		if !more {
			return false
		}
	}
}
