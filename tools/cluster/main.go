// Command cluster runs servers of another search engine on loopback, until it is interrupted.
//
//	cluster [--nodes N] [--dir DIR] elasticsearch|weaviate|postgres PROGRAM
//
// PROGRAM is the folder of Elasticsearch's distribution, Weaviate's server, or the folder above PostgreSQL's
// bin. .ci/elastic, .ci/weaviate and .ci/pgvector fetch them, and start this command when they get "start".
// It prints the URL of the servers; add the name of an index, a class or a schema. The files of the servers
// go to a new folder in DIR, which is removed at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lexsem/lexsem/internal/testkit/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	nodes := flags.Int("nodes", 3, "nodes that hold data; PostgreSQL has one")
	below := flags.String("dir", os.TempDir(), "folder below which the files go")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 || *nodes < 1 || *nodes > 9 {
		return fmt.Errorf("want elasticsearch, weaviate or postgres, its program, and 1 to 9 nodes; got %q, %d nodes", flags.Args(), *nodes)
	}
	dir, err := os.MkdirTemp(*below, "lexsem-cluster")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	kind, program := flags.Arg(0), flags.Arg(1)
	var c servers.Cluster
	switch kind {
	case "elasticsearch":
		c, err = servers.Elasticsearch(ctx, program, dir, *nodes)
	case "weaviate":
		c, err = servers.Weaviate(ctx, program, dir, *nodes)
	case "postgres":
		var n *servers.Node
		if n, err = servers.Postgres(ctx, program, dir); err == nil {
			c = servers.Cluster{n}
		}
	default:
		err = fmt.Errorf("%q is no engine that is known; say elasticsearch, weaviate or postgres", kind)
	}
	if err != nil {
		return err
	}
	defer c.Kill()
	to, err := where(kind, c)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, to)
	<-ctx.Done()
	return nil
}

// where is the URL of a cluster for lexsem, without the name at its end.
func where(kind string, c servers.Cluster) (string, error) {
	if kind == "elasticsearch" && len(c) > 1 {
		c = c[1:] // the first has no data
	}
	if kind == "postgres" {
		return strings.Replace(c[0].URL, "?", "/SCHEMA?", 1), nil
	}
	var hosts []string
	for _, n := range c {
		u, err := url.Parse(n.URL)
		if err != nil {
			return "", err
		}
		hosts = append(hosts, u.Host)
	}
	return kind + "://" + strings.Join(hosts, ","), nil
}
