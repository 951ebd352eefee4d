package elastic

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Most of what this side reads are the answers to the retrievers, and package json takes
// longer for them than the rest of a search. So a minimal parser reads them; it leaves the
// parts that it does not know to package json.

// candidates are hits with the fields that named requests.
type candidates struct{ hits []hit }

var errHits = errors.New("hits are malformed")

// Decode reads the hits of an answer.
func (c *candidates) Decode(data []byte) error {
	p := parser{b: data}
	p.object(func(key []byte) {
		if string(key) != "hits" {
			p.skip()
			return
		}
		p.object(func(key []byte) {
			if string(key) != "hits" {
				p.skip()
				return
			}
			p.array(func() { c.hits = append(c.hits, p.hit()) })
		})
	})
	if p.space(); p.bad || p.i != len(data) {
		return errHits
	}
	for _, h := range c.hits {
		if len(h.Fields.ID) != 1 || len(h.Fields.Chunk) != 1 || len(h.Fields.Terms) > 1 {
			return errHits
		}
	}
	return nil
}

// parser walks over JSON. After malformed input it stays bad and does not move.
type parser struct {
	b     []byte
	i     int
	depth int // of objects and arrays that are skipped
	bad   bool
}

// maxDepth is how deep package json reads, and a stack holds.
const maxDepth = 10_000

func (p *parser) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\n', '\t', '\r':
			p.i++
		default:
			return
		}
	}
}

// take reads one character that must come next.
func (p *parser) take(c byte) {
	if p.space(); p.bad || p.i >= len(p.b) || p.b[p.i] != c {
		p.bad = true
		return
	}
	p.i++
}

// next reads a character if it comes next, and reports whether it did.
func (p *parser) next(c byte) bool {
	if p.space(); !p.bad && p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

// object calls do for each key; do reads the value.
func (p *parser) object(do func(key []byte)) {
	p.take('{')
	if p.bad || p.next('}') {
		return
	}
	for {
		key := p.raw()
		p.take(':')
		if p.bad {
			return
		}
		do(key)
		if p.next('}') {
			return
		}
		if p.take(','); p.bad {
			return
		}
	}
}

// array calls do for each element, which do reads.
func (p *parser) array(do func()) {
	p.take('[')
	if p.bad || p.next(']') {
		return
	}
	for {
		do()
		if p.bad || p.next(']') {
			return
		}
		if p.take(','); p.bad {
			return
		}
	}
}

// raw reads a string, and returns the bytes between its quotes.
func (p *parser) raw() []byte {
	p.take('"')
	for from := p.i; !p.bad && p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return p.b[from : p.i-1]
		case c == '\\':
			p.i++
		case c < ' ':
			p.bad = true
		}
	}
	p.bad = true
	return nil
}

// text reads a string.
func (p *parser) text() (s string) {
	from := p.i
	raw := p.raw()
	if slices.Contains(raw, '\\') {
		if json.Unmarshal(p.b[from:p.i], &s) != nil {
			p.bad = true
		}
		return s
	}
	if s = string(raw); !utf8.ValidString(s) {
		p.bad = true
	}
	return s
}

// number reads a number. One that no float64 holds is an infinity.
func (p *parser) number() float64 {
	p.space()
	from := p.i
	for p.i < len(p.b) && (p.b[p.i] >= '0' && p.b[p.i] <= '9' || p.b[p.i] == '-' || p.b[p.i] == '+' || p.b[p.i] == '.' || p.b[p.i] == 'e' || p.b[p.i] == 'E') {
		p.i++
	}
	x, err := strconv.ParseFloat(string(p.b[from:p.i]), 64)
	p.bad = p.bad || errors.Is(err, strconv.ErrSyntax)
	return x
}

// skip skips any value.
func (p *parser) skip() {
	p.space()
	if p.bad || p.i >= len(p.b) {
		p.bad = true
		return
	}
	switch c := p.b[p.i]; c {
	case '{', '[':
		if p.depth++; p.depth > maxDepth {
			p.bad = true
			return
		}
		if c == '{' {
			p.object(func([]byte) { p.skip() })
		} else {
			p.array(p.skip)
		}
		p.depth--
	case '"':
		p.raw()
	case 't', 'f', 'n':
		for _, word := range []string{"true", "false", "null"} {
			if len(p.b)-p.i >= len(word) && string(p.b[p.i:p.i+len(word)]) == word {
				p.i += len(word)
				return
			}
		}
		p.bad = true
	default:
		p.number()
	}
}

func (p *parser) hit() (h hit) {
	p.object(func(key []byte) {
		switch string(key) {
		case "_id":
			h.ID = p.text()
		case "_score":
			h.Score = p.number()
		case "fields":
			p.object(func(key []byte) {
				switch string(key) {
				case "id":
					p.array(func() { h.Fields.ID = append(h.Fields.ID, p.text()) })
				case "chunk":
					p.array(func() { h.Fields.Chunk = append(h.Fields.Chunk, int(p.number())) })
				case "terms":
					p.array(func() { h.Fields.Terms = append(h.Fields.Terms, p.text()) })
				default:
					p.skip()
				}
			})
		default:
			p.skip()
		}
	})
	return h
}
