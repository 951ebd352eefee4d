package filter

import (
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/value"
)

// scalar is a value: a string as its text, a number as its JSON text.
type scalar struct {
	kind value.Kind
	text string
}

func (s scalar) write(b *strings.Builder) {
	switch s.kind {
	case value.Null:
		b.WriteString("null")
	case value.False:
		b.WriteString("false")
	case value.True:
		b.WriteString("true")
	case value.Number:
		b.WriteString(s.text)
	default:
		writeQuoted(b, s.text)
	}
}

func writeQuoted(b *strings.Builder, s string) {
	const hex = "0123456789abcdef"
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// writePath writes a path without quotes if it can be read back so.
func writePath(b *strings.Builder, path string) {
	if r, _ := utf8.DecodeRuneInString(path); startsWord(r) && wordLength(path) == len(path) && !words[strings.ToLower(path)] {
		b.WriteString(path)
		return
	}
	writeQuoted(b, path)
}
