package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/lexsem/lexsem/engine"
)

// A bulk is stored in batches of this many documents, or this many bytes of lines: each is a
// separate commit.
const (
	bulkDocuments = 512
	bulkBytes     = 4 << 20
	bulkValues    = 16 << 20 // bytes that the documents take when they are decoded
	failuresTold  = 100
)

// badLine is a line that a bulk load skipped.
type badLine struct {
	Line    int    `json:"line"` // from 1
	ID      string `json:"id"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// bulk stores the documents of a body of lines, one JSON object each, as they arrive. It stops
// at the first line that cannot be stored; all lines before it are then stored. With
// ?on_error=skip it continues, and the answer names the lines.
func bulk(ctx context.Context, c *call) (any, error) {
	mode := c.query.Get("on_error")
	b := &bulkLoad{c: c, skip: mode == "skip", values: holding{of: c.s.values}}
	if mode != "" && mode != "skip" && mode != "stop" {
		return nil, invalid("on_error", "on_error is %.40q; use stop or skip", mode)
	}
	defer b.end()
	src, done, err := c.s.source(c.x.ResponseWriter, c.r, c.s.o.MaxBulk)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := b.load(ctx, src); err != nil {
		e := *errorOf(err)
		e.Stored = &b.stored
		return nil, &e
	}
	return b.stored, nil
}

type bulkLoad struct {
	c      *call
	skip   bool
	stored Stored
	docs   []engine.Document
	lines  []int   // of docs
	bytes  int64   // of the lines of docs
	cost   int64   // bytes that docs take
	held   int64   // memory taken from the server's buffers
	values holding // memory for docs
}

func (b *bulkLoad) end() {
	b.c.s.buffers.shrink(b.held)
	b.values.keep(0)
}

func (b *bulkLoad) load(ctx context.Context, src io.Reader) error {
	in := bufio.NewReaderSize(src, 64<<10)
	var line []byte
	for n := 1; ; n++ {
		var err error
		if line, err = b.line(in, line[:0]); err != nil && err != io.EOF {
			return b.last(ctx, bodyError(err, b.c.s.o.MaxBulk))
		}
		last := err == io.EOF
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := b.document(ctx, n, line); err != nil {
				return err
			}
		}
		if last || len(b.docs) == bulkDocuments || b.bytes >= bulkBytes || b.cost >= bulkValues {
			if err := b.flush(ctx); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		if b.c.s.isDraining() {
			return b.last(ctx, atLine(n+1, "", refuse(http.StatusServiceUnavailable, "closing", "the server is closing; send the lines again from line %d on", n+1)))
		}
	}
}

// line reads a line into memory reserved for bodies.
func (b *bulkLoad) line(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if int64(len(line)+len(part)) > b.c.s.o.MaxBody {
			return line, refuse(http.StatusRequestEntityTooLarge, "too_large", "a line is longer than %d bytes; split the document", b.c.s.o.MaxBody)
		}
		for b.held < int64(len(line)+len(part)) {
			n := min(max(firstBody, b.held), 1<<20)
			if err := b.c.s.buffers.grow(b.held, n); err != nil {
				return line, err
			}
			b.held += n
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// document adds the document of a line to the batch; it waits for memory. Its error ends the
// bulk.
func (b *bulkLoad) document(ctx context.Context, n int, line []byte) error {
	cost, err := b.c.s.line.check(line, true)
	need := cost + costCopies*int64(len(line))
	if err == nil {
		err = b.values.fits(need)
	}
	if err == nil {
		if err := b.room(ctx, n, need); err != nil {
			return err
		}
		err = b.take(n, line, cost)
		b.values.keep(b.cost)
	}
	if err == nil {
		return nil
	}
	if err := b.refused(n, "", err); err != nil {
		return b.last(ctx, err)
	}
	return nil
}

// room reserves memory for a line. If there is none, the batch is stored first: bulks that kept
// their batches while waiting would wait for each other.
func (b *bulkLoad) room(ctx context.Context, n int, need int64) error {
	if b.values.try(need) {
		return nil
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	if err := b.values.take(ctx, need); err != nil {
		return atLine(n, "", err)
	}
	return nil
}

// take adds the document of a line to the batch.
func (b *bulkLoad) take(n int, line []byte, cost int64) error {
	var d documentRequest
	if err := decode(line, &d); err != nil {
		return err
	}
	b.docs, b.lines, b.bytes, b.cost = append(b.docs, d.document()), append(b.lines, n), b.bytes+int64(len(line)), b.cost+cost
	return nil
}

// flush stores the batch. A refused document is left out. Then the rest is stored or, if the
// bulk stops at it, only the documents before it.
func (b *bulkLoad) flush(ctx context.Context) error {
	for len(b.docs) > 0 {
		res, err := b.store(ctx)
		var refused *engine.DocumentError
		if errors.As(err, &refused) && errors.Is(err, engine.ErrInvalid) {
			at := refused.Position
			if err := b.refused(b.lines[at], refused.ID, refused.Err); err != nil {
				b.docs, b.lines = b.docs[:at], b.lines[:at]
				return b.last(ctx, err)
			}
			b.docs, b.lines = slices.Delete(b.docs, at, at+1), slices.Delete(b.lines, at, at+1)
			continue
		}
		if err != nil {
			return atLine(b.lines[0], "", err)
		}
		b.stored.add(res)
		break
	}
	clear(b.docs)
	b.docs, b.lines, b.bytes, b.cost = b.docs[:0], b.lines[:0], 0, 0
	b.values.keep(0)
	return nil
}

// store commits the batch when it is its turn.
func (b *bulkLoad) store(ctx context.Context) (engine.AddResult, error) {
	ctx, cancel := context.WithTimeout(ctx, b.c.s.o.LoadTimeout)
	defer cancel()
	give, err := b.c.s.slots.take(ctx, true)
	if err != nil {
		return engine.AddResult{}, err
	}
	defer give()
	return b.c.db.Upsert(ctx, b.docs)
}

// last stores the rest before the end of a bulk, and returns why it ends.
func (b *bulkLoad) last(ctx context.Context, why error) error {
	if err := b.flush(ctx); err != nil {
		return err
	}
	return why
}

// refused records a line that cannot be stored, or returns the error that ends the bulk.
func (b *bulkLoad) refused(n int, id string, err error) error {
	e := atLine(n, id, err)
	if !b.skip || e.Status >= 500 {
		return e
	}
	if b.stored.Skipped++; len(b.stored.Failed) < failuresTold {
		b.stored.Failed = append(b.stored.Failed, badLine{Line: n, ID: e.ID, Code: e.Code, Message: e.Message})
	}
	return nil
}

// atLine adds a line number to an error.
func atLine(n int, id string, err error) *Error {
	e := *errorOf(err)
	e.At, e.Message = &n, fmt.Sprintf("line %d: %s", n, e.Message)
	if id != "" {
		e.ID = id
	}
	return &e
}
