package files

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// readText reads a plain text: one document.
func readText(s *source) error {
	text, err := s.whole()
	if err != nil {
		return err
	}
	return s.one(Record{Document: document(text), From: 1, To: lastLine(1, text), Verbatim: true})
}

// whole reads the file as one text in UTF-8 with lines that end in \n.
func (s *source) whole() (string, error) {
	r, err := decoded(s.r)
	if err != nil {
		return "", err
	}
	var buf bytes.Buffer
	if s.size > 0 && s.size <= s.o.MaxBytes {
		buf.Grow(int(s.size) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r, s.o.MaxBytes+1)); err != nil {
		return "", err
	}
	if int64(buf.Len()) > s.o.MaxBytes {
		return "", fail(ErrTooLarge, "larger than %s; split it", bytesText(s.o.MaxBytes))
	}
	if bytes.IndexByte(buf.Bytes(), 0) >= 0 || !utf8.Valid(buf.Bytes()) {
		return "", ErrBinary
	}
	return strings.ReplaceAll(buf.String(), "\r\n", "\n"), nil
}

// decoded drops a byte order mark, and makes UTF-8 of UTF-16 that has one.
func decoded(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(3)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, err := br.Discard(3)
		return br, err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(br), nil
	}
	return br, nil
}

// lastLine is the line of the file that a text which begins on line from ends on.
func lastLine(from int, text string) int {
	return from + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
