// Package metadata turns the metadata of documents into JSON and back. [Encode] refuses what JSON cannot hold
// with engine.ErrInvalid. [Parse] reads numbers as json.Number, so no digit is lost. [Merge] applies a merge
// patch (RFC 7396).
package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
)

// ErrNoObject answers metadata that is no JSON object.
var ErrNoObject = errors.New("metadata is no JSON object")

// Encode writes metadata as JSON that Parse reads as the same. It fails with
// engine.ErrInvalid on what JSON cannot hold: values of types that it has not,
// nesting deeper than 10,000, and texts that are not UTF-8, which JSON would
// change in silence. (A json.Marshaler that writes U+FFFD as an escape is taken
// for one of those.)
func Encode(m map[string]any) ([]byte, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: metadata: %v", fault.ErrInvalid, err)
	}
	at := replaced(raw)
	if at < 0 && !utf8.Valid(raw) { // a json.RawMessage is written as it is
		at = bytes.IndexRune(raw, utf8.RuneError)
	}
	if at >= 0 {
		return nil, fmt.Errorf("%w: metadata: a text that is not UTF-8, behind %q; convert it", fault.ErrInvalid, raw[max(0, at-40):at])
	}
	if !json.Valid(raw) {
		_, err := Parse(raw)
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return raw, nil
}

// replaced is where package json has written U+FFFD for bytes that are not
// UTF-8, or -1. It does so as an escape, and writes a true U+FFFD as it is.
func replaced(raw []byte) int {
	for from := 0; ; {
		i := bytes.Index(raw[from:], []byte(`\ufffd`))
		if i < 0 {
			return -1
		}
		i += from
		before := len(raw[:i]) - len(bytes.TrimRight(raw[:i], `\`))
		if before%2 == 0 { // else the backslash is one of the text
			return i
		}
		from = i + 1
	}
}

// Parse reads metadata from JSON, numbers as json.Number; nil from nothing and
// from null. It fails with ErrNoObject on what no reader of it can read: not an
// object, or one that nests deeper than 10,000, or with something behind it.
func Parse(raw []byte) (m map[string]any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoObject, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something stands behind it", ErrNoObject)
	}
	return m, nil
}

// Merge applies a JSON merge patch (RFC 7396) to metadata as Parse reads them, and
// returns the result: null removes a key, an object is merged into the object that
// is there, anything else takes its place. It changes m and may share parts of patch.
func Merge(m, patch map[string]any) map[string]any {
	if m == nil {
		m = make(map[string]any, len(patch))
	}
	for key, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			inner, _ := m[key].(map[string]any) // anything else makes room for an object
			m[key] = Merge(inner, v)
		default:
			m[key] = v
		}
	}
	return m
}
