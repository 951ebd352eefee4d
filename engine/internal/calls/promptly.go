package calls

import (
	"context"
	"time"
)

// prompt is a context that ends exactly at its deadline. The timer of package context
// waits for a free processor, like all of Go's timers. If other work, or the call itself,
// keeps every processor busy, it is up to 20 ms late. So a call may return
// context.DeadlineExceeded a moment before the caller's context says so.
type prompt struct {
	context.Context
	deadline time.Time
}

// Promptly returns ctx with the promptness of prompt.
func Promptly(ctx context.Context) context.Context {
	if deadline, ok := ctx.Deadline(); ok {
		return prompt{ctx, deadline}
	}
	return ctx
}

func (c prompt) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if time.Until(c.deadline) <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}
