// Package yield lets searches run while long work uses the processors. Start with [Context]: work that asks
// its Err now and then lets others run at that moment. [Turns] does the same without a context.
package yield

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// slice is how long work goes on at least before it lets others run.
const slice = 100 * time.Microsecond

// Turns lets goroutines run that wait for a processor, now and then. Without that a search that wakes up waits until
// the runtime takes a processor from the work beside it, which is after ten milliseconds, for each of its goroutines.
// Work that had to wait goes on for as long before it lets others run again, so it gets half a
// processor however many wait. The zero value is ready. Safe for concurrent use.
type Turns struct{ due atomic.Int64 } // when others may run next, by clock

// Let is called all along by work that takes long, and lets others run if it is time.
func (t *Turns) Let() { t.let(clock, runtime.Gosched) }

func (t *Turns) let(clock func() time.Duration, let func()) {
	if now := clock(); now >= time.Duration(t.due.Load()) {
		let()
		back := clock()
		t.due.Store(int64(back + max(back-now, slice)))
	}
}

var begin = time.Now()

func clock() time.Duration { return time.Since(begin) }

// Context is ctx for work that takes long: whoever asks for its Err, as such work does all along, lets others
// run as well. Contexts made of the result do not.
func Context(ctx context.Context) context.Context { return &yielding{Context: ctx} }

type yielding struct {
	context.Context
	turns Turns
}

func (y *yielding) Err() error {
	y.turns.Let()
	return y.Context.Err()
}
