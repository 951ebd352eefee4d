package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestFreePorts: nobody listens at any of them, and they are none that the system gives to others.
func TestFreePorts(t *testing.T) {
	for range 20 {
		first, err := FreePorts(8)
		if err != nil {
			t.Fatal(err)
		}
		for p := first; p < first+8; p++ {
			l, err := net.Listen("tcp", fmt.Sprint(":", p))
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
			if p >= 32_768 {
				t.Fatalf("port %d may be given to a connection", p)
			}
		}
	}
	if n, err := FreePorts(0); err != nil || n == 0 {
		t.Fatal(n, err)
	}
}

// TestOneEnds: that a node of a cluster has ended is told at once with what it said, whatever the others do.
func TestOneEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	node := func(name, says string) *Node {
		return &Node{
			Name: name, Dir: filepath.Join(dir, name),
			command: func() (*exec.Cmd, error) { return exec.Command("sh", "-c", says), nil },
			ready:   func() error { return errors.New("503") },
		}
	}
	c := Cluster{node("waits", "sleep 60"), node("ends", "echo no port; exit 1")}
	for _, n := range c {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if _, err := c.begun(ctx, nil); err == nil || !strings.Contains(err.Error(), "ends ended") || !strings.Contains(err.Error(), "no port") {
		t.Fatal(err)
	}
	select {
	case <-c[0].ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the other was not ended")
	}
}
