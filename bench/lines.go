package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
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
}

func (o ReadOptions) problem(file string, line int, err error) error {
	e := &LineError{File: file, Line: line, Err: err}
	if o.OnProblem == nil {
		return e
	}
	return o.OnProblem(e)
}

// EachLine calls fn with every non-blank line of r, without its line end and without a byte order mark
// at the start. The slice is valid only during the call. ReadOptions says how unusable lines and
// errors of fn are handled. file is the name of r in errors. Memory is bounded by ReadOptions.MaxLine.
func EachLine(r io.Reader, file string, o ReadOptions, fn func(line int, b []byte) error) error {
	limit := o.MaxLine
	if limit <= 0 {
		limit = defaultMaxLine
	}
	br := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for n := 1; ; n++ {
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
		if n == 1 {
			b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
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
