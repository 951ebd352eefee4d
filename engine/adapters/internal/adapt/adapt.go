// Package adapt is the common part of the adapters for LangChainGo, Genkit and Eino. Each adapter is a
// separate module in engine/adapters, so that the main module needs none of the frameworks; `.ci/adapters`
// tests them. Start with [Query], which makes an engine.Query of a call, and [Metadata], which makes metadata
// of a hit. [ID] names a document without an id, [Filter] reads a framework's filter, [Mark] and [Narrow]
// keep namespaces apart.
package adapt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

const (
	// NamespaceKey is the metadata field that stores a document's namespace.
	NamespaceKey = "_namespace"
	// SpanKey is the metadata field with the span of a document found, if the query asks for spans: the bytes "start"
	// to "end" of the stored document's text, and "first_line" and "last_line". It is not stored.
	SpanKey = "_span"
)

// ID returns an id for a document without one: 40 hexadecimal digits of the SHA-256 of its content. A document
// stored twice replaces itself.
func ID(namespace, text string, metadata map[string]any) (string, error) {
	if _, found := metadata[SpanKey]; found { // by a search, and the same document
		metadata = maps.Clone(metadata)
		delete(metadata, SpanKey)
	}
	if len(metadata) == 0 {
		metadata = nil
	}
	b, err := json.Marshal([]any{namespace, text, metadata})
	if err != nil {
		return "", fmt.Errorf("%w: metadata that cannot be written as JSON: %v", engine.ErrInvalid, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:20]), nil
}

// Filter makes an engine.Filter from the value that a framework's user passes: nil, which keeps all; an engine.Filter;
// a text for filter.Parse; or a map of metadata fields to the required value or to a slice of allowed values. Errors:
// engine.ErrInvalid or *filter.Error.
func Filter(v any) (engine.Filter, error) {
	switch v := v.(type) {
	case nil:
		return engine.Filter{}, nil
	case engine.Filter:
		return v, v.Err()
	case string:
		return filter.Parse(v)
	case map[string]any:
		return equalities(v)
	}
	return engine.Filter{}, fmt.Errorf("%w: a filter of type %T; use an engine.Filter, a text such as `lang = \"go\" and year > 2020`, or a map of fields to values", engine.ErrInvalid, v)
}

func equalities(m map[string]any) (engine.Filter, error) {
	var all []engine.Filter
	for _, path := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(path, "$") {
			return engine.Filter{}, fmt.Errorf("%w: a filter with the operator %q; in a map each field has its value: for more write a text such as `year > 2020 or lang = \"go\"`", engine.ErrInvalid, path)
		}
		value := m[path]
		if path == "id" { // a map is of metadata
			path = "metadata.id"
		}
		f := filter.Eq(path, value)
		if values := reflect.ValueOf(value); value != nil && values.Kind() == reflect.Slice {
			list := make([]any, values.Len())
			for i := range list {
				list[i] = values.Index(i).Interface()
			}
			f = filter.In(path, list...)
		}
		if err := f.Err(); err != nil {
			return f, err
		}
		all = append(all, f)
	}
	f := filter.And(all...)
	return f, f.Err()
}

// Narrow joins the filter of a base query, the filter of a call (see Filter), and a namespace; "" means all
// namespaces.
func Narrow(base engine.Filter, call any, namespace string) (engine.Filter, error) {
	f, err := Filter(call)
	if err != nil {
		return f, err
	}
	var all []engine.Filter
	if namespace != "" {
		all = append(all, filter.Eq(NamespaceKey, namespace))
	}
	for _, f := range []engine.Filter{base, f} {
		if !f.IsZero() {
			all = append(all, f)
		}
	}
	f = filter.And(all...)
	return f, f.Err()
}

// Mark returns a copy of a document's metadata with its namespace added. It refuses a document that already has the
// field, because the document would change its namespace.
func Mark(metadata map[string]any, namespace string) (map[string]any, error) {
	if _, taken := metadata[NamespaceKey]; taken {
		return nil, fmt.Errorf("%w: metadata with the field %q, which names the namespace; call it otherwise", engine.ErrInvalid, NamespaceKey)
	}
	m := maps.Clone(metadata)
	delete(m, SpanKey)
	if namespace == "" {
		return m, nil
	}
	if m == nil {
		m = map[string]any{}
	}
	m[NamespaceKey] = namespace
	return m, nil
}

// Metadata returns a hit's metadata as programs expect it from JSON; it is never nil. Numbers are float64, or
// json.Number if they would lose digits. The namespace is removed. The title is added as "title" unless that field
// exists, and a span under SpanKey.
func Metadata(h engine.Hit) map[string]any {
	m := make(map[string]any, len(h.Metadata)+1)
	for k, v := range h.Metadata {
		if k != NamespaceKey {
			m[k] = plain(v)
		}
	}
	if _, taken := m["title"]; h.Title != "" && !taken {
		m["title"] = h.Title
	}
	if h.Span[1] > 0 {
		m[SpanKey] = map[string]any{"start": float64(h.Span[0]), "end": float64(h.Span[1]), "first_line": float64(h.SpanLines[0]), "last_line": float64(h.SpanLines[1])}
	}
	return m
}

// plain converts the numbers in a JSON value to float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil || !same(v.String(), f) {
			return v
		}
		return f
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = plain(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = plain(x)
		}
		return list
	}
	return v
}

// same reports whether f keeps every digit of the number in text. A float64 keeps up to 15 digits unless it
// is very small. A longer number is kept if it is how that float64 is written.
func same(text string, f float64) bool {
	if b, err := json.Marshal(f); err == nil && string(b) == text {
		return true
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	return digits == "" || len(digits) <= 15 && math.Abs(f) >= 1e-300
}

// Call holds the options of one call of a framework. Zero fields except Text mean those of the base query.
type Call struct {
	Text          string
	K             int
	Mode, Variant string
	Filter        any     // as Filter reads it; applies together with that of the base query
	Namespace     string  // "" means all namespaces
	Threshold     float64 // least score of a hit, checked here and applied by the caller; 0 means no limit
}

// Query joins the base query of a component's user with one call, whose fields take precedence. It has no vector.
func Query(base engine.Query, c Call) (q engine.Query, err error) {
	q = base
	q.Text, q.Vector = c.Text, nil
	q.K, q.Mode, q.Variant = cmp.Or(c.K, q.K), cmp.Or(c.Mode, q.Mode), cmp.Or(c.Variant, q.Variant)
	if q.K < 0 {
		return q, fmt.Errorf("%w: %d documents wanted; use a positive number", engine.ErrInvalid, q.K)
	}
	if math.IsNaN(c.Threshold) || math.IsInf(c.Threshold, 0) {
		return q, fmt.Errorf("%w: a score threshold of %v; use a number", engine.ErrInvalid, c.Threshold)
	}
	q.Filter, err = Narrow(q.Filter, c.Filter, c.Namespace)
	return q, err
}

// ByRole returns an encoder that uses one encoder for passages and another for queries. Both must share a vector space.
// Close closes both.
func ByRole(passage, query encoder.Encoder) encoder.Encoder { return byRole{passage, query} }

type byRole struct {
	encoder.Encoder
	query encoder.Encoder
}

func (b byRole) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if role == encoder.Query {
		return b.query.Encode(ctx, role, in, need)
	}
	return b.Encoder.Encode(ctx, role, in, need)
}

func (b byRole) Close() error { return errors.Join(b.Encoder.Close(), b.query.Close()) }
