package weaviate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/servertest"
)

// TestMigrateKilled waits for an answer: Weaviate's BM25 passes over what lies in memory only, for a minute.
func TestMigrateKilled(t *testing.T) {
	where := fmt.Sprintf("weaviate://%s/Moved%d", strings.TrimPrefix(server(t), "http://"), classes.Add(1))
	servertest.MigrateKilled(t, where, "?shards=2", 2*time.Minute)
}
