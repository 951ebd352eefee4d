package store

import (
	"errors"
	"runtime"
	"strings"
)

// errNoMemtable: Badger could not make a memtable, for want of space say. It has none
// from then on (v4.9.6: DB.mt is nil), and panics in every call that reads.
var errNoMemtable = errors.New("there is no memtable, as one could not be made")

// memtable, deferred around a call of Badger that reads, ends it with ErrFailed where
// there is no memtable. Every other panic goes on.
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

// inMemtables says whether the panic that is recovered is of the function by which
// Badger takes its memtables.
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
