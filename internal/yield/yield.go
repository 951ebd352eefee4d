// Package yield lets searches run while long work uses the processors. Start with [Context]: work that
// regularly asks for its Err lets others run at those moments. [Turns] does the same without a context. [Leave]
// waits for work only as long as a context lasts. [WithTurn] carries a turn that work gives back before its end.
package yield

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// slice is the minimum time that work runs before it lets others run.
const slice = 100 * time.Microsecond

// Turns regularly lets goroutines run that wait for a processor. Otherwise each goroutine of a search that wakes up
// would wait ten milliseconds, until the runtime takes a processor from the long work. Work that waited for 5 ms then
// runs for 5 ms before it lets others run again. So it gets half a processor, however many goroutines wait. The zero
// value is ready. Safe for concurrent use.
type Turns struct{ due atomic.Int64 } // when others may run next, by clock

// Let lets others run if it is time; long work calls it regularly.
func (t *Turns) Let() { t.let(clock, runtime.Gosched) }

func (t *Turns) let(clock func() time.Duration, let func()) {
	if now := clock(); now >= time.Duration(t.due.Load()) {
		let()
		back := clock()
		t.due.Store(int64(back + max(back-now, slice)))
	}
}

// Leave returns what work returns, or the error of ctx as soon as ctx ends: work that looks at no context then goes
// on by itself and its result is dropped. It must not use what its caller changes or gives back.
func Leave[T any](ctx context.Context, work func() (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		result T
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		result, err := work()
		done <- answer{result, err}
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

var begin = time.Now()

func clock() time.Duration { return time.Since(begin) }

// Context returns ctx for long work: each call of its Err, which such work makes regularly, also lets others
// run. Contexts derived from the result do not.
func Context(ctx context.Context) context.Context { return &yielding{Context: ctx} }

type yielding struct {
	context.Context
	turns Turns
}

func (y *yielding) Err() error {
	y.turns.Let()
	return y.Context.Err()
}

// WithTurn returns a context for work that holds a turn, and the function that ends the turn. Only the first call of it
// or of EndTurn calls give.
func WithTurn(ctx context.Context, give func()) (_ context.Context, end func()) {
	end = sync.OnceFunc(give)
	return context.WithValue(ctx, turn{}, end), end
}

type turn struct{}

// EndTurn ends the turn of ctx, if it has one: what is left of the work takes no more part in what the turns bound.
func EndTurn(ctx context.Context) {
	if end, ok := ctx.Value(turn{}).(func()); ok {
		end()
	}
}
