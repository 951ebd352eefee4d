// Package progress carries in a context the listener for the progress of a call. It serves calls that come
// from another process: [With] names the listener, and [Of] finds it.
package progress

import "context"

// Hear is told a stage and how much of it is done, of what total, 0 while that is
// unknown. It is safe for concurrent use, and does not wait.
type Hear func(stage string, done, total int)

type key struct{}

// With returns a context whose calls report to hear alone.
func With(ctx context.Context, hear Hear) context.Context {
	return context.WithValue(ctx, key{}, hear)
}

// Of is who hears of calls with a context, nil where With named no one.
func Of(ctx context.Context) Hear {
	hear, _ := ctx.Value(key{}).(Hear)
	return hear
}
