// Package filter holds conditions on the metadata of documents. Start with [Parse], which reads an expression
// such as `lang = "go" and year >= 2020`, or with [Eq], [In], [Range], [And] and the other functions that
// make a [Filter]. [Filter.Match] tests one document; to test many, search with the filter.
//
// A Filter never changes and may be shared. Numbers are compared exactly, whatever their size, and only
// values of one kind are compared. An invalid filter stores its error (Err), and searches refuse it with
// engine.ErrInvalid. A mistake in an expression is an *Error with its position. facts.go writes metadata as
// sorted texts, for engines that can only compare texts. [ParseBoosts] and [ParseSort] read expressions that
// change the order of hits.
package filter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

// Filter is a condition on metadata; a search returns only documents that meet it. Every document meets the
// zero value. Filters are made by the functions below or by Parse. They are immutable and may be shared.
//
// A path names a field, nested fields with dots: "author.name". A key with a dot in it is found by
// the same path. The path "id" is the document's id, and "metadata.id" a metadata field of that name. If an array is on the path or at its end, one element that meets the condition is
// enough. Each condition of And looks for its own element.
//
// Values are compared only with values of their own kind: a number never equals a string. Numbers are
// compared exactly: 1 equals 1.0 and 10e-1, and 9007199254740993 does not equal 9007199254740992. Strings are
// compared byte by byte, so ISO 8601 dates are in order. A document without the field meets no condition
// except under Not.
//
// A filter with a value that cannot be compared, or nested deeper than maxDepth, is invalid: Err
// says why, and searches refuse it.
type Filter struct {
	op     operation
	path   string
	values []scalar // one of a comparison, two of Range, any number of In
	args   []Filter
	depth  int // of the deepest argument, and 1
	leaves int // conditions in it
	err    error
}

// Limits of a filter.
const (
	// maxLength is the greatest length of an expression, in bytes.
	maxLength = 1 << 20
	// maxDepth is the greatest nesting of And, Or and Not.
	maxDepth = 100
	// maxConditions is the greatest number of conditions. One In counts once.
	maxConditions = 256
)

type operation uint8

const (
	opAll operation = iota // the zero Filter and And()
	opNone
	opAnd
	opOr
	opNot
	opExists
	opEq
	opLt
	opLe
	opGt
	opGe
	opRange
	opPrefix
	opIn
)

var opText = map[operation]string{opEq: "=", opLt: "<", opLe: "<=", opGt: ">", opGe: ">=", opPrefix: "^="}

// Eq is met if path has the value v: a string, a number of any Go type, a json.Number, a time.Time,
// true, false, or nil for null.
func Eq(path string, v any) Filter { return comparison(opEq, path, v) }

// In is met if path has one of the values; never if there are none.
func In(path string, values ...any) Filter { return comparison(opIn, path, values...) }

// Lt is met if path is less than v, a number or a string.
func Lt(path string, v any) Filter { return comparison(opLt, path, v) }

// Le is met if path is v, a number or a string, or less.
func Le(path string, v any) Filter { return comparison(opLe, path, v) }

// Gt is met if path is more than v, a number or a string.
func Gt(path string, v any) Filter { return comparison(opGt, path, v) }

// Ge is met if path is v, a number or a string, or more.
func Ge(path string, v any) Filter { return comparison(opGe, path, v) }

// Range is met if one value of path is between lo and hi, both included: two numbers or two
// strings.
func Range(path string, lo, hi any) Filter { return comparison(opRange, path, lo, hi) }

// Prefix is met if path is a string that starts with prefix.
func Prefix(path, prefix string) Filter { return comparison(opPrefix, path, prefix) }

// Exists is met if path is present with any value, including null, an empty array and an empty object.
func Exists(path string) Filter { return comparison(opExists, path) }

// And is met if all of fs are; And() always is.
func And(fs ...Filter) Filter { return joined(opAnd, opAll, fs) }

// Or is met if one of fs is; Or() never is.
func Or(fs ...Filter) Filter { return joined(opOr, opNone, fs) }

// Not is met if f is not.
func Not(f Filter) Filter {
	switch {
	case f.IsZero():
		return Filter{op: opNone}
	case f.op == opNone:
		return Filter{}
	}
	return nested(opNot, []Filter{f})
}

// IsZero reports whether f is the zero Filter, which every document meets.
func (f Filter) IsZero() bool { return f.op == opAll && f.err == nil }

// Err returns why a filter is invalid, as an engine.ErrInvalid, or nil.
func (f Filter) Err() error { return f.err }

// joined joins filters. It leaves out those that every document matches; if no other is left, it returns the zero Filter.
func joined(op, empty operation, fs []Filter) Filter {
	var kept []Filter
	all := false
	for _, f := range fs {
		switch {
		case f.err != nil:
			return f
		case f.IsZero():
			all = op == opOr
		default:
			kept = append(kept, f)
		}
	}
	switch {
	case all:
		return Filter{}
	case len(kept) == 0:
		return Filter{op: empty}
	case len(kept) == 1:
		return kept[0]
	}
	return nested(op, kept)
}

func nested(op operation, args []Filter) Filter {
	f := Filter{op: op, args: args}
	for _, a := range args {
		if a.err != nil {
			return a
		}
		f.depth = max(f.depth, a.depth+1)
		f.leaves += a.leaves
	}
	if f.depth >= maxDepth {
		return Filter{err: fmt.Errorf("%w: a filter that nests deeper than %d; make it simpler", fault.ErrInvalid, maxDepth)}
	}
	if f.leaves > maxConditions {
		return Filter{err: fmt.Errorf("%w: a filter of more than %d conditions; use one in for many values", fault.ErrInvalid, maxConditions)}
	}
	return f
}

