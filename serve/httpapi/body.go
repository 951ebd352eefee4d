package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A client has firstPatience for the first bytes of a body, and one more second for each
// bytesPerSecond that it has sent; at most mostPatience at a time. Time in which the server
// works and does not read is not counted.
const (
	firstPatience  = 20 * time.Second
	mostPatience   = 30 * time.Second
	bytesPerSecond = 16 << 10
	maxDepth       = 100 // nesting of a JSON body
)

// patient reads a body from a client that may be slow, and gives up if it is too slow: a
// client that sends a byte a second could otherwise hold the connection for days.
type patient struct {
	rc   *http.ResponseController
	r    io.Reader
	left time.Duration
	dull bool // the connection takes no deadlines
}

func newPatient(w http.ResponseWriter, r io.Reader) *patient {
	return &patient{rc: http.NewResponseController(w), r: r, left: firstPatience}
}

func (p *patient) Read(b []byte) (int, error) {
	begin := time.Now()
	if !p.dull {
		p.dull = p.rc.SetReadDeadline(begin.Add(p.left)) != nil
	}
	n, err := p.r.Read(b)
	p.left -= time.Since(begin)
	p.left = min(p.left+time.Duration(n)*time.Second/bytesPerSecond, mostPatience)
	if err == nil && p.left <= 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		err = refuse(http.StatusRequestTimeout, "slow_body", "the body came too slowly: less than %d bytes per second", bytesPerSecond)
	}
	return n, err
}

// done keeps the connection open: from then on, reads only detect whether the client is still
// there.
func (p *patient) done() {
	if !p.dull {
		_ = p.rc.SetReadDeadline(time.Time{}) // the connection may be gone, which the next use of it tells
	}
}

// source returns the decompressed body of a request, limited to most bytes before and after
// decompression. The returned function must be called after the last read.
func (s *Server) source(w http.ResponseWriter, r *http.Request, most int64) (io.Reader, func(), error) {
	p := newPatient(w, http.MaxBytesReader(w, r.Body, most))
	var body io.Reader = p
	switch e := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); e {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(p)
		if err != nil {
			return nil, nil, bodyError(fmt.Errorf("Content-Encoding is gzip, and the body is not gzip: %w", err), most)
		}
		body = z
	default:
		return nil, nil, refuse(http.StatusUnsupportedMediaType, "unsupported_encoding", "Content-Encoding %.40q: send gzip or no encoding", e)
	}
	return &limited{r: body, left: most, most: most}, p.done, nil
}

// limited is an io.LimitReader that reports whether there is more.
type limited struct {
	r          io.Reader
	left, most int64
}

func (l *limited) Read(b []byte) (int, error) {
	if int64(len(b)) > l.left+1 {
		b = b[:l.left+1]
	}
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return n, tooLarge(l.most)
	}
	return n, err
}

func tooLarge(most int64) *Error {
	return refuse(http.StatusRequestEntityTooLarge, "too_large", "the body is longer than %d bytes (after decompression); send less at a time, or documents as NDJSON", most)
}

// bodyError converts an error of reading a body.
func bodyError(err error, most int64) error {
	var e *Error
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &long):
		return tooLarge(most)
	}
	return refuse(http.StatusBadRequest, "bad_body", "the body could not be read: %v", err)
}

// payload is the checked body of a request, and the memory that it and its values use.
type payload struct {
	raw     []byte
	release func() // gives back the memory of raw
	cost    int64  // bytes that its values take
	held    holding
}

// ownShare: a body whose values need less than 1/ownShare of the memory for values is decoded
// without reserving memory. That is little for all requests that have a turn, and these then
// do not wait for large ones.
const ownShare = 256

