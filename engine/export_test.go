package engine

import (
	"context"
	"time"

	"github.com/lexsem/lexsem/engine/internal/intake"
)

// LeastMiB is the least Options.MemoryMiB.
const LeastMiB = leastStoreMiB

// WithFailpoint lets f hear of named moments of calls with the context.
func WithFailpoint(ctx context.Context, f func(name string)) context.Context {
	return context.WithValue(ctx, failpoint{}, f)
}

// SetNewTokenStates says what new databases are made with.
func SetNewTokenStates(mode string) { intake.NewTokenStates = mode }

// SetReclaimAfter sets the rest after which databases that are opened from then on reclaim space.
func SetReclaimAfter(d time.Duration) { reclaimAfter = d }
