package metadata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/fault"
)

func TestTextsThatAreNotUTF8(t *testing.T) {
	type name string
	for what, m := range map[string]map[string]any{
		"value": {"a": "b\xff"}, "key": {"b\xff": 1}, "named": {"a": name("\xc3")}, "list": {"a": []string{"ok", "\xed\xa0\x80"}},
		"deep": {"a": map[string]any{"b": []any{map[string]string{"c": "\x80"}}}}, "behind a backslash": {"a": "\\\xff"},
		"raw": {"a": json.RawMessage("\"\xff\"")}, "raw behind U+FFFD": {"a": json.RawMessage("\"\ufffd\xff\"")},
	} {
		raw, err := Encode(m)
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %s, %v", what, raw, err)
		}
	}
	for _, m := range []map[string]any{
		nil, {}, {"a": "\ufffd", "\ufffd": "b"}, {"a": `\ufffd`, "b": `\\ufffd`, "c": `\\\ufffd`}, {"é": "日本\u2028<&>"},
	} {
		raw, err := Encode(m)
		if err != nil {
			t.Errorf("%v: %v", m, err)
		}
		if got, err := Parse(raw); err != nil || len(got) != len(m) || len(m) > 0 && !reflect.DeepEqual(got, m) {
			t.Errorf("%v comes back as %v, %v", m, got, err)
		}
	}
}

func TestWhatJSONCannotHold(t *testing.T) {
	var deep any = 1
	for range 10_001 {
		deep = []any{deep}
	}
	for what, m := range map[string]map[string]any{"function": {"a": func() {}}, "deep": {"a": deep}} {
		if _, err := Encode(m); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, raw := range []string{`[1]`, `3`, `{"a":`, `{} {}`, `{}x`, strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)} {
		if _, err := Parse([]byte(raw)); !errors.Is(err, ErrNoObject) {
			t.Errorf("%.20s: %v", raw, err)
		}
	}
	for _, raw := range []string{"", "null", "{}"} {
		if m, err := Parse([]byte(raw)); err != nil || len(m) > 0 {
			t.Errorf("%q: %v, %v", raw, m, err)
		}
	}
}

// TestMerge: the examples of RFC 7396, and that what a patch removes is gone.
func TestMerge(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{"a":"foo"}`, `{"a":{"b":{"c":null}}}`, `{"a":{"b":{}}}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`null`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`null`, `{}`, `{}`},
		{`{"a":[null]}`, `{"b":[null]}`, `{"a":[null],"b":[null]}`},
		{`{"n":1e400,"m":12345678901234567890}`, `{"x":1.50}`, `{"m":12345678901234567890,"n":1e400,"x":1.50}`},
	} {
		m, err := Parse([]byte(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse([]byte(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(Merge(m, p)); err != nil || string(got) != c[2] {
			t.Errorf("%s with %s is %s, %v, want %s", c[0], c[1], got, err, c[2])
		}
	}
}

// TestManyFields: many fields are written as package json writes them, until the context ends.
func TestManyFields(t *testing.T) {
	for _, n := range []int{511, 512, 513, 1024, 2000} {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("é%d<", i*7919%n)] = []any{i, "x", nil}
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(m); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d fields: %.80q, %v; want %.80q", n, got, err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := EncodeWithin(ctx, m); !errors.Is(err, context.Canceled) || got != nil {
			t.Errorf("%d fields after the end: %.80q, %v", n, got, err)
		}
	}
}
