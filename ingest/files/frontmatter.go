package files

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v4"

	"github.com/lexsem/lexsem/internal/value"
)

// maxMatter is the maximum size of front matter.
const maxMatter = 256 << 10

// looksLikeKey matches the beginning of a YAML line with a key.
var looksLikeKey = regexp.MustCompile(`(?m)^["']?[A-Za-z_][\w .-]*["']?:(\s|$)`)

// deepKey matches a key of TOML that the library would read for minutes: its time grows with the square of the parts.
var deepKey = regexp.MustCompile(`(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}`)

// frontMatter cuts YAML between lines of ---, or TOML between lines of +++, from the start of a text. Text
// that merely lies between two rules stays text. So does unreadable front matter, with a warning.
func (s *File) frontMatter(text string) (map[string]any, string) {
	var ends []string
	switch first, _, _ := strings.Cut(text, "\n"); strings.TrimRight(first, " \t") {
	case "---":
		ends = []string{"---", "..."}
	case "+++":
		ends = []string{"+++"}
	default:
		return nil, text
	}
	matter, body, ok := cutMatter(text, ends)
	if !ok {
		return nil, text
	}
	var fields map[string]any
	var err error
	switch {
	case ends[0] == "+++" && (strings.Count(matter, "{") > 1000 || deepKey.MatchString(matter)):
		err = fmt.Errorf("more than 1,000 tables in braces, or a key of more than 100 parts")
	case ends[0] == "+++":
		_, err = toml.Decode(matter, &fields)
	default:
		if !looksLikeKey.MatchString(matter) && !blank(matter) {
			return nil, text
		}
		err = loadYAML(matter, &fields)
	}
	if err != nil {
		line, why := matterError(err)
		s.Warn(line, "the front matter cannot be read and is stored as text: %s", why)
		return nil, text
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if fields[k], err = plain(fields[k], 0); err != nil {
			s.Warn(1, "the field %q of the front matter is left out: it %v", clip(k, 80), err)
			delete(fields, k)
		}
	}
	return fields, body
}

// yamlPlace matches the beginning of an error of the YAML library.
var yamlPlace = regexp.MustCompile(`^go-yaml load error.*? at L(\d+)\.C(\d+): `)

// matterError returns the line in the file, and the reason, of an error in front matter, which begins on
// line 2.
func matterError(err error) (line int, why string) {
	if t, ok := errors.AsType[toml.ParseError](err); ok {
		return t.Position.Line + 1, t.Message
	}
	if twice := (*keyError)(nil); errors.As(err, &twice) {
		return twice.Line + 1, fmt.Sprintf("%v (column %d)", err, twice.Column)
	}
	why = err.Error()
	at := yamlPlace.FindStringSubmatch(why)
	if at == nil {
		return 1, why
	}
	n, err := strconv.Atoi(at[1])
	if err != nil {
		return 1, why
	}
	why, _, _ = strings.Cut(strings.TrimPrefix(why, at[0]), "; try decoding")
	if strings.Contains(why, "as a map key") { // which the library shows as a Go value
		why = "a mapping in braces is no key; put a value that begins with { in quotes"
	}
	return n + 1, why + " (column " + at[2] + ")"
}

// cutMatter returns the text between the first line and the next line that is one of
// ends, and the text after that.
func cutMatter(text string, ends []string) (matter, body string, ok bool) {
	start := strings.IndexByte(text, '\n') + 1
	if start == 0 {
		return "", "", false
	}
	for at := start; at < len(text) && at-start <= maxMatter; {
		line, _, more := strings.Cut(text[at:], "\n")
		next := at + len(line)
		if more {
			next++
		}
		for _, e := range ends {
			if strings.TrimRight(line, " \t") == e {
				return text[start:at], text[next:], true
			}
		}
		at = next
	}
	return "", "", false
}

// loadYAML reads YAML. The library limits the expansion of aliases.
func loadYAML(text string, to *map[string]any) (err error) {
	defer func() { // it panics on what it takes for its own mistakes
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML cannot be read: %v", r)
		}
	}()
	if blank(text) {
		return nil
	}
	var root yaml.Node
	if err := yaml.Load([]byte(text), &root); err != nil {
		return err
	}
	if k := repeatedKey(&root); k != nil {
		return &keyError{k}
	}
	if err := root.Decode(to); err != nil {
		return err
	}
	asTyped(&root, *to)
	return nil
}

// repeatedKey is the first key that a mapping in n has twice. The library reports each pair of them, and the text of so many
// errors takes all memory.
func repeatedKey(n *yaml.Node) *yaml.Node {
	type key struct {
		kind  yaml.Kind
		value string
	}
	seen := map[key]bool{}
	for i, c := range n.Content {
		if k := (key{c.Kind, c.Value}); n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[k] {
				return c
			}
			seen[k] = true
		}
		if twice := repeatedKey(c); twice != nil {
			return twice
		}
	}
	return nil
}

// keyError is a key that is there twice.
type keyError struct{ *yaml.Node }

func (e *keyError) Error() string {
	return fmt.Sprintf("the key %q is already defined", clip(e.Value, 80))
}

// asTyped returns v, the value of n in YAML, with the original digits of its numbers. A number in YAML that JSON
// does not allow, such as 01234 or .nan, becomes text.
func asTyped(n *yaml.Node, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
			n = n.Content[0]
		}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; v[key] != nil {
				v[key] = asTyped(n.Content[i+1], v[key])
			}
		}
	case []any:
		for i := range v {
			if n.Kind == yaml.SequenceNode && i < len(n.Content) {
				v[i] = asTyped(n.Content[i], v[i])
			}
		}
	case int, int64, uint64, float64:
		if n.Kind != yaml.ScalarNode {
			break // an alias
		}
		if !value.ValidNumber(n.Value) {
			return n.Value
		}
		return json.Number(n.Value)
	}
	return v
}

// plain converts a value of YAML or TOML to JSON: keys become strings, and dates become
// strings in RFC 3339 and UTC, which sort by time.
func plain(v any, depth int) (_ any, err error) {
	if depth > 100 {
		return nil, fmt.Errorf("nests deeper than 100")
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if v[k], err = plain(e, depth+1); err != nil {
				return nil, err
			}
		}
		return v, nil
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			name, err := plain(k, depth+1)
			if err != nil {
				return nil, err
			}
			out[fmt.Sprint(name)] = e
		}
		return plain(out, depth)
	case []map[string]any: // TOML's arrays of tables
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
		}
		return plain(out, depth)
	case []any:
		for i, e := range v {
			if v[i], err = plain(e, depth+1); err != nil {
				return nil, err
			}
		}
		return v, nil
	case time.Time:
		return dateText(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v), nil // TOML's nan and inf, which are no numbers of JSON
		}
		return v, nil
	case string:
		if !utf8.ValidString(v) { // of !!binary
			return base64.StdEncoding.EncodeToString([]byte(v)), nil
		}
		return v, nil
	case nil, bool, int, int64, uint64, json.Number:
		return v, nil
	}
	return fmt.Sprint(v), nil
}

// dateText writes a date without a time as a date, and a time in UTC.
func dateText(t time.Time) string {
	switch t.Location().String() {
	case "time-local": // TOML's
		return t.Format("15:04:05.999999999")
	case "datetime-local", "date-local": // no zone: taken for UTC
		t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	t = t.UTC()
	if t.Equal(t.Truncate(24*time.Hour)) && t.Nanosecond() == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}
