package provision

import (
	"fmt"
	"sync"
	"time"
)

// progressEvery is the least time between two progress events of a transfer.
const progressEvery = 100 * time.Millisecond

// reporter passes lines and events on, one at a time.
type reporter struct {
	mu       sync.Mutex
	log      func(string)
	progress func(Event)
	last     time.Time
}

func (r *reporter) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log != nil {
		r.log(fmt.Sprintf(format, args...))
	}
}

func (r *reporter) event(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.progress == nil || !e.Done && now.Sub(r.last) < progressEvery {
		return
	}
	r.last = now
	r.progress(e)
}
