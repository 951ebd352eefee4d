package weaviate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/servertest"
)

func TestMigrateKilled(t *testing.T) {
	where := fmt.Sprintf("weaviate://%s/Moved%d", strings.TrimPrefix(server(t), "http://"), classes.Add(1))
	servertest.MigrateKilled(t, where, "?shards=2")
}
