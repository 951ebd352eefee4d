package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the report as one indented JSON object, with arrays of numbers or texts on one
// line. Numbers keep all digits.
func (r *Report) WriteJSON(w io.Writer) error { return WriteJSON(w, r) }

// WriteJSON writes any report in the format of Report.WriteJSON.
func WriteJSON(w io.Writer, report any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(report); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if _, err := w.Write(joinLeaves(b.Bytes())); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// ReadJSON reads a report that WriteJSON wrote. Unknown fields are ignored.
func ReadJSON(r io.Reader) (*Report, error) {
	rep := &Report{}
	if err := json.NewDecoder(r).Decode(rep); err != nil {
		return nil, fmt.Errorf("%w: not a report of the bench: %v", ErrBrokenLine, err)
	}
	if len(rep.Results) == 0 {
		return nil, fmt.Errorf("%w: not a report of the bench: it holds no results", ErrBrokenLine)
	}
	return rep, nil
}

// joinLeaves puts arrays of indented JSON that hold no object and no array on
// one line.
func joinLeaves(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '"' {
			end := stringEnd(b, i)
			out = append(out, b[i:end]...)
			i = end - 1
			continue
		}
		if b[i] == '[' {
			if end := leafEnd(b, i); end > 0 {
				out = appendLeaf(out, b[i:end])
				i = end - 1
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

// stringEnd is the position after the string that starts at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// leafEnd is the position after the array that starts at i, or 0 if the array has an object or an
// array.
func leafEnd(b []byte, i int) int {
	for i++; ; i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '[', '{':
			return 0
		case ']':
			return i + 1
		}
	}
}

func appendLeaf(out, leaf []byte) []byte {
	for i := 0; i < len(leaf); i++ {
		switch leaf[i] {
		case '"':
			end := stringEnd(leaf, i)
			out = append(out, leaf[i:end]...)
			i = end - 1
		case ' ', '\n':
		default:
			out = append(out, leaf[i])
		}
	}
	return out
}
