package pgvector_test

import (
	"fmt"
	"testing"

	"github.com/lexsem/lexsem/internal/servertest"
)

func TestMigrateKilled(t *testing.T) {
	servertest.MigrateKilled(t, fmt.Sprintf("postgres://lexsem@127.0.0.1:%d/postgres/moved", shared(t).port), "?sslmode=disable")
}