func comparison(op operation, path string, values ...any) Filter {
	f := Filter{op: op, path: path, leaves: 1, values: make([]scalar, len(values))}
	if !utf8.ValidString(path) {
		return Filter{err: fmt.Errorf("%w: filter on %q: a field that is not UTF-8; no document has it", fault.ErrInvalid, fault.Clip(path))}
	}
	for i, v := range values {
		s, err := toScalar(v)
		if err != nil {
			return Filter{err: fmt.Errorf("%w: filter on %q: %v", fault.ErrInvalid, fault.Clip(path), err)}
		}
		f.values[i] = s
		if why := f.check(i); why != "" {
			return Filter{err: fmt.Errorf("%w: filter on %q: %s", fault.ErrInvalid, fault.Clip(path), why)}
		}
	}
	return f
}

// maxExponent bounds the exponents of numbers in filters. Exponents in documents are
// capped far above it, which changes no comparison with a filter.
const maxExponent = 1 << 40

// check returns the reason why the i-th value of a comparison is invalid, or returns "".
func (f Filter) check(i int) string {
	v := f.values[i]
	if f.path == idPath && v.kind != value.String {
		return "ids are texts; put quotes around the value, or write " + ownID + " for a metadata field of that name"
	}
	if f.op >= opLt && f.op <= opRange && v.kind != value.Number && v.kind != value.String {
		return "only numbers and strings have an order; use = for true, false and null"
	}
	if f.op == opPrefix && v.kind != value.String {
		return "only strings start with something; put quotes around the value"
	}
	if f.op == opRange && i == 1 && v.kind != f.values[0].kind {
		return "a range between a number and a string; use two of one kind"
	}
	if v.kind == value.Number {
		if e := value.ParseDecimal([]byte(v.text)).Exponent(); e > maxExponent || e < -maxExponent {
			return fmt.Sprintf("the number %s is out of range; keep its exponent within ±%d", fault.Clip(v.text), int64(maxExponent))
		}
	}
	return ""
}

// toScalar converts a Go value to its form in a document's metadata.
func toScalar(v any) (scalar, error) {
	switch v := v.(type) {
	case nil:
		return scalar{kind: value.Null}, nil
	case json.Number:
		if !value.ValidNumber(v.String()) {
			return scalar{}, fmt.Errorf("%q is no number; write it as JSON does", fault.Clip(v.String()))
		}
		return scalar{value.Number, v.String()}, nil
	case time.Time:
		return scalar{value.String, timestamp(v)}, nil
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		if !utf8.ValidString(r.String()) {
			return scalar{}, fmt.Errorf("the text %q is not UTF-8; convert it", fault.Clip(r.String()))
		}
		return scalar{value.String, r.String()}, nil
	case reflect.Bool:
		if r.Bool() {
			return scalar{kind: value.True}, nil
		}
		return scalar{kind: value.False}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return scalar{value.Number, strconv.FormatInt(r.Int(), 10)}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return scalar{value.Number, strconv.FormatUint(r.Uint(), 10)}, nil
	case reflect.Float32, reflect.Float64:
		text, err := json.Marshal(v) // the digits that metadata of this type gets
		if err != nil {
			return scalar{}, fmt.Errorf("%v is no number of JSON; use a finite one", v)
		}
		return scalar{value.Number, string(text)}, nil
	}
	return scalar{}, fmt.Errorf("a value of type %T; use a string, a number, a time.Time, true, false or nil", v)
}

// String returns f as an expression. Parse reads it as the same filter, unless it is longer than 1 MiB.
// The zero Filter gives "true", an invalid one its error.
func (f Filter) String() string {
	if f.err != nil {
		return f.err.Error()
	}
	var b strings.Builder
	f.write(&b)
	return b.String()
}

func (f Filter) write(b *strings.Builder) {
	switch f.op {
	case opAll:
		b.WriteString("true")
		return
	case opNone:
		b.WriteString("false")
		return
	case opAnd, opOr:
		for i, a := range f.args {
			if i > 0 {
				b.WriteString(map[operation]string{opAnd: " and ", opOr: " or "}[f.op])
			}
			a.writeInside(b, f.op)
		}
		return
	case opNot:
		b.WriteString("not ")
		f.args[0].writeInside(b, f.op)
		return
	}
	writePath(b, f.path)
	switch f.op {
	case opExists:
		b.WriteString(" exists")
	case opRange:
		b.WriteString(" between ")
		f.values[0].write(b)
		b.WriteString(" and ")
		f.values[1].write(b)
	case opIn:
		b.WriteString(" in [")
		for i, v := range f.values {
			if i > 0 {
				b.WriteString(", ")
			}
			v.write(b)
		}
		b.WriteString("]")
	default:
		b.WriteString(" " + opText[f.op] + " ")
		f.values[0].write(b)
	}
}

// writeInside writes f as an operand, in parentheses if needed. An And in an And also gets them, so that
// reading gives the same nesting.
func (f Filter) writeInside(b *strings.Builder, outer operation) {
	if f.op != opOr && (f.op != opAnd || outer == opOr) {
		f.write(b)
		return
	}
	b.WriteByte('(')
	f.write(b)
	b.WriteByte(')')
}
