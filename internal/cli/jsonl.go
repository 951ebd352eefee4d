package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
)

// eachLine calls fn with every line of r that is not blank, without its line
// end and without a byte order mark. A line longer than maxText is handed to
// tooLong, which decides whether reading goes on; its bytes are not kept.
func eachLine(r io.Reader, read func(int), fn func(n int, line []byte) error, tooLong func(n int) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for n := 1; ; n++ {
		line = line[:0]
		over := false
		var err error
		for {
			var part []byte
			part, err = br.ReadSlice('\n')
			if read != nil {
				read(len(part))
			}
			if len(line)+len(part) > maxText+2 {
				over = true
				line = line[:0]
			}
			if !over {
				line = append(line, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if err != nil && err != io.EOF {
			return err
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		switch trimmed := bytes.TrimSpace(line); {
		case over:
			if e := tooLong(n); e != nil {
				return e
			}
		case len(trimmed) > 0:
			if e := fn(n, trimmed); e != nil {
				return e
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// jsonl reads documents from BEIR's corpus layout: one JSON object a line with
// "_id" or "id", "title" and "text"; all other fields are metadata.
func (s *sources) jsonl(name string, r io.Reader) error {
	at := func(n int) string { return name + ":" + strconv.Itoa(n) }
	return eachLine(r, s.read,
		func(n int, line []byte) error {
			doc, err := parseDocument(line)
			if err == nil && blank(doc.Title) && blank(doc.Text) {
				err = errNoText
			}
			if err != nil {
				return s.bad(&badInput{at(n), err})
			}
			return s.each(item{doc, at(n)})
		},
		func(n int) error {
			return s.bad(&badInput{at(n), fmt.Errorf("line longer than %d MiB; split the text", maxText>>20)})
		})
}

// parseDocument reads one line of a BEIR corpus. Members of an object named
// "metadata" count as fields of their own, so that exported documents can be
// read again; their member "lexsem" is left out.
func parseDocument(line []byte) (engine.Document, error) {
	var doc engine.Document
	fields, err := parseObject(line)
	if err != nil {
		return doc, err
	}
	if doc.ID, err = takeID(fields); err != nil {
		return doc, err
	}
	for _, f := range []struct {
		name string
		to   *string
	}{{"title", &doc.Title}, {"text", &doc.Text}} {
		switch v := fields[f.name].(type) {
		case nil:
		case string:
			*f.to = v
		default:
			return doc, fmt.Errorf("field %q is not a string; quote it", f.name)
		}
		delete(fields, f.name)
	}
	if _, ok := fields["lexsem"].(map[string]any); ok { // what an export has beside the document
		delete(fields, "lexsem")
	}
	if nested, ok := fields["metadata"].(map[string]any); ok {
		delete(fields, "metadata")
		for k, v := range nested {
			if _, dup := fields[k]; dup {
				return doc, fmt.Errorf("field %q stands both in the document and in its metadata; keep one", k)
			}
			fields[k] = v
		}
	}
	if len(fields) > 0 {
		doc.Metadata = fields
	}
	return doc, nil
}

func parseObject(line []byte) (map[string]any, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not valid UTF-8; convert the file first")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		var other *json.UnmarshalTypeError
		if errors.As(err, &other) {
			return nil, fmt.Errorf("not a JSON object but %s; put one object on a line", other.Value)
		}
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if fields == nil {
		return nil, errors.New("not a JSON object: null")
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("not a JSON object: more text after it (%q); put one object on a line", clipColumns(string(rest), 20))
	}
	return fields, checkNumbers(fields)
}

// checkNumbers refuses numbers that no float64 holds: reading them back would
// fail.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err != nil || math.IsInf(f, 0) {
			return fmt.Errorf("number %s is out of range; write it as a string", clipColumns(v.String(), 40))
		}
	case map[string]any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeID removes "_id" or "id" from fields and returns it as a string.
func takeID(fields map[string]any) (string, error) {
	for _, name := range []string{"_id", "id"} {
		v, ok := fields[name]
		if !ok {
			continue
		}
		delete(fields, name)
		switch id := v.(type) {
		case string:
			if id == "" {
				return "", fmt.Errorf("field %q is empty; give every line an id", name)
			}
			return id, nil
		case json.Number:
			return id.String(), nil
		}
		return "", fmt.Errorf("field %q is neither a string nor a number", name)
	}
	return "", errors.New(`no "_id" or "id"; give every line one`)
}
