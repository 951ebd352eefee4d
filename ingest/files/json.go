package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// readJSON reads an object, an array of objects, an object with an array of objects under
// "documents", or a sequence of these.
func readJSON(s *File) error {
	r, err := s.decoded()
	if err != nil {
		return err
	}
	return s.json(r)
}

func (s *File) json(r io.Reader) error {
	j := &jsonReader{s: s}
	j.budget.r = &plainJSON{r: r}
	j.lines.r = &j.budget
	j.dec = json.NewDecoder(&j.lines)
	j.dec.UseNumber()
	for {
		j.allow()
		err := j.value()
		switch {
		case err == nil:
			continue
		case err == io.EOF:
			return nil
		case errors.Is(err, errBudget):
			return Errorf(ErrTooLarge, "the value on line %d is longer than %s; split its text", j.lines.at(j.dec.InputOffset()), bytesText(s.o.MaxBytes))
		}
		return j.explain(err)
	}
}

// maxDepth is how deep package json reads an object.
const maxDepth = 10_000

type jsonReader struct {
	s      *File
	budget budget
	lines  lineCounter
	dec    *json.Decoder
}

// allow lets the next value have the maximum length. Package json keeps a value as a
// whole, and reads ahead by less than it has kept.
func (j *jsonReader) allow() { j.budget.left = 2*j.s.o.MaxBytes + 8<<10 }

// explain converts an error of package json to one of this package.
func (j *jsonReader) explain(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == io.ErrUnexpectedEOF:
		return Errorf(ErrMalformed, "the JSON ends in the middle of a value; the file may be incomplete")
	case errors.As(err, &syntax):
		rest, _ := io.ReadAll(j.dec.Buffered()) // from memory
		offset := j.dec.InputOffset() + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n")))
		return Errorf(ErrMalformed, "line %d: not JSON: %w", j.lines.at(offset), err)
	}
	return err
}

// value reads one value at the top level; io.EOF if there is none.
func (j *jsonReader) value() error {
	t, err := j.dec.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('['):
		return j.array()
	case json.Delim('{'):
		return j.object(j.lines.at(j.dec.InputOffset()))
	}
	return Errorf(ErrMalformed, "line %d: neither an object nor an array of objects", j.lines.at(j.dec.InputOffset()))
}

// noObject reports valid JSON that is no document and holds none, as settings do: a folder leaves a file of such values out.
func noObject(format string, args ...any) error {
	return &failure{fmt.Sprintf(format, args...), ErrMalformed, ErrNoText}
}

// array yields the elements of an array whose bracket has been read.
func (j *jsonReader) array() error {
	for j.dec.More() {
		j.allow()
		var raw json.RawMessage
		if err := j.dec.Decode(&raw); err != nil {
			return unended(err)
		}
		j.s.n++
		end := j.dec.InputOffset()
		var rec Record
		rec.From = j.lines.at(end - int64(len(raw)))
		rec.To = j.lines.at(end)
		err := j.s.tooLong(len(raw))
		switch j.s.line = rec.From; {
		case err == nil && raw[0] != '{':
			err = noObject("not a JSON object; put one object for each document into the array")
		case err == nil:
			rec.Document, err = j.s.object(raw)
		}
		if err := j.s.record(rec, err); err != nil {
			return err
		}
	}
	_, err := j.dec.Token()
	return unended(err)
}

// object reads the fields of an object whose brace has been read.
func (j *jsonReader) object(from int) error {
	fields, again := map[string]any{}, map[string]int{}
	size, listed := 0, false
	j.s.line = from
	for j.dec.More() {
		key, err := j.dec.Token()
		if err != nil {
			return unended(err)
		}
		name, _ := key.(string) // package json refuses others
		if name == "documents" {
			switch t, err := j.dec.Token(); {
			case err != nil:
				return unended(err)
			case t == json.Delim('['):
				if err := j.array(); err != nil {
					return err
				}
				listed = true
				continue
			case t == json.Delim('{'):
				return noObject(`line %d: "documents" is an object; make it an array of objects`, j.lines.at(j.dec.InputOffset()))
			default:
				j.s.member(fields, again, name, t)
				continue
			}
		}
		var raw json.RawMessage
		if err := j.dec.Decode(&raw); err != nil {
			return unended(err)
		}
		if size += len(name) + len(raw); j.s.tooLong(size) != nil {
			return errBudget
		}
		v, err := j.s.value(raw)
		if err != nil {
			return err
		}
		if bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) >= maxDepth && !json.Valid(slices.Concat([]byte("["), raw, []byte("]"))) {
			return Errorf(ErrMalformed, "line %d: the field %q nests deeper than %d; leave it out", from, clip(name, 80), maxDepth)
		}
		j.s.member(fields, again, name, v)
	}
	_, err := j.dec.Token()
	switch {
	case err != nil:
		return unended(err)
	case listed: // what stands beside them is of none
		return nil
	}
	j.s.n++
	rec := Record{From: from, To: j.lines.at(j.dec.InputOffset())}
	j.s.line = from
	rec.Document, err = j.s.fields(fields, j.s.o.ID == "")
	if err == nil && rec.ID == "" && j.s.n == 1 && !j.dec.More() {
		rec.ID = j.s.o.ID
	}
	return j.s.record(rec, err)
}

// unended converts an end of file in the middle of a value to an error that says so.
func unended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lineCounter determines the line of a byte in what was read last.
type lineCounter struct {
	r     io.Reader
	read  int64
	ends  []int64 // offsets after the line ends that no one has asked beyond yet
	lines int     // line ends before those
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i)+1)
		}
	}
	c.read += int64(n)
	return n, err
}

// at is the line, from 1, of the byte at offset; offsets must not decrease.
func (c *lineCounter) at(offset int64) int {
	n := 0
	for n < len(c.ends) && c.ends[n] <= offset {
		n++
	}
	c.lines += n
	c.ends = c.ends[:copy(c.ends, c.ends[n:])]
	return c.lines + 1
}
