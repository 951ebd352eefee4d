package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/internal/yield"
)

// shape lists properties of a schema beyond the types, by the name of the argument:
// bounds of numbers, choices, lengths.
type shape map[string]func(*jsonschema.Schema)

// newTool describes a tool with arguments of type In, at its first use, since most runs of the program serve no tools. It
// promises no schema of answers: they are text unless a call requests values.
func newTool[In any](t sdk.Tool, s shape) func() *sdk.Tool {
	return sync.OnceValue(func() *sdk.Tool {
		in := schemaOf[In]()
		for name, refine := range s {
			p := in.Properties[name]
			if p == nil {
				panic("mcp: " + t.Name + " has no argument " + name)
			}
			refine(p)
		}
		t.InputSchema = in
		return &t
	})
}

// form is the argument of all tools for the form of an answer: one of the two, so that no model reads the answer twice.
type form struct {
	JSON bool `json:"json,omitempty" jsonschema:"true: the answer is structured content with all values, and no text"`
}

func (f form) values() bool { return f.JSON }

// schemaOf is the schema of a type. It panics if the type has none, which is a mistake in
// this package.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err)
	}
	plain(s)
	return s
}

// plain removes null from the types in s and its parts: some models accept only single
// types, and no answer has a null.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
}

// between limits a number and names its default.
func between(lo, hi float64, value any) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		bounds(lo, hi)(s)
		byDefault(value)(s)
	}
}

// bounds limits a number without a default.
func bounds(lo, hi float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = &lo, &hi }
}

// from sets the minimum of a number.
func from(lo float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		s.Minimum = &lo
		byDefault(0)(s)
	}
}

// lengths limits the length of a text.
func lengths(lo, hi int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = &lo, &hi }
}

// oneOf lists all values of a string; the first is its default.
func oneOf(values ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		byDefault(values[0])(s)
	}
}

func byDefault(value any) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		s.Default = data
	}
}

// addTool registers a tool. call returns the answer as text for people and models, and as a value. If the value has a
// method picture, that returns a PNG that is shown with the text. The SDK would read arguments through float64, so
// that large integers lose digits.
func addTool[In interface{ values() bool }, Out any](s *Server, srv *sdk.Server, outer context.Context, t *sdk.Tool, call func(context.Context, In) (string, Out, error)) {
	srv.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := within(ctx, outer)
		defer cancel()
		if t.Annotations.ReadOnlyHint {
			ctx, cancel = s.limited(ctx)
			defer cancel()
		}
		in, err := arguments[In](ctx, t, req.Params.Arguments)
		yield.EndTurn(outer)
		if err == nil {
			var text string
			var out Out
			if text, out, err = call(ctx, in); err == nil {
				res := &sdk.CallToolResult{}
				if in.values() {
					text, res.StructuredContent = "The answer is the structured content.", out
				}
				res.Content = []sdk.Content{&sdk.TextContent{Text: text}}
				if shown, ok := any(out).(interface{ picture() []byte }); ok && shown.picture() != nil {
					res.Content = append(res.Content, &sdk.ImageContent{MIMEType: "image/png", Data: shown.picture()})
				}
				return res, nil
			}
		}
		res := &sdk.CallToolResult{}
		res.SetError(errors.New(s.advice(err)))
		return res, nil
	})
}

// obedient reads as long as its context lasts.
type obedient struct {
	ctx context.Context
	r   io.Reader
}

func (o obedient) Read(b []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.r.Read(b[:min(len(b), 64<<10)])
}

// arguments reads the arguments of a call. Each pass over some megabytes takes some ten milliseconds, and obeys ctx.
func arguments[In any](ctx context.Context, t *sdk.Tool, data json.RawMessage) (in In, err error) {
	defer func() {
		if ended := ctx.Err(); err != nil && ended != nil {
			err = ended
		}
	}()
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	schema := t.InputSchema.(*jsonschema.Schema)
	var given map[string]json.RawMessage
	if err := json.NewDecoder(obedient{ctx, bytes.NewReader(data)}).Decode(&given); err != nil {
		return in, refuse("the arguments of %s are not a JSON object: %s", t.Name, clipped(err.Error(), 300))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if schema.Properties[name] == nil {
			return in, refuse("%s has no argument %q; it takes %s", t.Name, clipped(name, 80), strings.Join(schema.PropertyOrder, ", "))
		}
	}
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			return in, refuse("%s needs %s: %s", t.Name, name, schema.Properties[name].Description)
		}
	}
	floats := false
	for name, raw := range given { // clients whose numbers are all floats write 5.0, an integer by JSON Schema
		if schema.Properties[name].Type != "integer" {
			continue
		}
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			given[name], floats = strconv.AppendInt(nil, int64(f), 10), true
		}
	}
	if floats {
		if data, err = json.Marshal(given); err != nil {
			return in, err
		}
	}
	d := json.NewDecoder(obedient{ctx, bytes.NewReader(data)})
	d.UseNumber()
	d.DisallowUnknownFields()
	var kind *json.UnmarshalTypeError
	switch err := d.Decode(&in); {
	case errors.As(err, &kind):
		return in, refuse("%s: got %s, want %s", clipped(strings.TrimPrefix(kind.Field, "form."), 300), clipped(kind.Value, 80), kindName(kind.Type))
	case err != nil:
		return in, refuse("the arguments of %s: %s", t.Name, clipped(err.Error(), 300)) // it may hold a name of any length
	}
	if _, err := d.Token(); err != io.EOF {
		return in, refuse("the arguments of %s are more than one JSON object; send one", t.Name)
	}
	return in, nil
}

// kindName is the JSON name of a Go type.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// inRange refuses a number outside lo to hi.
func inRange(name string, n, lo, hi int) error {
	if n < lo || n > hi {
		return refuse("%s is %d; use a number from %d to %d", name, n, lo, hi)
	}
	return nil
}

// inputError says that the arguments are wrong, and what to give instead.
type inputError struct{ msg string }

func (e *inputError) Error() string { return e.msg }

func refuse(format string, args ...any) error { return &inputError{fmt.Sprintf(format, args...)} }
