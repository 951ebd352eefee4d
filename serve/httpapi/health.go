package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
)

type healthAnswer struct {
	Status   string `json:"status"`
	ReadOnly bool   `json:"read_only,omitempty"` // ready for all but writes
}

// healthz reports that the process is alive.
func healthz(context.Context, *call) (healthAnswer, error) { return healthAnswer{Status: "ok"}, nil }

// readyz reports whether the server is ready: the database answers, a write would succeed unless the
// server is read-only, and the server is not stopping.
func readyz(ctx context.Context, c *call) (healthAnswer, error) {
	if c.s.isDraining() {
		return healthAnswer{}, engine.ErrClosed
	}
	if _, err := c.s.db.Count(ctx, engine.Filter{}); err != nil {
		return healthAnswer{}, err
	}
	ready := healthAnswer{Status: "ready", ReadOnly: c.s.o.ReadOnly}
	if ready.ReadOnly {
		return ready, nil
	}
	err := c.s.db.Writable(ctx)
	switch {
	case err == nil:
		return ready, nil
	case errors.Is(err, engine.ErrReadOnly):
		ready.ReadOnly = true
		return ready, nil
	}
	if e := errorOf(err); e.Code != "internal" {
		return healthAnswer{}, e
	}
	return healthAnswer{}, &Error{Status: http.StatusServiceUnavailable, Code: "not_writable", Message: "the database cannot be written; see the server's log. Searches go on", cause: err}
}

// stats describes a database. For paths of folders and files it shows only the last element.
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
