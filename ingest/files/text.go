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
func readText(s *File) error {
	text, err := s.whole()
	if err != nil {
		return err
	}
	return s.One(Record{Document: document(text), From: 1, To: lastLine(1, text), Verbatim: true})
}

// whole reads the file as one text in UTF-8 with lines that end in \n.
func (s *File) whole() (string, error) {
	r, err := decoded(s)
	if err != nil {
		return "", err
	}
	raw, err := s.all(r)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) {
		return "", ErrBinary
	}
	return strings.ReplaceAll(string(raw), "\r\n", "\n"), nil
}

// all reads r, of no more than MaxBytes, to its end.
func (s *File) all(r io.Reader) ([]byte, error) {
	var buf bytes.Buffer
	if s.size > 0 && s.size <= s.o.MaxBytes {
		buf.Grow(int(s.size) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r, s.o.MaxBytes+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > s.o.MaxBytes {
		return nil, Errorf(ErrTooLarge, "larger than %s; split it", bytesText(s.o.MaxBytes))
	}
	return buf.Bytes(), nil
}

// decoded drops a byte order mark, and makes UTF-8 of UTF-16 that has one.
func decoded(r io.Reader) (io.Reader, error) {
	r, _, err := decodedMark(r)
	return r, err
}

// decodedMark is decoded, and tells whether there was a mark.
func decodedMark(r io.Reader) (_ io.Reader, marked bool, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(3)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, err := br.Discard(3)
		return br, true, err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(br), true, nil
	}
	return br, false, nil
}

// lastLine is the line of the file that a text which begins on line from ends on.
func lastLine(from int, text string) int {
	return from + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
