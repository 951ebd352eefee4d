package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metadata"
)

// The usual names of columns; the first that exists is used.
var (
	idNames     = []string{"_id", "id"}
	titleNames  = []string{"title", "name"}
	textNames   = []string{"text", "body", "content", "contents", "document", "passage", "page_content"}
	vectorNames = []string{"vector", "embedding"}
)

func document(text string) engine.Document { return engine.Document{Text: text} }

// object reads one line of JSONL: an object with "_id" or "id", "title" and "text". All other
// fields become metadata. The members of an object named "metadata" or "payload" count as fields of the
// document, so that exports of this and other programs can be read; the member "lexsem" of an export is
// ignored. If there is no "text", the text is "body", "content", "contents", "document", "passage" or "page_content". "vector"
// or "embedding" is the vector if it is an array of numbers. If there is no text, the texts of nested objects are the text. Errors:
// ErrMalformed. A record of a file with an id stays without one.
func (s *File) object(raw []byte) (engine.Document, error) { return s.parse(raw, s.o.ID == "") }

func (s *File) parse(raw []byte, needID bool) (engine.Document, error) {
	raw = finite(raw)
	fields, err := parseObject(raw)
	if err == nil && repeats(raw, fields) {
		var all any
		all, err = s.distinct(decoder(raw))
		fields, _ = all.(map[string]any)
	}
	if err != nil {
		return engine.Document{}, err
	}
	return s.fields(fields, needID)
}

// fields makes a document of an object; it keeps and changes the map. Errors in fields other than the text are
// warnings.
func (s *File) fields(fields map[string]any, needID bool) (doc engine.Document, err error) {
	c := s.o.Columns
	s.readableNumbers(fields)
	if doc.ID, err = takeID(fields, c.ID, needID); err != nil && (needID || c.ID != "") {
		return doc, err
	} else if err != nil {
		s.Warn(s.line, "%v; this record gets an id of its own", err)
	}
	if _, ours := fields["lexsem"].(map[string]any); ours { // what an export has beside the document
		delete(fields, "lexsem")
	}
	s.flatten(fields, "payload")
	if doc.Title, err = takeText(fields, c.Title, titleNames[:1]); err != nil {
		s.Warn(s.line, "%v; it is kept as metadata", err)
	}
	if doc.Text, err = takeText(fields, c.Text, textNames); err != nil {
		return doc, err
	}
	if blank(doc.Text) && c.Text == "" && !s.o.Rows {
		doc.Text = s.nested(fields)
	}
	if doc.Vector, err = takeVector(fields, c.Vector); err != nil {
		if !s.o.DropVectors || blank(doc.Title) && blank(doc.Text) {
			return doc, err
		}
		for _, name := range names(c.Vector, vectorNames) {
			delete(fields, name)
		}
		s.Warn(s.line, "%v; it is left out", err)
	}
	s.flatten(fields, "metadata")
	if len(fields) > 0 {
		doc.Metadata = fields
	}
	return doc, nil
}

// flatten moves the members of the object under name into the fields. It leaves out members whose names the document
// already has.
func (s *File) flatten(fields map[string]any, name string) {
	nested, ok := fields[name].(map[string]any)
	if !ok {
		return
	}
	delete(fields, name)
	for _, k := range slices.Sorted(maps.Keys(nested)) {
		if _, dup := fields[k]; dup {
			s.Warn(s.line, "field %q is both in the document and in its %s; that of the document is kept", clip(k, 80), name)
			continue
		}
		fields[k] = nested[k]
	}
}

// readableNumbers turns numbers that no float64 can hold into strings, since they could not be
// read back.
func (s *File) readableNumbers(fields map[string]any) {
	if n, bad := metadata.Unreadable(fields); bad {
		s.Warn(s.line, "number %s is out of range; it is kept as text", clip(n.String(), 40))
		asText(fields)
	}
}

// asText converts the numbers in v that no float64 represents to strings.
func asText(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = asText(e)
		}
	case []any:
		for i, e := range v {
			v[i] = asText(e)
		}
	case json.Number:
		if _, bad := metadata.Unreadable(v); bad {
			return v.String()
		}
	}
	return v
}

// finite is a line of JSON with null for NaN and Infinity.
func finite(line []byte) []byte {
	if !bytes.Contains(line, []byte("NaN")) && !bytes.Contains(line, []byte("Infinity")) {
		return line
	}
	var out bytes.Buffer
	out.ReadFrom(&plainJSON{r: bytes.NewReader(line)}) // which has no errors
	return out.Bytes()
}

