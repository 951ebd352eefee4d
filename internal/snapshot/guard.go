package snapshot

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Guard turns a fault in mapped memory into an error. Such a fault occurs if a file is shortened or a
// disk fails. Use it as
//
//	defer snapshot.Guard(&err)()
//
// The function then returns with an error that wraps ErrDamaged. Any other panic continues. It covers
// the goroutine and the functions it calls, not goroutines that it starts. Cost: 0.1 µs.
func Guard(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			*err = Fault(p)
		}
	}
}

// Fault returns the error for a recovered fault in mapped memory. It is for callers that cannot afford
// the allocations of Guard. It panics again for any other value.
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

// mappings are the files mapped at present.
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
