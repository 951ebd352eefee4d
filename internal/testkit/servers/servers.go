// Package servers runs servers of other search engines on loopback, for tests and tools/cluster. Start with
// [Elasticsearch], [Weaviate] or [Postgres]. A server can be killed and started again with its files.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Server is a server that runs, or was killed.
type Server struct {
	name, log string
	cmd       *exec.Cmd
	ended     chan error
}

// Start starts a server, whose output is appended to the file log.
func Start(name, log string, cmd *exec.Cmd) (*Server, error) {
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	group(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{name: name, log: log, cmd: cmd, ended: make(chan error, 1)}
	go func() { s.ended <- cmd.Wait() }()
	return s, nil
}

// Pid returns the number of its process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Kill ends the server at once, and on Unix also the processes that it has started.
func (s *Server) Kill() {
	kill(s.cmd)
	<-s.ended
	s.ended <- nil
}

// Until waits until ready returns nil. Its error contains that of ready and the end of the log.
func (s *Server) Until(ctx context.Context, patience time.Duration, ready func() error) error {
	for end := time.Now().Add(patience); ; {
		answer := ready()
		if answer == nil {
			return nil
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("%s ended: %v\n%s", s.name, err, s.tail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not answer: %w\n%s", s.name, errors.Join(answer, context.DeadlineExceeded), s.tail())
		}
	}
}

func (s *Server) tail() string {
	log, _ := os.ReadFile(s.log)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