// receive reads the body of a request and waits for the memory that decoding needs: the cost
// of its values, and the given number of copies of the body. It takes no turn, so a client
// that sends slowly does not delay others.
func (s *Server) receive(x *exchange, r *http.Request, costOf func([]byte) (int64, error), copies int64) (*payload, error) {
	p := &payload{held: holding{of: s.values}}
	var err error
	if p.raw, p.release, err = s.readAll(x.ResponseWriter, r); err == nil {
		err = s.values.work(r.Context(), len(p.raw), func() (err error) {
			p.cost, err = costOf(p.raw)
			return err
		})
	}
	if n := p.cost + copies*int64(len(p.raw)); err == nil && n > s.values.most/ownShare {
		err = p.held.take(r.Context(), n)
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// decode decodes the values, and frees memory that they do not need. If ctx ends first, it leaves a large body to a
// goroutine, which gives back the memory of the body and of the values when it has ended.
func (p *payload) decode(ctx context.Context, to any) (err error) {
	if len(p.raw) < largeBody {
		err = decode(p.raw, to)
	} else {
		done := make(chan error, 1)
		raw, of := p.raw, p.held.of
		go func() { done <- of.work(ctx, len(raw), func() error { return decode(raw, to) }) }()
		select {
		case err = <-done:
		case <-ctx.Done():
			left := *p
			*p = payload{release: func() {}, held: holding{of: left.held.of}}
			go func() { <-done; left.end() }()
			return ctx.Err()
		}
	}
	p.raw = nil
	p.release()
	p.held.keep(p.cost)
	return err
}

func (p *payload) end() {
	p.release()
	p.held.keep(0)
}

// readAll reads the body of a request into memory from the server's budget for bodies.
// release returns it; further calls do nothing.
func (s *Server) readAll(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	var held int64
	release = func() { s.buffers.shrink(held); held = 0 }
	src, done, err := s.source(w, r, s.o.MaxBody)
	if err != nil {
		return nil, release, err
	}
	defer done()
	const first = 2 << 10
	for {
		if len(body) == cap(body) {
			n := int64(max(first, cap(body)))
			if err := s.buffers.grow(held, n); err != nil {
				return nil, release, err
			}
			held += n
			body = append(make([]byte, 0, int64(cap(body))+n), body...)
		}
		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return bytes.TrimPrefix(body, []byte("\ufeff")), release, nil
		}
		if err != nil {
			return nil, release, bodyError(err, s.o.MaxBody)
		}
	}
}

// Kinds of bodies.
const (
	kindJSON   = "application/json"
	kindNDJSON = "application/x-ndjson"
)

// kindOfBody is the kind of a request's body.
func kindOfBody(r *http.Request) (string, error) {
	given := r.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(given)
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", refuse(http.StatusUnsupportedMediaType, "unsupported_type", "charset %.40q: send UTF-8", charset)
	}
	switch {
	case err == nil && (kind == kindJSON || strings.HasSuffix(kind, "+json")):
		return kindJSON, nil
	case err == nil && (kind == kindNDJSON || kind == "application/ndjson" || kind == "application/jsonl" || kind == "application/json-lines" || kind == "application/jsonlines"):
		return kindNDJSON, nil
	case given == "":
		return "", refuse(http.StatusUnsupportedMediaType, "unsupported_type", "no Content-Type: send %s", kindJSON)
	}
	return "", refuse(http.StatusUnsupportedMediaType, "unsupported_type", "Content-Type %.80q: send %s", given, kindJSON)
}

// decode decodes one JSON value, which a form has checked.
func decode(raw []byte, to any) error {
	bad := func(format string, args ...any) error {
		return refuse(http.StatusBadRequest, "invalid_json", format, args...)
	}
	var own *Error
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err := dec.Decode(to)
	for n := 0; n < mostFloats && errors.As(err, &kind) && len(raw) < largeBody; n++ {
		mended, ok := whole(raw, kind)
		if !ok {
			break
		}
		raw, kind = mended, nil
		dec = json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		err = dec.Decode(to)
	}
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax) && noNumber(raw[min(max(0, int(syntax.Offset)-1), len(raw)):]):
		return bad("not JSON: NaN or Infinity at byte %d; send null", syntax.Offset)
	case errors.As(err, &syntax):
		return bad("not JSON: %v, at byte %d", syntax, syntax.Offset)
	case errors.As(err, &kind):
		e := &Error{Status: http.StatusBadRequest, Code: "invalid", Param: promoted.Replace(kind.Field),
			Message: fmt.Sprintf("%.100s instead of %s (byte %d)", kind.Value, typeName(kind), kind.Offset)}
		if kind.Field == "filter" || strings.HasSuffix(kind.Field, ".filter") {
			e.Message += `; a filter is a text such as lang = "go"`
		}
		return e
	case err == io.ErrUnexpectedEOF:
		return bad("not JSON: it ends in the middle")
	case err != nil:
		return bad("%v", err)
	}
	if rest := bytes.TrimSpace(raw[dec.InputOffset():]); len(rest) > 0 {
		return bad("more text after the JSON value: %.20q; send one value", rest)
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return bad("null; send a JSON object")
	}
	return nil
}

// noNumber reports whether b begins with what other programs, such as Python's json.dumps, write for numbers that JSON does
// not have.
func noNumber(b []byte) bool {
	return bytes.HasPrefix(b, []byte("NaN")) || bytes.HasPrefix(b, []byte("Infinity"))
}

// promoted takes the names of types that are embedded in bodies out of the path of a field.
var promoted = strings.NewReplacer("searchRequest.", "", "content.", "")

// mostFloats bounds the integers of a body that are written as floats.
const mostFloats = 16

// whole is a body in which the integer that could not be decoded, such as 5.0, which is an integer by JSON Schema, is written without a
// fraction or an exponent. Clients whose numbers are all floats write it so.
func whole(raw []byte, e *json.UnmarshalTypeError) ([]byte, bool) {
	written, isNumber := strings.CutPrefix(e.Value, "number ")
	f, err := strconv.ParseFloat(written, 64)
	if !isNumber || err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 || e.Type.Kind() < reflect.Int || e.Type.Kind() > reflect.Uint64 {
		return nil, false
	}
	from := int(e.Offset) - len(written)
	if from < 0 || int(e.Offset) > len(raw) || string(raw[from:e.Offset]) != written {
		return nil, false
	}
	integer := strconv.FormatInt(int64(f), 10)
	if integer == written { // too large, or too small, for the type
		return nil, false
	}
	return slices.Concat(raw[:from], []byte(integer), raw[e.Offset:]), true
}

// typeName names the type that is expected instead of a value of another type.
func typeName(e *json.UnmarshalTypeError) string {
	switch k := e.Type.Kind().String(); k {
	case "struct", "map":
		return "an object"
	case "slice":
		return "an array"
	case "bool":
		return "true or false"
	case "int", "int64", "uint64":
		return "an integer"
	case "float32", "float64":
		return "a number"
	default:
		return "a " + k
	}
}
