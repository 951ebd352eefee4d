package pgvector_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lexsem/lexsem/engine/pgvector"
	"github.com/lexsem/lexsem/internal/servertest"
)

// server is a PostgreSQL on loopback, of the programs in the folder that LEXSEM_POSTGRES
// names; .ci/pgvector fetches them.
type server struct {
	*servertest.Server // that runs, or was killed
	programs, dir      string
	port               int
}

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
		single, singles = startServer(p)
	})
	if singles != nil {
		t.Fatal(singles)
	}
	return single
}

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

// startServer makes a cluster of databases, and starts its server.
func startServer(programs string) (*server, error) {
	dir, err := os.MkdirTemp("", "lexsem-postgres")
	if err != nil {
		return nil, err
	}
	port, err := servertest.FreePorts(1)
	if err != nil {
		return nil, err
	}
	s := &server{programs: programs, dir: filepath.Join(dir, "data"), port: port}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	initdb := s.command("initdb", "-D", s.dir, "-U", "lexsem", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err := servertest.Unprivileged(initdb, s.dir); err != nil {
		return nil, err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("LEXSEM_POSTGRES: initdb: %w\n%s", err, out)
	}
	return s, s.start()
}

// remove ends the server and removes all that it has.
func (s *server) remove() {
	s.Kill()
	os.RemoveAll(filepath.Dir(s.dir))
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, "bin", name), args...)
	cmd.Dir = s.dir
	return cmd
}

// start starts the server and waits until it answers.
func (s *server) start() error {
	cmd := s.command("postgres", "-D", s.dir, "-p", fmt.Sprint(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	if err := servertest.Unprivileged(cmd, s.dir); err != nil {
		return err
	}
	var err error
	if s.Server, err = servertest.Start("postgres", s.dir+".log", cmd); err != nil {
		return fmt.Errorf("LEXSEM_POSTGRES: %w", err)
	}
	return s.Until(time.Minute, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, s.url())
		if err != nil {
			return err
		}
		return c.Close(ctx)
	})
}

// url is that of a database of the server.
func (s *server) url() string {
	return fmt.Sprintf("postgres://lexsem@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// exec says something to the server beside what a Backend does.
func (s *server) exec(t *testing.T, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.url())
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
	return open(t, pgvector.Options{URL: s.url(), Schema: schema(t)})
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
	c, err := pgx.Connect(context.Background(), s.url())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(context.Background(), sql, values...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}
