package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// Piece is a run of bytes of a file on a server.
type Piece struct {
	URL string
	// From is where the piece begins, and Size its length; Size 0 means up to the end of
	// the file, and then From is 0.
	From, Size int64
	// Most is the number of bytes that a piece of unknown size may have.
	Most int64
	// Validator is the server's version of the file, for a piece whose other parts are
	// known; see Remote.
	Validator string
}

// state is stored next to a file that is being fetched, under its name and stateSuffix.
// It says which file the part belongs to.
type state struct {
	Source    string `json:"source"` // digest of the address, which may hold secrets
	From      int64  `json:"from"`
	Size      int64  `json:"size"`      // 0 where nobody knows
	Validator string `json:"validator"` // an ETag or a date; "" cannot be resumed
}

const (
	stateSuffix = ".json"
	maxState    = 1 << 16
)

// Download fetches a piece into the file at path. It completes the remains of an earlier
// call, if the server says that the file has not changed. It reports whether it used
// bytes of an earlier call. each, unless nil, gets the number of bytes so far and the
// total, which is 0 if unknown. After an error the bytes so far stay, to be resumed;
// Remove deletes them. Only the length is checked.
//
// Errors: *StatusError, ErrTooLong, ErrSilent, ErrChanged and ErrNoRanges (for pieces
// with a validator), ctx's error. One call at a time for a path.
func (c *Client) Download(ctx context.Context, p Piece, path string, each func(n, total int64)) (resumed bool, err error) {
	d := &download{c: c, p: p, path: path, each: each}
	if d.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return false, err
	}
	if err = d.load(); err == nil {
		resumed = d.have > 0
		if p.Size == 0 || d.have < p.Size {
			err = c.again(ctx, func() (bool, error) {
				before := d.have
				err := d.try(ctx)
				return d.have > before, err
			})
		}
		resumed = resumed && !d.anew
	}
	return resumed, errors.Join(err, d.f.Close())
}

// Remove deletes the files that Download left at path.
func Remove(path string) error {
	var failed []error
	for _, name := range []string{path, path + stateSuffix} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// download is one call of Download.
type download struct {
	c     *Client
	p     Piece
	path  string
	each  func(n, total int64)
	f     *os.File
	state state
	have  int64 // bytes in f that are of the file
	anew  bool  // what was there at first was dropped
}

// load finds out how much of the file was fetched already.
func (d *download) load() error {
	sum := sha256.Sum256([]byte(d.p.URL))
	source := hex.EncodeToString(sum[:])
	b, err := regular.ReadFile(d.path+stateSuffix, maxState)
	var s state
	if err == nil && json.Unmarshal(b, &s) == nil && s.Source == source && s.From == d.p.From && s.Validator != "" &&
		s.Size >= 0 && (d.p.Size == 0 || s.Size == d.p.Size) && (d.p.Validator == "" || s.Validator == d.p.Validator) {
		info, err := d.f.Stat()
		if err != nil {
			return err
		}
		if n := info.Size(); s.Size == 0 || n <= s.Size {
			d.state, d.have = s, n
			return nil
		}
	}
	d.state = state{Source: source, From: d.p.From, Size: d.p.Size, Validator: d.p.Validator}
	return d.restart()
}

// restart drops what is there.
func (d *download) restart() error {
	d.anew = d.anew || d.have > 0
	d.have = 0
	return d.f.Truncate(0)
}

// keep writes the state.
func (d *download) keep() error {
	b, err := json.Marshal(d.state)
	if err != nil {
		return err
	}
	return os.WriteFile(d.path+stateSuffix, b, 0o644)
}

// try makes one request for the missing bytes.
func (d *download) try(ctx context.Context) error {
	part := d.p.Size > 0 // of a file that is known
	if !part && d.state.Size > 0 && d.have == d.state.Size {
		return nil
	}
	header := http.Header{"Accept-Encoding": {"identity"}}
	if part || d.have > 0 {
		end := ""
		if part {
			end = strconv.FormatInt(d.p.From+d.p.Size-1, 10)
		}
		header.Set("Range", fmt.Sprintf("bytes=%d-%s", d.p.From+d.have, end))
		if d.state.Validator != "" {
			header.Set("If-Range", d.state.Validator)
		}
	}
	a, err := d.c.send(ctx, d.p.URL, header)
	if err != nil {
		return err
	}
	defer a.Close()
	switch a.StatusCode {
	case http.StatusPartialContent:
		from, total, ok := contentRange(a.Header.Get("Content-Range"))
		if !ok || from != d.p.From+d.have || !part && d.have == 0 || !part && d.state.Size > 0 && total != d.state.Size {
			if err := d.restart(); err != nil {
				return err
			}
			return failure{fmt.Errorf("%s: the server sent another part than it was asked for", a.shown), part}
		}
		if now := validator(a.Header); now != "" && d.state.Validator != "" && now != d.state.Validator {
			return d.changed(a.shown)
		}
	case http.StatusOK:
		if part {
			if d.p.Validator != "" && validator(a.Header) != d.p.Validator {
				return d.changed(a.shown)
			}
			return fmt.Errorf("%s: %w", a.shown, ErrNoRanges)
		}
		if err := d.restart(); err != nil {
			return err
		}
		d.state.Validator, d.state.Size = validator(a.Header), max(a.ContentLength, 0)
	case http.StatusRequestedRangeNotSatisfiable:
		if part {
			return d.changed(a.shown)
		}
		if d.have == 0 {
			return a.status()
		}
		if err := d.restart(); err != nil {
			return err
		}
		return failure{a.status(), false}
	default:
		return a.status()
	}
	if err := d.keep(); err != nil {
		return err
	}
	return d.receive(a)
}

func (d *download) changed(shown string) error {
	return errors.Join(d.restart(), fmt.Errorf("%s: %w", shown, ErrChanged))
}

// receive appends the body.
func (d *download) receive(a *answer) error {
	most := d.p.Most
	if d.p.Size > 0 {
		most = d.p.Size
	}
	buffer := make([]byte, 128<<10)
	for {
		n, err := a.Read(buffer)
		if d.have+int64(n) > most {
			return errors.Join(d.restart(), fmt.Errorf("%s: it is %w than %d bytes", a.shown, ErrTooLong, most))
		}
		if _, e := d.f.WriteAt(buffer[:n], d.have); e != nil {
			return e
		}
		d.have += int64(n)
		if d.each != nil && n > 0 {
			d.each(d.have, d.state.Size)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if d.state.Size > 0 && d.have < d.state.Size {
		return failure{fmt.Errorf("%s: %w after %d of %d bytes", a.shown, io.ErrUnexpectedEOF, d.have, d.state.Size), false}
	}
	return nil
}

// validator identifies a version of a file: a strong ETag, else the date of its last
// change (RFC 9110, section 13.1.5).
func validator(h http.Header) string {
	if e := h.Get("ETag"); strings.HasPrefix(e, `"`) && len(e) < 1<<10 {
		return e
	}
	if t := h.Get("Last-Modified"); t != "" && len(t) < 64 {
		return t
	}
	return ""
}

// contentRange reads "bytes 10-19/100" (RFC 9110, section 14.4).
func contentRange(h string) (from, total int64, ok bool) {
	rest, ok := strings.CutPrefix(h, "bytes ")
	span, length, ok2 := strings.Cut(rest, "/")
	first, last, ok3 := strings.Cut(span, "-")
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	total, err3 := strconv.ParseInt(length, 10, 64)
	ok = ok && ok2 && ok3 && err1 == nil && err2 == nil && err3 == nil && from >= 0 && from <= to && to < total
	return from, total, ok
}
