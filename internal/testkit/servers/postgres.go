package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres creates a cluster of databases of PostgreSQL below dir, with superuser lexsem, starts its server with the
// programs in the folder bin of programs, and waits until it answers. Its URL is that of the database postgres.
func Postgres(ctx context.Context, programs, dir string) (*Node, error) {
	port, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	n := &Node{Name: "postgres", Dir: filepath.Join(dir, "data"), URL: fmt.Sprintf("postgres://lexsem@127.0.0.1:%d/postgres?sslmode=disable", port)}
	command := func(name string, args ...string) (*exec.Cmd, error) {
		cmd := exec.Command(filepath.Join(programs, "bin", name), args...)
		cmd.Dir = n.Dir
		return cmd, Unprivileged(cmd, n.Dir)
	}
	n.command = func() (*exec.Cmd, error) {
		return command("postgres", "-D", n.Dir, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	}
	n.ready = func() error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, n.URL)
		if err != nil {
			return err
		}
		return c.Close(ctx)
	}
	if err := os.Mkdir(n.Dir, 0o700); err != nil {
		return nil, err
	}
	initdb, err := command("initdb", "-D", n.Dir, "-U", "lexsem", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return nil, err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	c, err := Cluster{n}.begun(ctx, n.Start())
	if err != nil {
		return nil, err
	}
	return c[0], nil
}
