package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

const (
	window = 64 << 10 // bytes that are asked for at least
	budget = 8 << 20  // bytes that ReadAt fetches in all
)

// errBudget ends a reader that reads more of a file than a directory needs.
var errBudget = fmt.Errorf("more than %d bytes of it would have to be read to know what is in it", budget)

// Remote is a file on a server that is read in parts: short ones by ReadAt, and long ones
// that Fetch downloads beforehand. It is for one goroutine.
type Remote struct {
	ctx   context.Context // of reads, which have none of their own
	c     *Client
	url   string
	size  int64
	state string // the validator
	held  []held // budget bytes at most
	spent int64
	local []local
}

// held is a part that was read before.
type held struct {
	from int64
	b    []byte
}

// local is a part stored in a local file.
type local struct {
	from, size int64
	f          *os.File
}

// Open reads the last bytes of a file, which also gives its size. Reads end with ctx.
// Errors: ErrNoRanges, *StatusError, ErrSilent, ctx's error. Close it.
func (c *Client) Open(ctx context.Context, address string) (*Remote, error) {
	r := &Remote{ctx: ctx, c: c, url: address}
	err := c.again(ctx, func() (bool, error) { return false, r.read(fmt.Sprintf("bytes=-%d", window), -1, window) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Size is the length of the file.
func (r *Remote) Size() int64 { return r.size }

// Close closes the parts that Fetch opened.
func (r *Remote) Close() error {
	var failed []error
	for _, l := range r.local {
		failed = append(failed, l.f.Close())
	}
	r.local = nil
	return errors.Join(failed...)
}

// Fetch downloads a part into the file at path. Afterwards ReadAt reads it from there.
// Its errors are those of Client.Download.
func (r *Remote) Fetch(ctx context.Context, from, size int64, path string, each func(n, total int64)) (resumed bool, err error) {
	if from < 0 || size < 1 || from > r.size-size {
		return false, fmt.Errorf("%s: it has no bytes from %d to %d", Shown(r.url), from, from+size)
	}
	resumed, err = r.c.Download(ctx, Piece{URL: r.url, From: from, Size: size, Validator: r.state}, path, each)
	if err != nil {
		return resumed, err
	}
	f, err := os.Open(path)
	if err != nil {
		return resumed, err
	}
	r.local = append(r.local, local{from, size, f})
	return resumed, nil
}

// ReadAt reads bytes of the file.
func (r *Remote) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > r.size-off
	if short {
		p = p[:r.size-off]
	}
	for _, l := range r.local {
		if off >= l.from && off+int64(len(p)) <= l.from+l.size {
			n, err := l.f.ReadAt(p, off-l.from)
			if err == nil && short {
				err = io.EOF
			}
			return n, err
		}
	}
	b, ok := r.find(off, int64(len(p)))
	if !ok {
		n := min(max(int64(len(p)), window), r.size-off)
		if r.spent += n; r.spent > budget {
			return 0, fmt.Errorf("%s: %w", Shown(r.url), errBudget)
		}
		err := r.c.again(r.ctx, func() (bool, error) {
			return false, r.read(fmt.Sprintf("bytes=%d-%d", off, off+n-1), off, n)
		})
		if err != nil {
			return 0, err
		}
		b = r.held[len(r.held)-1].b
	}
	n := copy(p, b)
	if short {
		return n, io.EOF
	}
	return n, nil
}

// find returns the n bytes at off if a downloaded part has them.
func (r *Remote) find(off, n int64) ([]byte, bool) {
	for _, h := range r.held {
		if off >= h.from && off+n <= h.from+int64(len(h.b)) {
			return h.b[off-h.from:], true
		}
	}
	return nil, false
}

// read makes one request for at most most bytes at off or, if off is -1, for the last
// ones.
func (r *Remote) read(span string, off, most int64) error {
	header := http.Header{"Accept-Encoding": {"identity"}, "Range": {span}}
	if r.state != "" {
		header.Set("If-Range", r.state)
	}
	a, err := r.c.send(r.ctx, r.url, header)
	if err != nil {
		return err
	}
	defer a.Close()
	switch a.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		if off >= 0 {
			return fmt.Errorf("%s: %w", a.shown, ErrChanged)
		}
		return fmt.Errorf("%s: %w", a.shown, ErrNoRanges)
	case http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%s: %w", a.shown, ErrNoRanges)
	default:
		return a.status()
	}
	from, total, ok := contentRange(a.Header.Get("Content-Range"))
	state := validator(a.Header)
	switch {
	case !ok || off >= 0 && from != off:
		return fmt.Errorf("%s: %w as they are asked for", a.shown, ErrNoRanges)
	case state == "":
		return fmt.Errorf("%s: %w of which it says whether they belong together", a.shown, ErrNoRanges)
	case off >= 0 && (total != r.size || state != r.state):
		return fmt.Errorf("%s: %w", a.shown, ErrChanged)
	case off < 0 && from != max(0, total-most):
		return fmt.Errorf("%s: %w as they are asked for", a.shown, ErrNoRanges)
	}
	want := min(most, total-from)
	b, err := io.ReadAll(io.LimitReader(a, want+1))
	if err != nil {
		return err
	}
	if int64(len(b)) != want {
		return fmt.Errorf("%s: the server sent %d bytes of a part of %d", a.shown, len(b), want)
	}
	r.size, r.state, r.held = total, state, append(r.held, held{from, b})
	return nil
}
