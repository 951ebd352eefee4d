package httpapi

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
)

type healthAnswer struct {
	Status string `json:"status"`
}

// healthz says that the process lives.
func healthz(context.Context, *call) (healthAnswer, error) { return healthAnswer{"ok"}, nil }

// readyz says that requests may be sent: the database answers, and the server is not
// about to end.
func readyz(ctx context.Context, c *call) (healthAnswer, error) {
	if c.s.isDraining() {
		return healthAnswer{}, engine.ErrClosed
	}
	if _, err := c.s.db.Count(ctx, engine.Filter{}); err != nil {
		return healthAnswer{}, err
	}
	return healthAnswer{"ready"}, nil
}

// stats describes a database. Of its folder, and of those of files, it says the name alone.
func stats(ctx context.Context, c *call) (answer.Stats, error) {
	st, err := c.db.Stats(ctx)
	if err != nil {
		return answer.Stats{}, err
	}
	out := answer.NewStats(st)
	out.DB = filepath.Base(out.DB)
	for i := range out.Problems.First {
		out.Problems.First[i].Source = filepath.Base(out.Problems.First[i].Source)
	}
	return out, nil
}

func openapi(_ context.Context, c *call) (json.RawMessage, error) { return c.s.openapi, nil }
