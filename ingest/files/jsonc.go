package files

import (
	"bytes"
	"io"
)

// plainJSON removes comments from JSON, and a comma after the last value of an array or an object: files of settings often have
// them. Of NaN and Infinity, which Python writes, it makes null. Line ends stay.
type plainJSON struct {
	r       io.Reader
	in, out []byte
	err     error  // of r
	within  byte   // '"' in a string, '/' in a comment to the end of the line, '*' in one that ends with */
	before  byte   // a backslash in a string; a slash that may begin a comment; a star that may end one
	comma   bool   // one was read, and is not handed over yet
	word    []byte // outside of strings: letters and signs that may go on
}

func (j *plainJSON) Read(p []byte) (int, error) {
	for len(j.out) == 0 {
		if j.err != nil {
			return 0, j.err
		}
		if j.in == nil {
			j.in = make([]byte, 32<<10)
		}
		n, err := j.r.Read(j.in)
		j.err = err
		j.out = j.out[:0]
		for _, c := range j.in[:n] {
			j.next(c)
		}
		if err == io.EOF && j.within == 0 {
			j.endWord()
			if j.flush(); j.before == '/' {
				j.out = append(j.out, '/')
			}
		}
	}
	n := copy(p, j.out)
	j.out = j.out[n:]
	return n, nil
}

// next takes one byte.
func (j *plainJSON) next(c byte) {
	before := j.before
	j.before = 0
	switch j.within {
	case '"':
		switch {
		case before == '\\':
		case c == '"':
			j.within = 0
		case c == '\\':
			j.before = c
		}
		j.out = append(j.out, c)
		return
	case '/':
		if c == '\n' {
			j.within = 0
			j.out = append(j.out, c)
		}
		return
	case '*':
		switch {
		case c == '/' && before == '*':
			j.within = 0
			j.out = append(j.out, ' ')
		case c == '\n':
			j.out = append(j.out, c)
		default:
			j.before = c
		}
		return
	}
	if c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
		if before == '/' {
			j.flush()
			j.out = append(j.out, before)
		}
		j.word = append(j.word, c)
		if len(j.word) > len("-Infinity") {
			j.endWord()
		}
		return
	}
	j.endWord()
	switch {
	case before == '/' && (c == '/' || c == '*'):
		j.within = c
		return
	case before == '/':
		j.flush()
		j.out = append(j.out, before)
	}
	switch {
	case c == '/':
		j.before = c
	case bytes.IndexByte([]byte(" \t\r\n"), c) >= 0:
		j.out = append(j.out, c)
	case c == ']' || c == '}':
		j.comma = false
		j.out = append(j.out, c)
	default:
		j.flush()
		j.comma = c == ','
		if c == '"' {
			j.within = c
		}
		if !j.comma {
			j.out = append(j.out, c)
		}
	}
}

// endWord hands over a word.
func (j *plainJSON) endWord() {
	if len(j.word) == 0 {
		return
	}
	j.flush()
	switch string(j.word) {
	case "NaN", "Infinity", "-Infinity":
		j.word = append(j.word[:0], "null"...)
	}
	j.out, j.word = append(j.out, j.word...), j.word[:0]
}

// flush hands over a comma that was read.
func (j *plainJSON) flush() {
	if j.comma {
		j.out = append(j.out, ',')
	}
	j.comma = false
}
