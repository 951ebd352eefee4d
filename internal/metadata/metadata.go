// Package metadata turns the metadata of documents into JSON and back. [Encode] refuses values that JSON
// cannot express with engine.ErrInvalid, and [Storable] numbers out of range, too. [Parse] reads numbers as json.Number, so no digit is lost. [Merge]
// applies a merge patch (RFC 7396).
package metadata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
)

// ErrNoObject means that metadata is not a JSON object.
var ErrNoObject = errors.New("metadata is no JSON object")

// Encode writes metadata as JSON that Parse reads back unchanged. It fails with engine.ErrInvalid for
// values that JSON cannot express, for nesting deeper than 10,000, and for texts that are not UTF-8, which
// package json would change silently. (A json.Marshaler that writes U+FFFD as an escape is mistaken for
// such a text.)
func Encode(m map[string]any) ([]byte, error) { return EncodeWithin(context.Background(), m) }

// EncodeWithin is Encode until ctx ends.
func EncodeWithin(ctx context.Context, m map[string]any) ([]byte, error) {
	raw, err := marshal(ctx, m)
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, fmt.Errorf("%w: metadata: %v", fault.ErrInvalid, err)
	}
	at := replaced(raw)
	if at < 0 && !utf8.Valid(raw) { // a json.RawMessage is written as it is
		at = bytes.IndexRune(raw, utf8.RuneError)
	}
	if at >= 0 {
		return nil, fmt.Errorf("%w: metadata: a text that is not UTF-8, after %q; convert it", fault.ErrInvalid, raw[max(0, at-40):at])
	}
	if !json.Valid(raw) {
		_, err := Parse(raw)
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return raw, nil
}

// Storable is EncodeWithin for what is to be stored: it also refuses numbers that no float64 can hold, since no filter and few clients
// could read them.
func Storable(ctx context.Context, m map[string]any) ([]byte, error) {
	raw, err := EncodeWithin(ctx, m)
	if err != nil {
		return nil, err
	}
	if n, bad := unreadableIn(raw); bad {
		return nil, fmt.Errorf("%w: metadata: the number %.40s is out of range; write it as a string", fault.ErrInvalid, n)
	}
	return raw, nil
}

// marshal is json.Marshal of m until ctx ends: of some fields at once, in the same order.
func marshal(ctx context.Context, m map[string]any) ([]byte, error) {
	const atOnce = 512
	if len(m) <= atOnce {
		return json.Marshal(m)
	}
	all := []byte{'{'}
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(m)), atOnce) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some := make(map[string]any, len(keys))
		for _, k := range keys {
			some[k] = m[k]
		}
		raw, err := json.Marshal(some)
		if err != nil {
			return nil, err
		}
		raw[len(raw)-1] = ','
		all = append(all, raw[1:]...)
	}
	all[len(all)-1] = '}'
	return all, nil
}

// replaced is the position where package json has written U+FFFD for bytes that are not UTF-8, or -1. It
// does so as an escape, and writes an actual U+FFFD unescaped.
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

// Parse reads metadata from JSON, with numbers as json.Number; it returns nil for empty input and for null.
// It fails with ErrNoObject if the input is not an object, nests deeper than 10,000, or has something after
// it.
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
		return nil, fmt.Errorf("%w: something follows it", ErrNoObject)
	}
	return m, nil
}

// Merge applies a JSON merge patch (RFC 7396) to metadata from Parse, and returns the result: null removes
// a key, an object is merged into an existing object, any other value replaces the old one. It changes m
// and may share parts of patch.
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
