package pgvector_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lexsem/lexsem/engine/remote/pgvector"
	"github.com/lexsem/lexsem/internal/testkit/servers"
)

// server is a PostgreSQL on loopback.
type server struct{ *servers.Node }

var (
	one     sync.Once
	single  *server
	singles error
)

// shared is a server that all tests of the package share; TestMain ends it. The test is skipped
// where there are no programs.
func shared(t *testing.T) *server {
	t.Helper()
	p := programs(t)
	one.Do(func() {
		single, singles = started(p)
	})
	if singles != nil {
		t.Fatal(singles)
	}
	return single
}

// programs is a folder of PostgreSQL with pgvector, which .ci/pgvector fetches.
func programs(t *testing.T) string {
	t.Helper()
	p := os.Getenv("LEXSEM_POSTGRES")
	if p == "" {
		t.Skip("LEXSEM_POSTGRES names no folder with bin/postgres and pgvector; .ci/pgvector fetches one")
	}
	return p
}

func TestMain(m *testing.M) {
	code := m.Run()
	if single != nil {
		single.remove()
	}
	os.Exit(code)
}

func started(programs string) (*server, error) {
	dir, err := os.MkdirTemp("", "lexsem-postgres")
	if err != nil {
		return nil, err
	}
	n, err := servers.Postgres(context.Background(), programs, dir)
	return &server{n}, err
}

// remove ends the server and removes all that it has.
func (s *server) remove() {
	s.Kill()
	os.RemoveAll(filepath.Dir(s.Dir))
}

// host is where the server listens.
func (s *server) host() string {
	u, _ := url.Parse(s.URL) // it is ours
	return u.Host
}

// exec says something to the server beside what a Backend does.
func (s *server) exec(t *testing.T, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// fresh is a Backend over a schema that is not there yet.
func (s *server) fresh(t *testing.T) *pgvector.Backend {
	t.Helper()
	return open(t, pgvector.Options{URL: s.URL, Schema: schema(t)})
}

func open(t *testing.T, o pgvector.Options) *pgvector.Backend {
	t.Helper()
	b, err := pgvector.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// ask is the one text that the server answers.
func (s *server) ask(t *testing.T, sql string, values ...any) (text string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(context.Background(), sql, values...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}
