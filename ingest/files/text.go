package files

import (
	"bytes"
	"io"
	"regexp"
	"strings"
)

// terminal matches what a terminal does not show: colours, and letters that are struck twice or with a line below, as in manuals.
var terminal = regexp.MustCompile(`\x1b\[[0-9;:?]*[A-Za-z]|(.)\x08_|.\x08`)

// printed is a text as a terminal shows it.
func printed(text string) string {
	if !strings.ContainsAny(text, "\b\x1b") {
		return text
	}
	return terminal.ReplaceAllString(text, "$1")
}

// readText reads a plain text: one document.
func readText(s *File) error {
	if done, err := s.readLog(); done || err != nil {
		return err
	}
	text, err := s.whole()
	if err != nil {
		return err
	}
	rec := Record{Document: document(printed(text)), From: 1, To: lastLine(1, text), Verbatim: true}
	rec.mark(s.name)
	return s.One(rec)
}

// whole reads the file as one text in UTF-8 with line ends \n.
func (s *File) whole() (string, error) {
	r, err := s.decoded()
	if err != nil {
		return "", err
	}
	raw, err := s.all(r)
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(string(raw), "\r\n", "\n"), nil
}

// all reads r, which has at most MaxBytes, to its end.
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

// lastLine is the last line, in the file, of a text that begins on line from.
func lastLine(from int, text string) int {
	return from + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
