package command

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
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
	return &unpacked{Closer: f, name: name, packed: bufio.NewReader(f)}, nil
}

// unpacked reads what gzip packed, and other bytes as they are. It reads nothing before the first Read,
// as a terminal may wait.
type unpacked struct {
	io.Closer
	name   string
	packed *bufio.Reader
	plain  io.Reader    // nil until the first Read
	gzip   *gzip.Reader // nil if gzip did not pack it
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.plain == nil {
		u.plain = u.packed
		if magic, _ := u.packed.Peek(2); string(magic) == "\x1f\x8b" {
			u.gzip = new(gzip.Reader)
			err = u.gzip.Reset(u.packed)
			u.plain = u.gzip
		}
	}
	if err == nil {
		n, err = u.plain.Read(p)
	}
	if u.gzip != nil && err != nil && err != io.EOF {
		err = fmt.Errorf("%s is damaged; pack it with gzip again: %w", u.name, err)
	}
	return n, err
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
