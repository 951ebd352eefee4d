package backendtest_test

import (
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

func TestMemory(t *testing.T) {
	backendtest.Run(t, func(*testing.T) remote.Backend { return &backendtest.Memory{} })
}

// TestEmbedded: the embedded engine keeps what is asked of databases in front of others.
func TestEmbedded(t *testing.T) {
	backendtest.Databases(t, func(t *testing.T, enc encoder.Encoder) engine.Database {
		e, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{TokenStates: engine.TokenStatesOff, ChunkTokens: 24, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e
	})
}
