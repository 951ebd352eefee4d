package share

import (
	"context"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// Shared and Share are the server's side of Join.
type Shared = shared

var Share = share

// Hasten gives peers d for their greeting and for each frame, until reset.
func Hasten(d time.Duration) (reset func()) {
	greet, frame := greetWithin, frameWithin
	greetWithin, frameWithin = d, d
	return func() { greetWithin, frameWithin = greet, frame }
}

// Answered counts, by name, how often a server process of this program answers each call, until reset.
func Answered() (counts map[string]int, reset func()) {
	counts = map[string]int{}
	var mu sync.Mutex
	for name, c := range calls {
		counts[name] = 0
		calls[name] = counted{c, func() {
			mu.Lock()
			defer mu.Unlock()
			counts[name]++
		}}
	}
	return counts, func() {
		for name, c := range calls {
			calls[name] = c.(counted).served
		}
	}
}

type counted struct {
	served
	count func()
}

func (c counted) answer(ctx context.Context, db engine.Database, args []byte, s *session) (any, error) {
	c.count()
	return c.served.answer(ctx, db, args, s)
}
