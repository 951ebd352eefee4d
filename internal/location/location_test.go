package location

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// TestFile: what is lexsem's own tells the file of a document, and what earlier builds wrote beside the fields of files. A user's
// own fields of these names tell nothing, whether the document is from a file or not.
func TestFile(t *testing.T) {
	type object = map[string]any
	root, err := filepath.Abs("root")
	if err != nil {
		t.Fatal(err)
	}
	at, other := filepath.Join(root, "sub", "a.md"), filepath.Join(root, "b.csv")
	with := func(m object, name string, v any) object {
		out := maps.Clone(m)
		out[name] = v
		return out
	}
	of := object{Root: root, Path: "sub/a.md", Kind: "markdown", Time: "2026-01-02T03:04:05Z", Line: 3}
	for what, c := range map[string]struct {
		m    object
		path string
		line int
	}{
		"of a folder":            {object{File: of}, at, 3},
		"with own fields":        {object{File: of, Path: "x", Root: "/y", Kind: "z", Time: "noon", Line: 9, End: 9}, at, 3},
		"of an earlier build":    {of, at, 3},
		"named itself":           {object{File: object{Path: filepath.ToSlash(other), Kind: "csv", Line: 2}}, other, 2},
		"named, a relative path": {object{File: object{Path: "b.csv", Kind: "csv"}}, "", 0},
		"leads out of the root":  {object{File: with(of, Path, "../a.md")}, "", 0},
		"no object, of earlier":  {with(of, File, "x.pdf"), at, 3},
		"an object, of earlier":  {with(of, File, object{"name": "x.pdf"}), at, 3},
		"an object of a user's":  {object{File: object{"name": "x.pdf"}}, "", 0},
		"another time":           {with(of, Time, "2026-01-02T04:04:05+01:00"), "", 0},
		"no time":                {object{Root: root, Path: "sub/a.md", Kind: "markdown"}, "", 0},
		"no kind":                {object{File: object{Root: root, Path: "sub/a.md"}}, "", 0},
		"nothing":                {nil, "", 0},
	} {
		path, lines, ok := Of(engine.Hit{Metadata: c.m})
		if path != c.path || lines[0] != c.line || ok != (c.path != "") {
			t.Errorf("%s: %q, lines %v, %t; want %q:%d", what, path, lines, ok, c.path, c.line)
		}
	}
	here := Where(Root, func(path string) filter.Filter { return filter.Eq(path, root) })
	for what, c := range map[string]struct {
		m    object
		want bool
	}{
		"of the root": {object{File: of}, true}, "of an earlier build": {of, true}, "of one with an own object": {with(of, File, object{"name": "x"}), true}, "own fields of another file": {with(of, File, with(of, Root, "/other")), false},
		"own fields of a named file": {object{Root: root, File: object{Path: "/a"}}, false}, "of another root": {object{File: with(of, Root, "/other")}, false},
	} {
		if got, err := here.Match(c.m); err != nil || got != c.want {
			t.Errorf("%s: %t, %v", what, got, err)
		}
	}
}
