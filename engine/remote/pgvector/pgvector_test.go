package pgvector_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

var schemas atomic.Int32

// schema names a new schema, with characters that a name must be quoted for.
func schema(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf(`Test "%d"; 'é`, schemas.Add(1))
}

// TestConformance: a real server answers as an embedded database does.
func TestConformance(t *testing.T) {
	s := shared(t)
	backendtest.Run(t, func(t *testing.T) remote.Backend { return s.fresh(t) })
}
