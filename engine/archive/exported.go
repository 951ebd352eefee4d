package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/exportline"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Exported reads an export. It is not safe for concurrent use.
type Exported struct {
	// Encoder is the exported database's encoder. Its Model is "" for a database without an encoder, or if the first
	// line does not name one. Language is that of the texts.
	Encoder  encoder.Fingerprint
	Language string
	// Metric is the exported database's metric, if Vectors is true; "" means cosine.
	Metric string
	// Vectors says that the documents come with their vectors.
	Vectors bool

	// Bases are the bases of the token states in the following lines.
	Bases [][]byte

	lines     lineReader
	first     *exportline.Line // the first line, until it is asked for
	raw       []byte           // the last line that was read
	heads     int              // lines so far that said where documents come from
	documents int              // how many they said there are
}

// NewExported returns a reader of an export, and reads its first line. Errors: a *LineError if the first line is not
// that of an export; errors of r.
func NewExported(r io.Reader) (*Exported, error) {
	x := &Exported{lines: lineReader{r: bufio.NewReaderSize(r, 64<<10)}}
	d, err := x.Next()
	if errors.Is(err, io.EOF) {
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	x.first = &d
	return x, nil
}

// Heads returns how many lines so far described the origin of documents, and how many documents they
// announced.
func (x *Exported) Heads() (n, documents int) { return x.heads, x.documents }

// At returns the number of the last line that was read.
func (x *Exported) At() int { return x.lines.line }

// Next reads a line. If the line describes the origin of documents, the fields of x change. After the last line the
// error is io.EOF.
func (x *Exported) Next() (exportline.Line, error) {
	if d := x.first; d != nil {
		x.first = nil
		return *d, nil
	}
	line, err := x.lines.next()
	if err != nil {
		return exportline.Line{}, err
	}
	x.raw = line
	d, err := exportline.Parse(line)
	if err != nil {
		return d, &LineError{x.lines.line, err}
	}
	if d.Lexsem != nil && d.Lexsem.Export != nil {
		h := d.Lexsem.Export
		x.heads++
		x.documents += max(0, h.Documents)
		x.Encoder, x.Language, x.Metric, x.Vectors = h.Encoder, h.Language, h.Metric, h.Vectors
		x.Bases = h.Bases
	}
	return d, nil
}

// Create makes an empty database for an export with vectors, which Engine.Import can then fill without an encoder. The folder
// must be empty or not exist.
//
// Errors of package engine: ErrNoEncoder for an export without vectors; ErrInvalid for impossible vectors, tokens or
// metric; ErrOccupied; ErrForeign.
func (x *Exported) Create(ctx context.Context, dir string) error {
	if !x.Vectors {
		return fmt.Errorf("an export without vectors: %w", fault.ErrNoEncoder)
	}
	if err := intake.CheckShape(x.Encoder, x.Encoder.Dim); err != nil {
		return fmt.Errorf("%w: an export of %w", fault.ErrInvalid, err)
	}
	if _, err := text.For(x.Language); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	by, err := metric.Of(x.Metric)
	if err != nil {
		return fmt.Errorf("an export: %w", err)
	}
	dir, err = fault.Folder(dir)
	if err != nil {
		return err
	}
	if exists, err := store.Folder(dir).Exists(); err != nil {
		return err
	} else if exists {
		return fmt.Errorf("%s: %w", dir, store.ErrOccupied)
	}
	st, err := store.Open(dir, store.Options{MemoryMiB: 64})
	if err != nil {
		return err
	}
	err = st.SetManifest(ctx, func(m *store.Manifest) error { return intake.DescribeNew(m, x.Encoder, by, x.Language, "") })
	return errors.Join(err, st.Close())
}

// ErrNoExport means that NewExported or Next read a line that no export has. It wraps engine.ErrInvalid.
var ErrNoExport = exportline.ErrNoExport

// LineError says which line of an import was refused, and why.
type LineError struct {
	Line int   // from 1
	Err  error // the cause
}

// Error names the line and the cause.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// lineReader reads the lines of an export that are not blank. It takes the memory of the longest line.
type lineReader struct {
	r    *bufio.Reader
	line int // number of the last one
}

func (l *lineReader) next() ([]byte, error) {
	for {
		var line []byte
		l.line++
		for {
			part, err := l.r.ReadSlice('\n')
			if len(line)+len(part) > exportline.MaxBytes {
				return nil, &LineError{l.line, fmt.Errorf("%w: longer than %d MiB, which no document is", fault.ErrInvalid, exportline.MaxBytes>>20)}
			}
			line = append(line, part...)
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (err != io.EOF || len(line) == 0) {
				return nil, err
			}
			break
		}
		if l.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// Unread returns the rest of the export as bytes for NewExported in another process. Lines already read become empty
// lines, so that errors keep the original line numbers. Do not use x afterwards.
//
// Errors: those of the original reader, and a *LineError for a line that is too long. Memory: the longest line.
func (x *Exported) Unread() io.Reader { return &unread{x: x, line: 1} }

type unread struct {
	x    *Exported
	line int // number of the next one to be given
	rest []byte
}

func (u *unread) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(u.rest) == 0 {
		line := u.x.raw
		if u.x.first == nil {
			var err error
			if line, err = u.x.lines.next(); err != nil {
				return 0, err
			}
		}
		u.x.first = nil
		for ; u.line < u.x.lines.line; u.line++ {
			u.rest = append(u.rest, '\n')
		}
		u.rest = append(append(u.rest, line...), '\n')
		u.line++
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
