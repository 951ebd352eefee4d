package files

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// An object of JSON may have a name twice. Package json keeps the last value alone, and a damaged file has two records in one
// object. As with the columns of a table, the second value is kept under a name of its own.

// value decodes a JSON value, numbers as json.Number.
func (s *File) value(raw []byte) (any, error) {
	v, err := unmarshal(raw)
	if err != nil || !repeats(raw, v) {
		return v, err
	}
	return s.distinct(decoder(raw))
}

// repeats says whether an object in raw, which has been decoded as v, has a name twice.
func repeats(raw []byte, v any) bool { return colons(raw) > members(v) }

// colons counts the members of all objects in raw, which is JSON.
func colons(raw []byte) (n int) {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ':':
			n++
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

// members counts the members of all objects in v.
func members(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, e := range v {
			n += members(e)
		}
	case []any:
		for _, e := range v {
			n += members(e)
		}
	}
	return n
}

// distinct decodes the next value, and keeps all members of its objects.
func (s *File) distinct(in *json.Decoder) (any, error) {
	t, err := in.Token()
	switch t {
	case json.Delim('['):
		all := []any{}
		for in.More() {
			v, err := s.distinct(in)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		_, err = in.Token()
		return all, err
	case json.Delim('{'):
		fields, again := map[string]any{}, map[string]int{}
		for in.More() {
			name, err := in.Token()
			if err != nil {
				return nil, err
			}
			v, err := s.distinct(in)
			if err != nil {
				return nil, err
			}
			s.member(fields, again, name.(string), v)
		}
		_, err = in.Token()
		return fields, err
	}
	return t, err
}

// member adds a member to fields, under another name where its own is there. again has the last number that a name was given.
func (s *File) member(fields map[string]any, again map[string]int, whole string, v any) {
	name := whole
	for n := max(again[whole], 1) + 1; ; n++ {
		if _, there := fields[name]; !there {
			break
		}
		name = whole + "~" + strconv.Itoa(n)
		again[whole] = n
	}
	if fields[name] = v; name != whole {
		s.Warn(s.line, "an object has the name %q again; the later value is stored as %q; the file may be damaged", clip(whole, 80), clip(name, 80))
	}
}

func decoder(raw []byte) *json.Decoder {
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	return in
}
