package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// InFront modulates queries in front of another engine, which holds the passages.
var _ = RegisterSystem(SystemKind{
	Name:  "over",
	Usage: "over[:MODE[/VARIANT]]",
	Doc:   "the query side in front of another engine that holds the passages, with a bridge made of them, to be held to engine",
	Make: func(arg string) (System, error) {
		o, err := parseEngine(arg)
		if err != nil || o.tokens || o.rerank || o.chunk != 0 {
			return System{}, fmt.Errorf("%w: over:%s; use over, over:MODE or over:MODE/VARIANT", ErrOption, arg)
		}
		o.over = true
		name := "over"
		if arg != "" {
			name += ":" + arg
		}
		return o.system(name), nil
	},
})

// openOver moves the engine's database into the other engine, so both hold the same
// vectors. It returns the query side of that engine, with a bridge of its passages.
func (s *Setting) openOver(ctx context.Context, enc encoder.Encoder) (engine.Database, error) {
	if s.Over == nil {
		return nil, fmt.Errorf("%w: system over has no engine to stand in front of; name one", ErrOption)
	}
	d, _, err := s.database(ctx, engineSystem{})
	if err != nil {
		return nil, err
	}
	e, ok := d.engine.(*engine.Engine)
	if !ok {
		return nil, fmt.Errorf("the engine's database is a %T", d.engine)
	}
	b, err := s.Over()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lexsem-bench-")
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	var r *remote.Database
	s.atClose(func() error {
		var err error
		if d, ok := b.(interface{ Drop(context.Context) error }); ok {
			err = d.Drop(context.WithoutCancel(ctx))
		}
		if r != nil {
			err = errors.Join(err, r.Close())
		}
		return errors.Join(err, b.Close(), os.RemoveAll(dir))
	})
	report := func(p engine.Progress) {
		s.Report(Progress{Stage: p.Stage, Done: p.Done, Total: s.Targets.Len()})
	}
	if _, err := remote.MigrateTo(ctx, e, b, remote.MigrateOptions{Mark: filepath.Join(dir, "mark"), Progress: report}); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "bridge")
	if r, err = remote.Over(ctx, b, enc, remote.Options{}); err != nil {
		return nil, err
	}
	if _, err := r.MakeBridge(ctx, file, remote.BridgeOptions{Parts: 2, Progress: report}); err != nil {
		return nil, err
	}
	r, err = remote.Over(ctx, b, enc, remote.Options{Bridge: file})
	return r, err
}
