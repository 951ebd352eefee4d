package servers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Node is a server of a cluster.
type Node struct {
	*Server        // that runs, or was killed
	Name    string // in the cluster
	URL     string // by which clients reach it
	Dir     string // of its files

	command func() (*exec.Cmd, error)
	ready   func() error
}

// Start starts the node, also after it was killed.
func (n *Node) Start() error {
	cmd, err := n.command()
	if err != nil {
		return err
	}
	s, err := Start(n.Name, filepath.Join(filepath.Dir(n.Dir), n.Name+".log"), cmd)
	if err == nil {
		n.Server = s
	}
	return err
}

// Ready waits until the node answers, as Until does.
func (n *Node) Ready(ctx context.Context, patience time.Duration) error {
	return n.Until(ctx, patience, n.ready)
}

// Cluster is nodes that know each other.
type Cluster []*Node

// Kill ends all nodes at once.
func (c Cluster) Kill() {
	for _, n := range c {
		if n.Server != nil {
			n.Kill()
		}
	}
}

// begun waits until all nodes answer; it returns an error at once if one has ended. If a cluster does not start, its
// nodes are ended.
func (c Cluster) begun(ctx context.Context, err error) (Cluster, error) {
	if err == nil {
		g, ctx := errgroup.WithContext(ctx)
		for _, n := range c {
			g.Go(func() error { return n.Ready(ctx, 10*time.Minute) })
		}
		err = g.Wait()
	}
	if err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
}

// answers returns nil once url answers with 200.
func answers(url string) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}
