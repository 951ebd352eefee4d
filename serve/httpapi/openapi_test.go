package httpapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestDescriptionIsValid(t *testing.T) {
	doc := described(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if doc.Info.Version != "1.2.3" {
		t.Errorf("version %q", doc.Info.Version)
	}
	for name, schema := range doc.Components.Schemas {
		if schema.Value.Description == "" {
			t.Errorf("schema %s has no description", name)
		}
		for field, p := range schema.Value.Properties {
			if p.Ref == "" && p.Value.Description == "" {
				t.Errorf("field %s of %s has no description", field, name)
			}
		}
	}
}

func TestRoutesAreDescribed(t *testing.T) {
	doc := described(t)
	registered := map[string]bool{"GET /metrics": true}
	for _, rt := range routes() {
		path := strings.ReplaceAll(rt.path, "...}", "}")
		registered[rt.method+" "+path] = true
		item := doc.Paths.Value(path)
		if item == nil || item.GetOperation(rt.method) == nil {
			t.Errorf("%s %s is not described", rt.method, path)
			continue
		}
		op := item.GetOperation(rt.method)
		if keys := len(*op.Security) > 1; keys != (rt.scope != ScopeNone) {
			t.Errorf("%s %s asks for a key by the description: %v, by the route: %v", rt.method, path, keys, rt.scope)
		}
		var params []string
		for _, p := range op.Parameters {
			if p.Value.In == "query" {
				params = append(params, p.Value.Name)
			}
		}
		if slices.Sort(params); !slices.Equal(params, slices.Sorted(slices.Values(rt.params))) {
			t.Errorf("%s %s has the parameters %q by the description, %q by the route", rt.method, path, params, rt.params)
		}
		if (op.RequestBody != nil) != (rt.in != nil) {
			t.Errorf("%s %s has a body by the description: %v, by the route: %v", rt.method, path, op.RequestBody != nil, rt.in != nil)
			continue
		}
		if rt.in != nil {
			same(t, rt.path, schemaOf(op.RequestBody.Value.Content), reflect.TypeOf(rt.in()).Elem(), false)
			if lines := op.RequestBody.Value.Content[kindNDJSON] != nil; lines != (rt.lines != nil) {
				t.Errorf("%s %s takes lines by the description: %v", rt.method, path, lines)
			}
		}
		for status, r := range op.Responses.Map() {
			if strings.HasPrefix(status, "2") {
				same(t, rt.path, schemaOf(r.Value.Content), reflect.TypeOf(rt.out), true)
			}
		}
		same(t, rt.path, schemaOf(op.Responses.Default().Value.Content), reflect.TypeFor[errorAnswer](), true)
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if !registered[method+" "+path] {
				t.Errorf("%s %s is described, and no route", method, path)
			}
		}
	}
}

func schemaOf(c openapi3.Content) *openapi3.Schema { return c[kindJSON].Schema.Value }

// same holds a Go type to a schema: the same fields of the same kinds, and in answers
// those required that are always there.
func same(t *testing.T, at string, s *openapi3.Schema, typ reflect.Type, answer bool) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	_, own := reflect.New(typ).Interface().(json.Unmarshaler)
	if typ.Kind() == reflect.Interface || own {
		return // what it may be is the handler's own
	}
	kinds := map[reflect.Kind]string{reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean",
		reflect.Int: "integer", reflect.Int32: "integer", reflect.Int64: "integer", reflect.Uint64: "integer", reflect.Float32: "number", reflect.Float64: "number"}
	kind := kinds[typ.Kind()]
	if bytes := typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8; bytes { // in base64
		kind = "string"
	}
	if s.Type == nil || !slices.Contains(s.Type.Slice(), kind) {
		t.Errorf("%s is a %v, and %v by the description", at, typ, s.Type)
		return
	}
	switch {
	case kind == "array":
		same(t, at+"[]", s.Items.Value, typ.Elem(), answer)
	case typ.Kind() == reflect.Struct:
		seen := map[string]bool{}
		for _, f := range reflect.VisibleFields(typ) {
			if f.Anonymous {
				continue
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			seen[name] = true
			p := s.Properties[name]
			if name == "" || p == nil {
				t.Errorf("%s has the field %s (%q), which is not described", at, f.Name, name)
				continue
			}
			if always := !strings.Contains(options, "omitempty"); answer && always != slices.Contains(s.Required, name) {
				t.Errorf("%s.%s is always there: %v, and by the description not so", at, name, always)
			}
			same(t, at+"."+name, p.Value, f.Type, answer)
		}
		for name := range s.Properties {
			if !seen[name] {
				t.Errorf("%s.%s is described, and no field", at, name)
			}
		}
	}
}

func TestOpenAPIIsServed(t *testing.T) {
	c := newClient(t, Options{Version: "9.9.9"})
	got := c.ask("GET", "/openapi.json", nil)
	if got.at(t, "info", "version") != "9.9.9" || got.at(t, "openapi") != "3.1.0" {
		t.Errorf("%.200s", got.raw)
	}
}
