package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// maxAnswer bounds the bytes of an answer.
const maxAnswer = 1 << 30

// program is the running program. Only the owner of turn may use the other fields.
type program struct {
	o    Options
	turn chan struct{} // holds one while a call is made

	running *running
	closed  bool
}

// running is one start of the program.
type running struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	last *tail
}

// errDied: the program ended or closed its pipes.
var errDied = errors.New("the program ended")

// ask makes one call. A program that ended is started again once.
func (p *program) ask(ctx context.Context, r request) (*answer, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	for again := false; ; again = true {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.closed {
			return nil, encoder.ErrClosed
		}
		if p.running == nil {
			if p.running, err = start(p.o); err != nil {
				return nil, err
			}
		}
		raw, err := p.exchange(ctx, line)
		if errors.Is(err, errDied) && !again {
			continue
		}
		if err != nil {
			return nil, err
		}
		a := &answer{}
		if err := json.Unmarshal(raw, a); err != nil {
			p.stop()
			return nil, fmt.Errorf("%w: %s answers %q, which is no JSON of an answer (%v); print other output to the standard error", encoder.ErrContract, p.o.Command[0], short(raw), err)
		}
		if a.Error != "" {
			return nil, fmt.Errorf("%s: %s", p.o.Command[0], a.Error)
		}
		return a, nil
	}
}

func start(o Options) (*running, error) {
	r := &running{cmd: exec.Command(o.Command[0], o.Command[1:]...), last: &tail{also: o.Stderr}}
	r.cmd.Stderr = r.last
	r.cmd.WaitDelay = 2 * time.Second // for what the program itself has started
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.in, r.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: starting the program of exec: %w", encoder.ErrUnavailable, err)
	}
	return r, nil
}

// exchange writes a line and reads the answer. When it fails, the program is ended.
func (p *program) exchange(ctx context.Context, line []byte) ([]byte, error) {
	r := p.running
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		if _, err := r.in.Write(line); err != nil {
			done <- result{nil, fmt.Errorf("%w: %w", errDied, err)}
			return
		}
		raw, err := readLine(r.out)
		done <- result{raw, err}
	}()
	late := time.NewTimer(p.o.Timeout)
	defer late.Stop()
	select {
	case got := <-done:
		if got.err != nil {
			ended := p.stop()
			if errors.Is(got.err, errDied) {
				return nil, fmt.Errorf("%w: %s: %w (%v); its last words: %s", encoder.ErrUnavailable, p.o.Command[0], errDied, ended, r.last.text())
			}
			return nil, got.err
		}
		return got.raw, nil
	case <-ctx.Done():
		p.stop()
		<-done
		return nil, ctx.Err()
	case <-late.C:
		p.stop()
		<-done
		return nil, fmt.Errorf("%w: %s gave no answer in %s; its last words: %s", encoder.ErrUnavailable, p.o.Command[0], p.o.Timeout, r.last.text())
	}
}

// readLine reads a line of at most maxAnswer bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxAnswer:
			return nil, fmt.Errorf("%w: an answer of more than %d bytes; encode fewer texts at once", encoder.ErrContract, maxAnswer)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w: %w", errDied, err)
		}
	}
}

// stop ends the program, and returns how it ended.
func (p *program) stop() error {
	r := p.running
	p.running = nil
	err := errors.Join(r.in.Close(), r.cmd.Process.Kill())
	return errors.Join(r.cmd.Wait(), err)
}

// close ends the input of the program so that it ends, and kills it after two seconds.
func (p *program) close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.closed {
		return encoder.ErrClosed
	}
	p.closed = true
	if p.running == nil {
		return nil
	}
	r := p.running
	p.running = nil
	err := r.in.Close()
	late := time.AfterFunc(2*time.Second, func() { _ = r.cmd.Process.Kill() }) // it may have ended by itself
	defer late.Stop()
	var exit *exec.ExitError
	if e := r.cmd.Wait(); e != nil && !errors.As(e, &exit) { // how a program ends that is needed no more does not matter
		err = errors.Join(err, e)
	}
	return err
}

// err returns the reason why no call can be made.
func (p *program) err(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.closed {
		return encoder.ErrClosed
	}
	return ctx.Err()
}

// tail passes on what is written, and keeps the end of it.
type tail struct {
	also io.Writer
	mu   sync.Mutex
	end  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	t.end = t.end[max(0, len(t.end)-1000):]
	if t.also != nil {
		return t.also.Write(b)
	}
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := strings.TrimSpace(string(t.end)); s != "" {
		return s
	}
	return "none"
}

func short(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	return raw[:min(len(raw), 100)]
}
