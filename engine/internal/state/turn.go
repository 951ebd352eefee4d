package state

import "context"

// turn is a mutex as a channel of capacity one, so that waiting can end with a context.
type turn chan struct{}

func (t turn) lock(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) unlock() { <-t }
