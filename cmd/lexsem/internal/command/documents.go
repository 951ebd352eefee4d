package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	_ "github.com/lexsem/lexsem/ingest/files/parquet" // a kind of files
	_ "github.com/lexsem/lexsem/ingest/files/pdf"     // a kind of files
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/regular"
)

// maxText is the maximum length of a line of queries, or of a text for embed.
const maxText = files.DefaultMaxBytes

// item is one document and its source.
type item struct {
	doc  engine.Document
	file string // or "stdin"
	line int    // of it, from 1, of one of several records; else 0
}

// badInput reports that one document cannot be read. The caller may continue after it.
type badInput struct {
	file string
	line int // from 1; 0 for the whole file
	err  error
}

func (e *badInput) Error() string {
	if e.line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err)
	}
	return e.file + ": " + e.err.Error()
}
func (e *badInput) Unwrap() error { return e.err }

// sources reads the documents of files that were named, and of standard input.
type sources struct {
	stdin    io.Reader
	how      files.Options         // what of records is read
	each     func(item) error      // takes one document
	bad      func(*badInput)       // hears of a record that cannot be read
	failed   func(*badInput) error // decides about a whole file that cannot be read: nil goes on
	warned   func(*badInput)       // hears of what could not be read of a file whose text could
	begun    func(file string)     // hears of each file, and "stdin", before it is read
	repeated bool                  // files keep all records with the same id
	read     func(bytes int)       // hears of progress; may be nil
}

// stream reads JSONL from standard input.
func (s *sources) stream(ctx context.Context) error {
	s.begun("stdin")
	for rec, err := range files.ReadStream(ctx, &heard{s.stdin, s.read}, "", s.options("stdin", "jsonl", "")) {
		err := s.record(rec, err, "stdin", func(r files.Record) engine.Document { return location.Apart(r.Document) })
		if errors.Is(err, files.ErrNoText) { // nothing came
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// options returns the options for one file.
func (s *sources) options(name, kind, id string) files.Options {
	o := s.how
	o.Kind, o.ID = kind, id
	o.Warn = func(w files.Warning) { s.warned(&badInput{name, w.Line, errors.New(w.Text)}) }
	return o
}

// heard is a reader that reports how much was read.
type heard struct {
	r    io.Reader
	read func(int)
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if h.read != nil {
		h.read(n)
	}
	return n, err
}

// file reads one named file. If the file is one document, its name is the id.
func (s *sources) file(ctx context.Context, name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	s.begun(name)
	f, err := regular.Open(name)
	if err == nil {
		err = errors.Join(s.open(ctx, f, name, abs), f.Close())
	}
	var whole *wholeError
	var sys *fs.PathError
	switch {
	case errors.As(err, &whole):
		return s.failed(&badInput{name, 0, whole.err})
	case errors.As(err, &sys) && (sys.Path == name):
		return s.failed(&badInput{name, 0, reason(err)})
	}
	return err
}

// wholeError means that a file cannot be read, or not to its end.
type wholeError struct{ err error }

func (e *wholeError) Error() string { return e.err.Error() }

func (s *sources) open(ctx context.Context, f *os.File, name, abs string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	kind := files.KindOf(name)
	o := s.options(name, "", path.Clean(filepath.ToSlash(name)))
	o.KeepRepeated = s.repeated
	switch kind {
	case "jsonl": // whose lines must have ids: numbers of lines would not last
		o.ID = ""
	case "npy", "fbin", "fvecs":
		ids, err := regular.Open(name + ".ids")
		if err == nil {
			defer ids.Close()
			o.IDs = ids
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for rec, err := range files.Read(ctx, &heardAt{r: f, read: s.read}, info.Size(), name, o) {
		err := s.record(rec, err, name, func(r files.Record) engine.Document {
			return location.Describe(r.Document, [2]int{r.From, r.To}, r.Verbatim, "", filepath.ToSlash(abs), kind, info.ModTime())
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// record passes on one record, or its error. A *wholeError concerns the whole file.
func (s *sources) record(rec files.Record, err error, name string, document func(files.Record) engine.Document) error {
	var one *files.RecordError
	switch {
	case errors.As(err, &one):
		s.bad(&badInput{name, one.Line, one.Err})
		return nil
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		return &wholeError{reason(err)}
	}
	line := rec.From
	if rec.Verbatim { // the file is one document
		line = 0
	}
	return s.each(item{document(rec), name, line})
}

// heardAt reports how far a file was read.
type heardAt struct {
	r    io.ReaderAt
	read func(int)
	far  atomic.Int64
}

func (h *heardAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.r.ReadAt(p, off)
	if far := off + int64(n); h.read != nil && far > h.far.Load() {
		h.read(int(far - h.far.Swap(far)))
	}
	return n, err
}

// total returns the bytes of the files among paths, or 0 when standard input is, too.
func total(paths []string) int64 {
	var sum int64
	for _, p := range paths {
		if p == "-" {
			return 0
		}
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// reason is err without the path, since the message already begins with the path.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
