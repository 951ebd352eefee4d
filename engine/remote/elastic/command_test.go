package elastic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/servertest"
)

func TestMigrateKilled(t *testing.T) {
	where := fmt.Sprintf("elasticsearch://%s/moved-%d", strings.TrimPrefix(server(t), "http://"), indexes.Add(1))
	servertest.MigrateKilled(t, where, "?shards=2")
}
