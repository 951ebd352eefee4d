package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
)

// readJSONL reads one document a line: the layout of BEIR and of other dumps. A file that is one array, or whose objects go over several
// lines, is read as JSON.
func readJSONL(s *File) error {
	plain, err := s.decoded()
	if err != nil {
		return err
	}
	r := bufio.NewReader(plain)
	if spread(r) {
		return s.json(r)
	}
	for line, err := range lines(r, s.o.MaxBytes) {
		s.n++
		var re *RecordError
		switch {
		case errors.As(err, &re):
			err = s.bad(re.Line, "", re.Err)
		case err == nil:
			rec := Record{From: line.N, To: line.N}
			s.line = line.N
			rec.Document, err = s.object(line.Text)
			err = s.record(rec, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spread reports whether a file is an array of objects, or its first object goes over several lines. It looks at no more bytes than
// that takes, and at 256 at most: others may come much later.
func spread(r *bufio.Reader) bool {
	const blanks = " \t\r\n"
	for n := 1; n <= 256; n++ {
		head, err := r.Peek(n) // an error comes again
		if err != nil {
			return false
		}
		head = bytes.TrimLeft(head, blanks)
		if len(head) == 0 {
			continue
		}
		between, after := blanks, "{"
		switch head[0] {
		case '{':
			between, after = " \t", "\r\n"
		case '[':
		default:
			return false
		}
		if head = bytes.TrimLeft(head[1:], between); len(head) > 0 {
			return strings.IndexByte(after, head[0]) >= 0
		}
	}
	return false
}

// textLine is one line of a file.
type textLine struct {
	N    int    // from 1
	Text []byte // without white space at its ends; holds until the next line is read
}

// lines yields the non-blank lines of r, the first one without a byte order mark. A line longer than
// max bytes yields a *RecordError that wraps ErrTooLarge; its bytes are skipped, and the loop may
// continue. Any other error comes from r and is the last.
func lines(r io.Reader, max int64) iter.Seq2[textLine, error] {
	return func(yield func(textLine, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var line []byte
		for n := 1; ; n++ {
			var over bool
			var err error
			line, over, err = nextLine(br, line[:0], max)
			if err != nil && err != io.EOF {
				yield(textLine{}, err)
				return
			}
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			switch text := bytes.TrimSpace(line); {
			case over:
				if !yield(textLine{}, &RecordError{Line: n, Err: Errorf(ErrTooLarge, "line longer than %s; split the text", bytesText(max))}) {
					return
				}
			case len(text) > 0:
				if !yield(textLine{n, text}, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// nextLine appends the next line of br, its end included, to line; over reports that it
// is longer than max.
func nextLine(br *bufio.Reader, line []byte, max int64) (_ []byte, over bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if int64(len(line)+len(part)) > max+2 {
			over, line = true, line[:0]
		}
		if !over {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, over, err
		}
	}
}
