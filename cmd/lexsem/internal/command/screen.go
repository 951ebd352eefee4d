package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// visible escapes, as JSON does, each character that could control a terminal or reverse
// the reading order: control characters, direction marks and line separators. Line breaks
// and tabs stay; bytes that are not UTF-8 become U+FFFD. All printed text passes through
// it, by way of screen; texts that are cut to a width or put on one line pass through it
// before.
func visible(s string) string {
	if strings.IndexFunc(s, speaks) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !speaks(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// speaks reports whether a character must not be printed as it is.
func speaks(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r < 0x61c:
		return false
	}
	return r == 0x61c || r == 0x200e || r == 0x200f || 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x206f ||
		0xfff9 <= r && r <= 0xfffb || 0xe0000 <= r && r <= 0xe007f
}

// screen is a writer that passes on the result of visible. With colours, the escape
// sequences of style pass as well, and no others. It is safe for concurrent use.
type screen struct {
	mu      sync.Mutex
	w       io.Writer
	colours bool
	tail    []byte // a character, or a sequence of style, of which the rest is to come
}

// sequences are the escape sequences that style writes.
var sequences = []string{"\x1b[0m", "\x1b[" + bold + "m", "\x1b[" + faint + "m", "\x1b[" + green + "m", "\x1b[" + red + "m"}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.tail, p...)
	whole := len(text)
	for back := 1; back <= min(utf8.UTFMax, len(text)); back++ { // no sequence has a longer beginning
		if rest := text[len(text)-back:]; s.begun(rest) {
			whole = len(text) - back
			break
		}
	}
	out := s.clean(string(text[:whole]))
	s.tail = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(s.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// begun reports whether rest is an incomplete character or sequence.
func (s *screen) begun(rest []byte) bool {
	if utf8.RuneStart(rest[0]) && !utf8.FullRune(rest) {
		return true
	}
	for _, q := range sequences {
		if s.colours && len(rest) < len(q) && strings.HasPrefix(q, string(rest)) {
			return true
		}
	}
	return false
}

// flush writes the beginning of a character that never got its end.
func (s *screen) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, s.clean(string(s.tail)))
	s.tail = nil
	return err
}

func (s *screen) clean(text string) string {
	if !s.colours {
		return visible(text)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b")
		b.WriteString(visible(before))
		if !found {
			return b.String()
		}
		text = "\x1b" + after
		sequence := "\x1b"
		for _, q := range sequences {
			if strings.HasPrefix(text, q) {
				sequence = q
			}
		}
		if text = text[len(sequence):]; len(sequence) == 1 {
			sequence = visible(sequence)
		}
		b.WriteString(sequence)
	}
}

// raw is the writer below a screen, for output that is not text.
func raw(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.w
	}
	return w
}
