package tokenizer

import (
	"bytes"
	"encoding/json"
)

// scanner reads well-formed JSON for vocabularies of a quarter of a million entries. It
// allocates only the strings. For a value of another kind than requested it returns an
// empty value, which callers refuse.
type scanner struct {
	b []byte
	i int
}

// peek is the first byte of the next value, or 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// object calls f after each key of an object; f reads the value.
func (s *scanner) object(f func(key string) error) error {
	return s.list('{', '}', func() error {
		if s.peek() != '"' {
			return refuse("not an object of the kind that is expected; fetch the model again")
		}
		return f(s.string())
	})
}

// array reads an array. It calls f before each value, and f reads the value.
func (s *scanner) array(f func() error) error { return s.list('[', ']', f) }

func (s *scanner) list(open, end byte, f func() error) error {
	if s.peek() != open {
		return refuse("model: a value is not of the kind that is expected; fetch the model again")
	}
	s.i++
	for {
		switch s.peek() {
		case end:
			s.i++
			return nil
		case 0:
			return refuse("model: a list without an end; fetch the model again")
		}
		before := s.i
		if err := f(); err != nil {
			return err
		}
		if s.i == before {
			return refuse("model: a value is not of the kind that is expected; fetch the model again")
		}
	}
}

// string reads a string.
func (s *scanner) string() string {
	if s.peek() != '"' {
		return ""
	}
	b := s.quoted()
	if len(b) < 2 {
		return ""
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1])
	}
	var v string
	if json.Unmarshal(b, &v) != nil {
		return ""
	}
	return v
}

// quoted passes over the string that begins here and returns it with its quotation marks, nil if it has no end.
func (s *scanner) quoted() []byte {
	start := s.i
	for i := start + 1; i < len(s.b); i++ {
		k := bytes.IndexByte(s.b[i:], '"')
		if k < 0 {
			break
		}
		i += k
		slashes := 0
		for s.b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.i = i + 1
			return s.b[start:s.i]
		}
	}
	s.i = len(s.b)
	return nil
}

// skip passes over a value and returns its bytes. The file must be valid JSON.
func (s *scanner) skip() []byte {
	c := s.peek()
	start, depth := s.i, 0
	for {
		switch c {
		case '"':
			s.quoted()
		case '{', '[':
			depth++
			s.i++
		case '}', ']':
			depth--
			s.i++
		case 0:
			return s.b[start:]
		default:
			for s.i < len(s.b) && bytes.IndexByte([]byte(" \t\n\r,:]}"), s.b[s.i]) < 0 {
				s.i++
			}
		}
		if depth == 0 {
			return s.b[start:s.i]
		}
		c = s.peek()
	}
}

// number reads the characters that a number may have.
func (s *scanner) number() string {
	s.peek()
	start := s.i
	for s.i < len(s.b) && (s.b[s.i] >= '0' && s.b[s.i] <= '9' || bytes.IndexByte([]byte("+-.eE"), s.b[s.i]) >= 0) {
		s.i++
	}
	return string(s.b[start:s.i])
}
