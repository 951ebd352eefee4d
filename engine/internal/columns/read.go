package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/value"
)

// member is a key of an object: its path, and the range of its terms in Edit.list.
type member struct {
	path     uint32
	from, to int
}

// fileField is metadata.File of the document that is being read: its path, rootPath where it is no object, and where the values of
// metadata.FileNames begin, 0 for those that are not there.
type fileField struct {
	path uint32
	at   [len(metadata.FileNames)]int
}

// read appends to e.list the terms of metadata. It makes no values of the JSON:
// a million keys are a million terms and nothing else.
func (e *Edit) read(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	if !json.Valid(raw) {
		if _, err := metadata.Parse(raw); err != nil {
			return err
		}
		return fmt.Errorf("%w: something follows it", metadata.ErrNoObject)
	}
	j := text{raw: raw}
	e.file = fileField{path: rootPath}
	switch j.next() {
	case 'n':
		return nil
	case '{':
		return e.object(&j, rootPath)
	}
	_, err := metadata.Parse(raw)
	return err
}

// text is valid JSON, read from its beginning on.
type text struct {
	raw []byte
	at  int
}

// next skips white space and returns the next byte, which it does not consume.
func (j *text) next() byte {
	for {
		switch c := j.raw[j.at]; c {
		case ' ', '\t', '\r', '\n':
			j.at++
		default:
			return c
		}
	}
}

// pass reads the next byte if it is c.
func (j *text) pass(c byte) bool {
	if j.next() != c {
		return false
	}
	j.at++
	return true
}

// quoted reads the next string. Bytes that are not UTF-8 become U+FFFD, as they do
// wherever metadata are read.
func (j *text) quoted() ([]byte, error) {
	j.next()
	from, plain := j.at, true
	for j.at++; j.raw[j.at] != '"'; j.at++ {
		if j.raw[j.at] == '\\' {
			plain = false
			j.at++
		}
	}
	j.at++
	s := j.raw[from:j.at]
	if in := s[1 : len(s)-1]; plain && utf8.Valid(in) {
		return in, nil
	}
	var v string
	err := json.Unmarshal(s, &v)
	return []byte(v), err
}

// value reads the next value, which is at path.
func (e *Edit) value(j *text, path uint32) error {
	switch j.next() {
	case '{':
		return e.object(j, path)
	case '[':
		j.at++
		if j.pass(']') {
			return e.term(path, value.Empty, nil)
		}
		for {
			if err := e.value(j, path); err != nil {
				return err
			}
			if j.pass(']') {
				return nil
			}
			j.at++ // the comma
		}
	case '"':
		s, err := j.quoted()
		if err != nil {
			return err
		}
		return e.term(path, value.String, s)
	case 'n':
		j.at += len("null")
		return e.term(path, value.Null, nil)
	case 't':
		j.at += len("true")
		return e.term(path, value.True, nil)
	case 'f':
		j.at += len("false")
		return e.term(path, value.False, nil)
	}
	from := j.at
	for j.at < len(j.raw) && bytes.IndexByte([]byte("+-.0123456789eE"), j.raw[j.at]) >= 0 {
		j.at++
	}
	return e.term(path, value.Number, j.raw[from:j.at])
}

// object reads the next value, an object at path.
func (e *Edit) object(j *text, path uint32) error {
	j.at++
	if j.pass('}') {
		if path == rootPath {
			return nil
		}
		return e.term(path, value.Empty, nil)
	}
	first := len(e.keys)
	for {
		key, err := j.quoted()
		if err != nil {
			return err
		}
		m := member{from: len(e.list)}
		if m.path, err = e.c.family.paths.intern(path, key); err != nil {
			return err
		}
		j.pass(':')
		switch {
		case path == rootPath && string(key) == metadata.File:
			if e.file = (fileField{path: rootPath}); j.next() == '{' {
				e.file.path = m.path
			}
		case path == e.file.path && path != rootPath:
			if i := slices.Index(metadata.FileNames[:], string(key)); i >= 0 {
				e.file.at[i] = j.at
			}
		}
		if err := e.value(j, m.path); err != nil {
			return err
		}
		m.to = len(e.list)
		e.keys = append(e.keys, m)
		if j.pass('}') {
			break
		}
		j.at++ // the comma
	}
	e.single(e.keys[first:])
	if path == rootPath {
		if err := e.plainNames(j.raw, e.keys[first:]); err != nil {
			return err
		}
	}
	e.keys = e.keys[:first]
	return nil
}

// plainNames appends what metadata.Named adds to a document with these keys.
func (e *Edit) plainNames(raw []byte, own []member) error {
	for i, at := range e.file.at {
		if at == 0 || e.file.at[0] == 0 {
			continue
		}
		path, err := e.c.family.paths.intern(rootPath, []byte(metadata.FileNames[i]))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(own, func(m member) bool { return m.path == path }) {
			continue
		}
		if err := e.value(&text{raw: raw, at: at}, path); err != nil {
			return err
		}
	}
	return nil
}

// single drops the terms of keys that stand in their object again: the last
// one counts, as wherever metadata are read.
func (e *Edit) single(members []member) {
	e.paths = e.paths[:0]
	for _, m := range members {
		e.paths = append(e.paths, m.path)
	}
	slices.Sort(e.paths)
	if len(slices.Compact(e.paths)) == len(members) {
		return
	}
	last := make(map[uint32]int, len(members))
	for i, m := range members {
		last[m.path] = i
	}
	to := members[0].from
	for i, m := range members {
		if last[m.path] == i {
			to += copy(e.list[to:], e.list[m.from:m.to])
		}
	}
	e.list = e.list[:to]
}

func (e *Edit) term(path uint32, kind value.Kind, text []byte) error {
	n, err := e.c.family.terms.intern(termTag(path, kind), text)
	if err == nil {
		e.list = append(e.list, n)
	}
	return err
}
