package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// The configuration files of clients are edited as texts, so that comments, order and layout of the rest stay. Each
// edit is checked: apart from the one entry, the file must have the same values as before.

// setting is an entry of a configuration file: a value at a path of keys.
type setting struct {
	path  []string
	value map[string]any // nil takes the entry out
	toml  bool
}

// edit returns the text of a file with the entry added or removed. It returns an error if the text cannot be parsed, or
// if another value is at a key of the path.
func (s setting) edit(text []byte) ([]byte, error) {
	was, err := s.parse(text)
	if err != nil {
		return nil, err
	}
	out := s.editTOML(text)
	if !s.toml {
		if out, err = s.editJSON(text); err != nil {
			return nil, err
		}
	}
	is, err := s.parse(out)
	if err == nil && !reflect.DeepEqual(is, s.wanted(was, s.path)) {
		err = errors.New("its entries are written in a way that this program does not edit")
	}
	return out, err
}

// parse reads a file; no text means an empty file.
func (s setting) parse(text []byte) (m map[string]any, err error) {
	m = map[string]any{}
	if s.toml {
		return m, toml.Unmarshal(text, &m)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return m, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return m, err
	}
	if d.More() || m == nil {
		return m, errors.New("it is no JSON object")
	}
	return m, nil
}

// wanted is m with the entry, or without the entry and the objects that become empty.
func (s setting) wanted(m map[string]any, path []string) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		if delete(out, path[0]); s.value != nil {
			out[path[0]] = s.plain()
		}
		return out
	}
	inner, _ := out[path[0]].(map[string]any)
	next := s.wanted(inner, path[1:])
	if delete(out, path[0]); len(next) > 0 {
		out[path[0]] = next
	}
	return out
}

// plain returns the value in the form that parse returns.
func (s setting) plain() any {
	one := setting{path: []string{"value"}, toml: s.toml}
	text := append([]byte(`{"value":`), append(indented(s.value, ""), '}')...)
	if s.toml {
		text = tomlEntry("value", s.value)
	}
	m, _ := one.parse(text) // what this program wrote
	return m["value"]
}

// indented returns a value as JSON; all lines except the first begin with indent.
func indented(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(indent, "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // of texts and lists of them
	}
	return bytes.TrimSpace(b.Bytes())
}

// member is a key and its value in a JSON object, as byte positions.
type member struct {
	key             string
	at, value, next int // where the key and the value begin, and where the value ends
}

// membersOf returns the members of the object that begins at a byte of a JSON text.
func membersOf(text []byte, at int) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		before := at + int(d.InputOffset())
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		m := member{key: key.(string), at: before + bytes.IndexByte(text[before:], '"'), next: at + int(d.InputOffset())}
		m.value = m.next - len(raw)
		all = append(all, m)
	}
	return all, nil
}

func (s setting) editJSON(text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	return s.editObject(text, bytes.IndexByte(text, '{'), 0)
}

// editObject edits the object that begins at a byte and holds path[depth].
func (s setting) editObject(text []byte, at, depth int) ([]byte, error) {
	all, err := membersOf(text, at)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(m member) bool { return m.key == s.path[depth] })
	last := depth == len(s.path)-1
	indent := strings.Repeat("  ", depth+1)
	switch {
	case i >= 0 && !last && text[all[i].value] != '{':
		return nil, fmt.Errorf("%s in it is no object", strings.Join(s.path[:depth+1], "."))
	case i >= 0 && last && s.value != nil:
		return slices.Concat(text[:all[i].value], indented(s.value, indent), text[all[i].next:]), nil
	case i >= 0 && !last && (s.value != nil || !s.alone(text, all[i].value, depth+1)):
		return s.editObject(text, all[i].value, depth+1)
	case i >= 0 && i > 0:
		return slices.Concat(text[:all[i-1].next], text[all[i].next:]), nil
	case i >= 0 && len(all) > 1:
		return slices.Concat(text[:all[0].at], text[all[1].at:]), nil
	case i >= 0:
		return slices.Concat(text[:at+1], text[at+bytes.IndexByte(text[all[0].next:], '}')+all[0].next-at:]), nil
	case s.value == nil:
		return text, nil
	}
	var value any = s.value
	for _, key := range slices.Backward(s.path[depth+1:]) {
		value = map[string]any{key: value}
	}
	entry := fmt.Appendf(nil, "\n%s%s: %s", indent, indented(s.path[depth], ""), indented(value, indent))
	if len(all) > 0 {
		end := all[len(all)-1].next
		return slices.Concat(text[:end], []byte(","), entry, text[end:]), nil
	}
	rest := bytes.TrimLeft(text[at+1:], " \t\r\n")
	return slices.Concat(text[:at+1], entry, []byte("\n"+indent[2:]), rest), nil
}

// alone reports whether an object has no other entry, so that its removal leaves the object empty.
func (s setting) alone(text []byte, at, depth int) bool {
	all, err := membersOf(text, at)
	return err == nil && len(all) == 1 && all[0].key == s.path[depth] && (depth == len(s.path)-1 || text[all[0].value] == '{' && s.alone(text, all[0].value, depth+1))
}

// editTOML removes the table of the entry, and appends the new one at the end.
func (s setting) editTOML(text []byte) []byte {
	name := strings.Join(s.path, ".")
	var out []string
	inside := false
	for line := range strings.Lines(string(text)) {
		if at := strings.TrimSpace(line); strings.HasPrefix(at, "[") && !strings.HasPrefix(at, "[[") {
			was := inside
			inside = strings.HasPrefix(at, "["+name+"]") || inside && strings.HasPrefix(at, "["+name+".")
			if n := len(out); inside && !was && n > 0 && strings.TrimSpace(out[n-1]) == "" {
				out = out[:n-1]
			}
		}
		if !inside {
			out = append(out, line)
		}
	}
	rest := strings.Join(out, "")
	if s.value == nil {
		return []byte(rest)
	}
	if rest != "" {
		rest = strings.TrimSuffix(rest, "\n") + "\n\n"
	}
	return append([]byte(rest), tomlEntry(name, s.value)...)
}

// tomlEntry is a table of texts and lists of texts.
func tomlEntry(name string, value map[string]any) []byte {
	b := fmt.Appendf(nil, "[%s]\n", name)
	for _, key := range slices.Sorted(maps.Keys(value)) {
		raw, err := json.Marshal(value[key]) // whose texts are TOML, too
		if err != nil {
			panic(err)
		}
		b = fmt.Appendf(b, "%s = %s\n", key, raw)
	}
	return b
}
