package snapshot

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Guard turns a fault under a mapping, which a file that somebody shortens or a
// disk that fails gives to who reads the memory, into an error: it ends the
// function that says
//
//	defer snapshot.Guard(&err)()
//
// with an error that wraps ErrDamaged. Every other panic goes on. It holds for
// the goroutine and what it calls, not for goroutines that it starts. Cost:
// 0.1 µs.
func Guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = Fault(p)
		}
	}
}

// Fault is the error of what was recovered from a fault under a mapping, for who would
// have no memory taken by a Guard; it panics again with everything else.
func Fault(p any) error {
	fault, ok := p.(interface {
		runtime.Error
		Addr() uintptr
	})
	path, mapped := "", false
	if ok {
		path, mapped = mappings.find(fault.Addr())
	}
	if !mapped {
		panic(p)
	}
	return fmt.Errorf("%s: the file cannot be read where it is mapped: %w", path, ErrDamaged)
}

// mappings are the files that are mapped now.
var mappings registry

type registry struct {
	mu   sync.Mutex
	list []mapping
}

type mapping struct {
	from, end uintptr
	path      string
}

func (r *registry) add(from uintptr, n int, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, mapping{from, from + uintptr(n), path})
}

func (r *registry) remove(from uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, m := range r.list {
		if m.from == from {
			r.list[i] = r.list[len(r.list)-1]
			r.list = r.list[:len(r.list)-1]
			return
		}
	}
}

func (r *registry) find(at uintptr) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.list {
		if m.from <= at && at < m.end {
			return m.path, true
		}
	}
	return "", false
}
