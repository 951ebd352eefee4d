package files

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// terminal matches control sequences for colours, and the letters that manuals print twice for bold or over an underscore.
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
	shown := printed(text)
	if strings.HasSuffix(baseName(s.name), ".tex") {
		shown = texLetter(shown)
	}
	rec := Record{Document: document(shown), From: 1, To: lastLine(1, text), Verbatim: true}
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

// all reads r to its end, or of more than MaxBytes the beginning, with a warning.
func (s *File) all(r io.Reader) ([]byte, error) {
	raw, err := s.upTo(r)
	if int64(len(raw)) > s.o.MaxBytes {
		raw = raw[:s.cut(raw)]
	}
	return raw, err
}

// upTo reads r to its end, or to the first byte after MaxBytes.
func (s *File) upTo(r io.Reader) ([]byte, error) {
	var buf bytes.Buffer
	if s.size > 0 && s.size <= s.o.MaxBytes {
		buf.Grow(int(s.size) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(io.LimitReader(r, s.o.MaxBytes+1))
	return buf.Bytes(), err
}

// cut is where the beginning of a text that is longer than MaxBytes ends: after a line, or else between two characters of UTF-8,
// or of UTF-16 and UTF-32, which have NULs. It warns of that.
func (s *File) cut(raw []byte) int {
	s.Warn(0, "longer than %s: its beginning is stored; split it to store all", bytesText(s.o.MaxBytes))
	end := int(s.o.MaxBytes)
	if bytes.IndexByte(raw[:end], 0) >= 0 {
		s.broken = true
		return end &^ 3
	}
	if line := bytes.LastIndexByte(raw[:end], '\n') + 1; line > 0 {
		return line
	}
	s.broken = true
	for range min(end, utf8.UTFMax-1) {
		if utf8.RuneStart(raw[end]) {
			break
		}
		end--
	}
	return end
}

// lastLine is the last line, in the file, of a text that begins on line from.
func lastLine(from int, text string) int {
	return from + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
