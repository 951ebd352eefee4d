package weaviate_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/servers"
)

// program is a server of Weaviate, which .ci/weaviate builds.
func program(t *testing.T) string {
	t.Helper()
	p := os.Getenv("LEXSEM_WEAVIATE")
	if p == "" {
		t.Skip("LEXSEM_WEAVIATE names no Weaviate server; .ci/weaviate builds one")
	}
	return p
}

var (
	one     sync.Once
	single  servers.Cluster
	files   string // of it
	singles error
)

// server is the URL of a server with one node, the same for all tests of the package, which
// TestMain ends.
func server(t *testing.T) string {
	t.Helper()
	p := program(t)
	one.Do(func() {
		if files, singles = os.MkdirTemp("", "lexsem-weaviate"); singles == nil {
			single, singles = servers.Weaviate(context.Background(), p, files, 1)
		}
	})
	if singles != nil {
		t.Fatal(singles)
	}
	return single[0].URL
}

func TestMain(m *testing.M) {
	code := m.Run()
	single.Kill()
	os.RemoveAll(files)
	os.Exit(code)
}
