package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxVector is the maximum length of a vector: no database has a greater dimension.
const maxVector = 1 << 16

// The memory that package json needs for a value, in bytes, including garbage from growing
// arrays and maps. TestCostIsEnough measures it.
const (
	costCopies  = 4   // a byte of the body: the decoder has its own buffer, which doubles
	costGrown   = 5   // a byte of an element of an array that grows
	costOwn     = 700 // a value that reads itself (json.Unmarshaler)
	costText    = 32
	costNumber  = 24  // as json.Number
	costHolder  = 48  // an object or array in metadata
	costElement = 96  // of an array in metadata
	costEntry   = 40  // of an object in metadata, beside its key
	costFirst   = 400 // the first entry of an object, and the ninth, beside that
	costMore    = 200 // each after the ninth, beside that
	costWrong   = 160 // an error
)

// form describes the decoded type of a JSON value. nil means that the value is skipped.
type form struct {
	free   bool  // whatever JSON says it is: metadata
	own    int64 // bytes of a value beside what is in it
	number bool
	slot   int64   // bytes of an element of an array
	most   int     // elements of an array
	of     *form   // elements of an array; nil for what is none
	fields []field // of an object of Go; nil for what is none
}

type field struct {
	name string
	form *form
}

var (
	anything = &form{free: true, slot: costElement, most: math.MaxInt}
	readsOwn = reflect.TypeFor[json.Unmarshaler]()
)

// formOf is the form of the values of a type. texts is the maximum number of elements of an
// array that is not a vector.
func formOf(t reflect.Type, texts int) *form {
	f := &form{}
	switch t.Kind() {
	case reflect.Pointer:
		return formOf(t.Elem(), texts)
	case reflect.Interface, reflect.Map:
		return anything
	case reflect.Slice:
		e := t.Elem()
		f.slot, f.most, f.of = costGrown*int64(e.Size()), texts, formOf(e, texts)
		switch e.Kind() {
		case reflect.Uint8: // a text as a rule
			f.most, f.of.number = math.MaxInt, true
		case reflect.Float32:
			f.most, f.of.number = maxVector, true
		}
	case reflect.Struct:
		for _, v := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(v.Tag.Get("json"), ","); name != "" {
				f.fields = append(f.fields, field{name, formOf(v.Type, texts)})
			}
		}
	}
	if reflect.PointerTo(t).Implements(readsOwn) {
		f.own, f.slot = costOwn, f.slot+costWrong
	}
	return f
}

// field is the form of the value under a key, with keys matched as in package json: in any
// case, and with escapes.
func (f *form) field(key []byte) (field, bool) {
	var b [64]byte
	name := unescaped(b[:0], key)
	for _, x := range f.fields {
		if bytes.EqualFold([]byte(x.name), name) {
			return x, true
		}
	}
	return field{}, false
}

// unescaped is a key without its escapes, in b; nil if it is too long for a field name, or has
// an escape that no field name has.
func unescaped(b, key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	for i := 0; i < len(key); i++ {
		if len(b)+utf8.UTFMax > cap(b) {
			return nil
		}
		if key[i] != '\\' {
			b = append(b, key[i])
			continue
		}
		if i+6 > len(key) || key[i+1] != 'u' {
			return nil
		}
		r, err := strconv.ParseUint(string(key[i+2:i+6]), 16, 32)
		if err != nil {
			return nil
		}
		b = utf8.AppendRune(b, rune(r))
		i += 5
	}
	return b
}

// check is weigh for a body that must be JSON in UTF-8.
func (f *form) check(raw []byte, strict bool) (cost int64, err error) {
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return 0, refuse(http.StatusBadRequest, "invalid_json", "the body is empty; send a JSON object")
	case !utf8.Valid(raw):
		return 0, refuse(http.StatusBadRequest, "invalid_json", "the body is not UTF-8")
	}
	return f.weigh(raw, strict)
}

