package elastic_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
	"github.com/lexsem/lexsem/engine/remote/elastic"
)

var indexes atomic.Int32

// fresh is a Backend over an index that is not there yet.
func fresh(t *testing.T, shards int, nodes ...string) *elastic.Backend {
	t.Helper()
	b, err := elastic.Open(elastic.Options{Nodes: nodes, Index: fmt.Sprintf("test-%d", indexes.Add(1)), Shards: shards})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConformance: a real server answers as an embedded database does.
func TestConformance(t *testing.T) {
	url := server(t)
	backendtest.Run(t, func(t *testing.T) remote.Backend { return fresh(t, 2, url) })
}