// parseObject reads a JSON object with numbers as json.Number. The remedy in ErrMalformed is one for
// lines of JSONL.
func parseObject(line []byte) (map[string]any, error) {
	if !utf8.Valid(line) {
		return nil, Errorf(ErrBinary, "not valid UTF-8; convert the file first")
	}
	dec := decoder(line)
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, Errorf(ErrMalformed, "not a JSON object but %s; put one object on each line", other.Value)
		}
		return nil, Errorf(ErrMalformed, "not a JSON object: %w", err)
	}
	if fields == nil {
		return nil, Errorf(ErrMalformed, "not a JSON object: null")
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return nil, Errorf(ErrMalformed, "not a JSON object: more text after it (%q); put one object on each line", clip(string(rest[:min(len(rest), 100)]), 20))
	}
	return fields, nil
}

// unmarshal reads one JSON value, numbers as json.Number.
func unmarshal(raw []byte) (v any, err error) {
	return v, decoder(raw).Decode(&v)
}

// takeID removes "_id" or "id", or column, from the fields of a record and returns it as a string. Errors: ErrMalformed.
func takeID(fields map[string]any, column string, need bool) (string, error) {
	for _, name := range names(column, idNames) {
		v, ok := fields[name]
		if !ok {
			continue
		}
		delete(fields, name)
		switch id := v.(type) {
		case string:
			if id == "" {
				return "", Errorf(ErrMalformed, "field %q is empty; give every line an id", name)
			}
			return id, nil
		case json.Number:
			return id.String(), nil
		}
		return "", Errorf(ErrMalformed, "field %q is neither a string nor a number", name)
	}
	if column != "" {
		return "", Errorf(ErrMalformed, "no field %q; give every line an id", column)
	}
	if need {
		return "", errNoID
	}
	return "", nil
}

// takeText removes the first of the named fields that exists, and returns it. Under the first name
// a number counts as its digits; under the other names only a string counts.
func takeText(fields map[string]any, column string, usual []string) (string, error) {
	for i, name := range names(column, usual) {
		switch v := fields[name].(type) {
		case nil:
			delete(fields, name)
		case string:
			delete(fields, name)
			return v, nil
		case json.Number:
			if i == 0 {
				delete(fields, name)
				return v.String(), nil
			}
		default:
			if i == 0 {
				return "", Errorf(ErrMalformed, "field %q is not a string; quote it", name)
			}
		}
	}
	return "", nil
}

// takeVector removes the vector from fields. A field with one of the usual names that is
// not an array of numbers stays metadata.
func takeVector(fields map[string]any, column string) ([]float32, error) {
	for _, name := range names(column, vectorNames) {
		v, ok := fields[name]
		if !ok {
			continue
		}
		vec, err := vectorOf(v)
		if named, several := v.(map[string]any); several && err == nil {
			vec, err = oneVector(named)
		}
		switch {
		case err != nil:
			return nil, Errorf(ErrMalformed, "field %q: %w", name, err)
		case vec != nil || v == nil:
			delete(fields, name)
			return vec, nil
		case column != "":
			return nil, Errorf(ErrMalformed, "field %q is not an array of numbers", name)
		}
	}
	if column == "" {
		return nil, nil
	}
	for _, name := range vectorNames { // Qdrant's named vectors
		if named, ok := fields[name].(map[string]any); ok && named[column] != nil {
			vec, err := vectorOf(named[column])
			if err == nil && vec == nil {
				err = errors.New("not an array of numbers")
			}
			if err != nil {
				return nil, Errorf(ErrMalformed, "vector %q: %w", column, err)
			}
			delete(fields, name)
			return vec, nil
		}
	}
	return nil, nil
}

// oneVector returns the only vector among named ones.
func oneVector(named map[string]any) (vec []float32, err error) {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		v, err := vectorOf(named[name])
		if err != nil {
			return nil, err
		}
		if v != nil {
			vec = v
			found = append(found, strconv.Quote(clip(name, 40)))
		}
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("it has %d vectors, %s; name one of them", len(found), clip(strings.Join(found, ", "), 200))
	}
	return vec, nil
}

// vectorOf returns v as a vector, or nil if it is not an array of numbers.
func vectorOf(v any) ([]float32, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, nil
	}
	out := make([]float32, len(list))
	for i, e := range list {
		var f float64
		var err error
		switch e := e.(type) {
		case json.Number:
			f, err = strconv.ParseFloat(string(e), 32)
		case float64:
			f = e
		case int64:
			f = float64(e)
		default:
			return nil, nil
		}
		if out[i] = float32(f); err != nil || math.IsInf(float64(out[i]), 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("number %s is out of range", clip(fmt.Sprint(e), 40))
		}
	}
	return out, nil
}

// names are the names to look for: column if it is set, else the usual ones.
func names(column string, usual []string) []string {
	if column != "" {
		return []string{column}
	}
	return usual
}
