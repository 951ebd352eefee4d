package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/engine"
)

// InFront is the query side in front of another engine.
var InFront = RegisterSystem(SystemKind{
	Name:  "over",
	Usage: "over[:MODE[/VARIANT]]",
	Doc:   "the query side in front of another engine that holds the passages, with a bridge made of them, to be held to engine; its times include encoding the query",
	Make: func(arg string) (System, error) {
		o, err := parseEngine(arg)
		if err != nil || o.tokens {
			return System{}, fmt.Errorf("%w: over:%s; use over, over:MODE or over:MODE/VARIANT", ErrOption, arg)
		}
		o.over = true
		name := "over"
		if arg != "" {
			name += ":" + arg
		}
		return System{Name: name, Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) { return o.prepare(ctx, s) }}, nil
	},
})

func (s *Setting) openOver(ctx context.Context, _ bool) (engine.Database, error) {
	if s.Over == nil {
		return nil, fmt.Errorf("%w: system over has no engine to stand in front of; name one", ErrOption)
	}
	b, err := s.Over()
	if err != nil {
		return nil, err
	}
	r, err := engine.Over(ctx, b, lent{s.Encoder}, engine.OverOptions{Create: true})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	s.atClose(func() error {
		var dropped error
		if d, ok := b.(interface{ Drop(context.Context) error }); ok {
			dropped = d.Drop(context.WithoutCancel(ctx))
		}
		return errors.Join(dropped, r.Close())
	})
	return r, nil
}

// bridged is a Remote with a bridge of its passages.
func (s *Setting) bridged(ctx context.Context, r *engine.Remote) (engine.Database, error) {
	dir, err := os.MkdirTemp("", "lexsem-bench-")
	if err != nil {
		return nil, err
	}
	s.atClose(func() error { return os.RemoveAll(dir) })
	file := filepath.Join(dir, "bridge")
	if _, err := r.MakeBridge(ctx, file, 2, nil); err != nil {
		return nil, err
	}
	b, err := s.Over()
	if err != nil {
		return nil, err
	}
	q, err := engine.Over(ctx, b, lent{s.Encoder}, engine.OverOptions{Bridge: file})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	s.atClose(q.Close)
	return q, nil
}
