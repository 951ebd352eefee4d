package command

import (
	"context"
	"io"
	"os"

	"github.com/lexsem/lexsem/internal/unpacked"
)

// input opens the file that a command reads, unpacked if gzip packed it; "-" is standard input.
func (a *app) input(name string) (io.ReadCloser, error) {
	f := io.NopCloser(a.Stdin)
	if name == "-" {
		name = "standard input"
	} else {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, err
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked.Reader(f, name), f}, nil
}

// cancelReader reads from r until ctx is done, even while r blocks, as a
// terminal or an idle pipe does. It is for one goroutine.
type cancelReader struct {
	ctx    context.Context
	r      io.Reader
	chunks chan chunk // nil until the first Read
	rest   []byte
	err    error
}

type chunk struct {
	data []byte
	err  error
}

// Read returns ctx's error as soon as ctx is done.
func (c *cancelReader) Read(p []byte) (int, error) {
	if c.chunks == nil {
		c.chunks = make(chan chunk)
		go c.pump()
	}
	for len(c.rest) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		select {
		case <-c.ctx.Done():
			return 0, c.ctx.Err()
		case k := <-c.chunks:
			c.rest, c.err = k.data, k.err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// pump reads ahead by one chunk. It ends with the input, or with the first
// read that returns after ctx is done.
func (c *cancelReader) pump() {
	for {
		buf := make([]byte, 64<<10)
		n, err := c.r.Read(buf)
		select {
		case c.chunks <- chunk{buf[:n], err}:
		case <-c.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
