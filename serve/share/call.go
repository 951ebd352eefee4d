package share

import (
	"context"
	"errors"
	"reflect"

	"github.com/lexsem/lexsem/engine"
)

// call is one call of engine.Database. A is the type of the method's arguments and R that of its results. WA
// and WR are their forms for the transfer between two processes.
type call[A, WA, R, WR any] struct {
	name    string
	how     manner
	args    form[A, WA]
	result  form[R, WR]
	do      func(db engine.Database, ctx context.Context, a A) (R, error)
	streams streams[A]
}

// manner describes how a call may be repeated or ended.
type manner uint8

const (
	writes  manner = 1 << iota // if the context ends, the caller waits for the outcome
	repeats                    // may be done twice: it is repeated if the server process ends during the call
)

// streams connect a call with the parts that are transferred while it runs. A call without such parts has
// none.
type streams[A any] struct {
	caller func(a A, how *asked)                             // sets the receivers of the parts
	server func(ctx context.Context, a *A, s *session) error // puts the session in the place of the caller's
}

// calls are all calls, by name.
var calls = map[string]served{}

// newCall enters a call into calls.
func newCall[A, WA, R, WR any](name string, how manner, args form[A, WA], result form[R, WR],
	do func(engine.Database, context.Context, A) (R, error), s ...streams[A]) *call[A, WA, R, WR] {
	c := &call[A, WA, R, WR]{name: name, how: how, args: args, result: result, do: do}
	if len(s) > 0 {
		c.streams = s[0]
	}
	calls[name] = c
	return c
}

// from makes a call of j, in this process or in the server process. If the server process has ended, it connects to
// the next one. It repeats the call if the old process did not begin it, or if the call may be done twice.
func (c *call[A, WA, R, WR]) from(ctx context.Context, j *Joined, a A) (R, error) {
	for {
		p, err := j.now()
		if err != nil {
			var zero R
			return zero, err
		}
		r, err := c.at(ctx, p, a)
		var lost *LostError
		if !errors.As(err, &lost) || lost.Begun && c.how&repeats == 0 || lost.streamed || ctx.Err() != nil || j.open == nil {
			return r, err
		}
		if next := j.follow(ctx, p); next != nil {
			return r, errors.Join(err, next)
		}
	}
}

// at makes a call at one place.
func (c *call[A, WA, R, WR]) at(ctx context.Context, p *place, a A) (r R, err error) {
	if p.client == nil {
		return c.do(p.db, ctx, a)
	}
	args, err := c.args.to(a)
	if err != nil {
		return r, err
	}
	how := asked{writes: c.how&writes != 0}
	if c.streams.caller != nil {
		c.streams.caller(a, &how)
	}
	w, err := ask[WR](ctx, p.client, c.name, args, how)
	r, unread := c.result.from(w)
	if err == nil {
		err = unread
	}
	return r, err
}

// served is a call for the server process.
type served interface {
	// types are the forms between two processes.
	types() []reflect.Type
	// answer makes the call from its encoded arguments.
	answer(ctx context.Context, db engine.Database, args []byte, s *session) (any, error)
}

func (c *call[A, WA, R, WR]) types() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[WA](), reflect.TypeFor[WR]()}
}

func (c *call[A, WA, R, WR]) answer(ctx context.Context, db engine.Database, raw []byte, s *session) (any, error) {
	args, err := decode[WA](raw)
	if err != nil {
		return nil, err
	}
	a, err := c.args.from(args)
	if err == nil && c.streams.server != nil {
		err = c.streams.server(ctx, &a, s)
	}
	if err != nil {
		return nil, err
	}
	r, err := c.do(db, ctx, a)
	w, unsent := c.result.to(r)
	if err == nil {
		err = unsent
	}
	return w, err
}

// form converts values of type T to and from a W for the transfer between processes.
type form[T, W any] struct {
	to   func(T) (W, error)
	from func(W) (T, error)
}

// plain is the form for values that are transferred unchanged.
func plain[T any]() form[T, T] {
	same := func(v T) (T, error) { return v, nil }
	return form[T, T]{same, same}
}

// nothing is the form for a call without arguments or results.
type nothing struct{}

// absent is the form for values that are not transferred, such as a listener.
func absent[T any]() form[T, nothing] {
	return form[T, nothing]{
		func(T) (nothing, error) { return nothing{}, nil },
		func(nothing) (v T, err error) { return v, nil },
	}
}

// many is the form for a list; nil stays nil. failed wraps the error of an element; it may be nil.
func many[T, W any](one form[T, W], failed func(i int, v T, err error) error) form[[]T, []W] {
	return form[[]T, []W]{
		func(vs []T) ([]W, error) { return each(vs, one.to, failed) },
		func(ws []W) ([]T, error) { return each(ws, one.from, nil) },
	}
}

func each[F, T any](from []F, one func(F) (T, error), failed func(int, F, error) error) ([]T, error) {
	if from == nil {
		return nil, nil
	}
	to := make([]T, len(from))
	for i, v := range from {
		var err error
		if to[i], err = one(v); err != nil && failed != nil {
			err = failed(i, v, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return to, nil
}

// filtered is the form for a filter. An invalid filter is refused before it is sent.
var filtered = form[engine.Filter, engine.Filter]{
	func(f engine.Filter) (engine.Filter, error) { return f, f.Err() },
	func(f engine.Filter) (engine.Filter, error) { return f, nil },
}

// alone turns a method without arguments into the form for a call.
func alone[R any](do func(engine.Database, context.Context) (R, error)) func(engine.Database, context.Context, nothing) (R, error) {
	return func(db engine.Database, ctx context.Context, _ nothing) (R, error) { return do(db, ctx) }
}

// silent turns a method without arguments and result into the form for a call.
func silent(do func(engine.Database, context.Context) error) func(engine.Database, context.Context, nothing) (nothing, error) {
	return func(db engine.Database, ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, do(db, ctx)
	}
}
