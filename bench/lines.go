package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/unpacked"
)

// defaultMaxLine is the maximum length of a line in bytes if ReadOptions.MaxLine is 0.
const defaultMaxLine = 16 << 20

// ReadOptions are the options for reading corpora, judgements and runs. The zero value reads strictly.
type ReadOptions struct {
	// MaxLine is the maximum length of a line in bytes. 0 means 16 MiB.
	MaxLine int
	// OnProblem is called for each line that cannot be used. If it returns an error, reading stops
	// with that error. If it returns nil, the line is skipped. If OnProblem is nil, reading stops at
	// the first problem.
	OnProblem func(*LineError) error
	// Split names the judgements of a corpus folder: those of qrels/SPLIT.tsv, or a file of
	// judgements. "" means test.
	Split string
	// Queries, if not empty, is the file of queries to use in place of the folder's own.
	Queries string

	ctx context.Context // that of Run; reading ends with it
}

func (o ReadOptions) context() context.Context {
	if o.ctx == nil {
		return context.Background()
	}
	return o.ctx
}

func (o ReadOptions) maxLine() int {
	if o.MaxLine <= 0 {
		return defaultMaxLine
	}
	return o.MaxLine
}

func (o ReadOptions) problem(file string, line int, err error) error {
	e := &LineError{File: file, Line: line, Err: err}
	if o.OnProblem == nil {
		return e
	}
	return o.OnProblem(e)
}

// extension is the ending of a file's name in lower case, without that of compression.
func extension(name string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz"))
}

// eachLine is EachLine of a file, which may be compressed by gzip. The rows of a .parquet file are read as
// lines of JSON, and count as lines in errors.
func eachLine(file string, o ReadOptions, fn func(line int, b []byte) error) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if extension(file) == ".parquet" {
		return eachRow(f, file, o, fn)
	}
	return EachLine(unpacked.Reader(f, file), file, o, fn)
}

// eachRow reads a table.
func eachRow(f *os.File, file string, o ReadOptions, fn func(line int, b []byte) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	n := 0
	for rec, err := range files.Read(o.context(), f, info.Size(), file, files.Options{Rows: true, MaxBytes: int64(o.maxLine())}) {
		n++
		if bad := new(files.RecordError); err != nil && !errors.As(err, &bad) {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if err == nil {
			var b []byte
			if b, err = json.Marshal(rec.Metadata); err == nil {
				err = fn(n, b)
			}
		}
		if err != nil {
			if err := o.problem(file, n, err); err != nil {
				return err
			}
		}
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")

// EachLine calls fn with every non-blank line of r, without its line end and without byte order marks
// at its start. The slice is valid only during the call. ReadOptions says how unusable lines and
// errors of fn are handled. file is the name of r in errors. Memory is bounded by ReadOptions.MaxLine.
func EachLine(r io.Reader, file string, o ReadOptions, fn func(line int, b []byte) error) error {
	limit, ctx := o.maxLine(), o.context()
	br := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for n := 1; ; n++ {
		if err := ctx.Err(); n%1024 == 0 && err != nil {
			return err
		}
		buf = buf[:0]
		tooLong := false
		var err error
		for {
			var part []byte
			part, err = br.ReadSlice('\n')
			if !tooLong {
				buf = append(buf, part...)
				tooLong = len(bytes.TrimRight(buf, "\r\n")) > limit
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading %s after line %d: %w", file, n-1, err)
		}
		b := bytes.TrimRight(buf, "\r\n")
		for bytes.HasPrefix(b, byteOrderMark) { // not only of the first line: files are joined
			b = b[len(byteOrderMark):]
		}
		var bad error
		switch {
		case tooLong:
			bad = fmt.Errorf("%w: more than %d bytes; split the text or raise the limit", errLineTooLong, limit)
		case len(bytes.TrimSpace(b)) == 0:
		case !utf8.Valid(b):
			bad = fmt.Errorf("%w: not valid UTF-8; convert the file to UTF-8", ErrBrokenLine)
		default:
			bad = fn(n, b)
		}
		if bad != nil {
			if e := o.problem(file, n, bad); e != nil {
				return e
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}
