package calls

import (
	"context"
	"time"
)

// prompt is a context that has ended once its deadline has passed. The timer that
// ends those of package context waits for a processor, as all of Go's do: beside work
// that keeps every one of them busy, that of the call itself included, for up to 20 ms.
// So for a moment a call may return context.DeadlineExceeded before the caller's
// context says it.
type prompt struct {
	context.Context
	deadline time.Time
}

// Promptly is ctx, which ends no later than its deadline.
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
