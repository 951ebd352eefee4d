package pgvector_test

import (
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/servertest"
)

func TestMigrateKilled(t *testing.T) {
	servertest.MigrateKilled(t, "postgres://lexsem@"+shared(t).host()+"/postgres/moved", "?sslmode=disable")
}
