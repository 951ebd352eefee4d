package metadata

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
)

// File is the reserved field that says which file a document is from. Its value is an object with some fields of
// FileNames, always with "path". Its field "own" is the file's own field of this name. All other fields belong to the
// user. Filters, counts, sorts, groups and boosts also find a field of the object by its plain name if the document has no
// field of that name: `kind = "csv"` matches the records of a CSV file, unless the file has a column kind.
const File = "_file"

// FileNames are the fields of File. An object without the first is a user's.
var FileNames = [...]string{"path", "root", "time", "kind", "line", "line_end"}

// OfFile returns the fields that say which file a document is from: those of File. flat says that there is none, and returns the
// metadata themselves: so earlier builds wrote them, and so do programs.
func OfFile(m map[string]any) (fields map[string]any, flat bool) {
	file, _ := m[File].(map[string]any)
	if _, there := file[FileNames[0]]; there {
		return file, false
	}
	return m, true
}

// Named returns metadata as filters read them: with the fields of File by their plain names, too.
func Named(m map[string]any) map[string]any {
	fields, flat := OfFile(m)
	if flat {
		return m
	}
	named := maps.Clone(m)
	for _, name := range FileNames {
		v, there := fields[name]
		if _, own := m[name]; there && !own {
			named[name] = v
		}
	}
	return named
}

// fileWords is the field of File that says that FileWords are words of the document. Documents of earlier builds lack it.
const (
	fileWords = "words"
	wordsRule = json.Number("1") // the value of fileWords: how FileWords chooses
)

// WithWords adds fileWords to the fields of File.
func WithWords(file map[string]any) { file[fileWords] = wordsRule }

// mostWords is the maximum size of FileWords.
const mostWords = 8 << 10

// FileWords are the texts by which searches for words find a document beside its title and its text: the name of its file without
// extension, which is the title of a document without one; and, for its first chunk, name, path and what the file says of itself,
// such as the front matter of Markdown or the sender of a mail. They are "" without fileWords. raw are stored metadata.
func FileWords(raw []byte) (name, more string) {
	if !bytes.Contains(raw, []byte(`"`+fileWords+`"`)) {
		return "", ""
	}
	m, err := Parse(raw)
	if err != nil {
		return "", ""
	}
	return WordsOf(m)
}

// WordsOf is FileWords of parsed metadata.
func WordsOf(m map[string]any) (name, more string) {
	file, flat := OfFile(m)
	if flat || file[fileWords] != wordsRule {
		return "", ""
	}
	at, _ := file[FileNames[0]].(string)
	folder, name := path.Split(at)
	lines := []string{name}
	if ext := path.Ext(name); len(ext) < len(name) {
		name = strings.TrimSuffix(name, ext)
	}
	if _, inside := file[FileNames[1]]; inside {
		lines = append(lines, folder)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key != File && key != "language" {
			lines = texts(lines, m[key])
		}
	}
	more = strings.Join(lines, "\n")
	return name, strings.ToValidUTF8(more[:min(len(more), mostWords)], "")
}

// texts appends the texts in a value that somebody may search for: no times, addresses of pages or numbers.
func texts(lines []string, v any) []string {
	switch v := v.(type) {
	case string:
		_, noTime := time.Parse(time.RFC3339, v)
		address := strings.Contains(v, "://") && !strings.ContainsFunc(v, unicode.IsSpace)
		if noTime != nil && !address && strings.ContainsFunc(v, unicode.IsLetter) {
			lines = append(lines, v)
		}
	case []any:
		for _, e := range v {
			lines = texts(lines, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			lines = texts(lines, v[key])
		}
	}
	return lines
}
