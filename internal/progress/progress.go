// Package progress puts the listener for the progress of a call into its context. It serves calls from
// another process: [With] sets the listener, and [Of] returns it.
package progress

import "context"

// Hear receives a stage and how much of it is done, out of total; total is 0 while it is unknown. It
// must be safe for concurrent use, and must not wait.
type Hear func(stage string, done, total int)

type key struct{}

// With returns a context whose calls report only to hear.
func With(ctx context.Context, hear Hear) context.Context {
	return context.WithValue(ctx, key{}, hear)
}

// Of is the listener of calls with a context, or nil if With set none.
func Of(ctx context.Context) Hear {
	hear, _ := ctx.Value(key{}).(Hear)
	return hear
}