// weigh scans a JSON text before it is decoded, up to the first syntax error, without
// allocating. It returns how many bytes decoding it into a value of the form needs, and
// refuses too deep nesting and too long arrays; with strict it also refuses unknown fields.
func (f *form) weigh(raw []byte, strict bool) (cost int64, err error) {
	m := meter{strict: strict, next: field{"body", f}}
	for i := 0; i < len(raw); {
		token := raw[i:tokenEnd(raw, i)]
		if err := m.see(token); err != nil {
			return 0, err
		}
		i += len(token)
	}
	return m.cost, nil
}

// tokenEnd is the end of the token that begins at i: a string, a number or word, or one byte.
func tokenEnd(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		for i++; i < len(raw); i++ {
			if raw[i] == '"' {
				return i + 1
			} else if raw[i] == '\\' {
				i++
			}
		}
		return len(raw)
	case '{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\r':
		return i + 1
	}
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '"', '{', '}', '[', ']', ',', ':', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

// meter sums the cost of the tokens of a JSON text. The sum for the beginning of a text does
// not depend on the rest.
type meter struct {
	strict bool
	cost   int64
	next   field // of the value that comes next
	levels [maxDepth]nesting
	depth  int
}

// A nesting is an object or array that was opened.
type nesting struct {
	field      // what it is
	n      int // elements, or keys
	object bool
	key    bool // comes next
}

func (m *meter) see(token []byte) error {
	var in *nesting
	if m.depth > 0 {
		in = &m.levels[m.depth-1]
	}
	switch c := token[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ':':
		return nil
	case c == ',':
		if in != nil {
			in.key = in.object
		}
		return nil
	case c == '}' || c == ']':
		m.depth = max(m.depth-1, 0)
		return nil
	case in != nil && in.key && c == '"':
		return m.key(in, token[1:max(len(token)-1, 1)])
	}
	if in != nil && !in.object {
		if err := m.element(in); err != nil {
			return err
		}
	}
	return m.value(token)
}

// key counts a key of an object.
func (m *meter) key(in *nesting, key []byte) error {
	in.key = false
	m.next = field{name: in.name}
	switch {
	case in.form == nil:
	case in.form.free:
		m.next.form = in.form
		m.cost += costEntry + int64(len(key))
		if in.n++; in.n == 1 || in.n == 9 { // maps have room for eight, and then for more
			m.cost += costFirst
		} else if in.n > 9 {
			m.cost += costMore
		}
	default:
		x, known := in.form.field(key)
		if !known && m.strict {
			name := fmt.Sprintf("%.100s", key) // it may have any length
			return invalid(name, "unknown field %q; /openapi.json lists the fields", name)
		}
		m.next = x
	}
	return nil
}

// element counts a place in an array.
func (m *meter) element(in *nesting) error {
	m.next = field{name: in.name}
	if in.form == nil {
		return nil
	}
	m.next.form = in.form.of
	if in.form.free {
		m.next.form = in.form
	}
	m.cost += in.form.slot
	if in.n++; in.n > in.form.most {
		return invalid(in.name, "%s has more than %d elements; send fewer at a time, or documents as NDJSON", in.name, in.form.most)
	}
	return nil
}

// value counts a value; an object or array begins a new level.
func (m *meter) value(token []byte) error {
	at, c := m.next, token[0]
	free := at.form != nil && at.form.free
	if at.form != nil {
		m.cost += at.form.own
	}
	switch {
	case c == '{' || c == '[':
		if m.depth == maxDepth {
			return refuse(http.StatusBadRequest, "invalid_json", "the body nests deeper than %d levels", maxDepth)
		}
		object := c == '{'
		if free {
			m.cost += costHolder
		} else if at.form != nil && (object && at.form.fields == nil || !object && at.form.of == nil) {
			at.form = nil // of another kind: it is skipped
			m.cost += costWrong
		}
		m.levels[m.depth] = nesting{field: at, object: object, key: object}
		m.depth++
	case at.form == nil:
	case c == '"' && at.form.number:
		m.cost += costWrong
	case c == '"':
		n := int64(len(token))
		m.cost += costText + n + n/8
		if bytes.IndexByte(token, '\\') >= 0 {
			m.cost += n
		}
	case free:
		m.cost += costNumber + int64(len(token))
	}
	return nil
}
