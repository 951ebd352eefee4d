package state

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/store"
)

// TestMaintainerYields: the context of the maintainer's tasks lets searches run, and ends with Close as its cause.
func TestMaintainerYields(t *testing.T) {
	var m maintainer
	m.init()
	if got, want := fmt.Sprintf("%T", m.ctx), fmt.Sprintf("%T", yield.Context(t.Context())); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m.stop()
	if m.ctx.Err() == nil || !errors.Is(context.Cause(m.ctx), store.ErrClosed) {
		t.Error(m.ctx.Err(), context.Cause(m.ctx))
	}
}
