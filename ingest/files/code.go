package files

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"

	"github.com/lexsem/lexsem/internal/code"
)

var errNoScript = Errorf(ErrKind, "a file without an extension is read if its first line begins with #! and GNU Autoconf did not write it; give it an extension, such as .txt")

// readCode reads one document, with breaks at declarations. Its title is the path, whose words describe the file.
func readCode(s *File) error {
	text, err := s.whole()
	if err != nil {
		return err
	}
	rec := Record{Document: document(text), From: 1, To: lastLine(1, text), Verbatim: true}
	if !blank(text) {
		rec.Title = titleOf(s.name)
	}
	language, whole := code.Language(s.name)
	if language == "" || whole {
		by, script := code.Script(text)
		if s.o.Kind == "" && code.Untold(s.name) && !script {
			return errNoScript
		}
		language = cmp.Or(by, language)
	}
	if language != "" {
		rec.Metadata = map[string]any{"language": language}
	}
	var ok bool
	if language == "go" {
		rec.Breaks, ok = goBreaks(text)
	}
	if !ok {
		rec.Breaks = paragraphBreaks(text)
	}
	return s.One(rec)
}

// titleOf is the path of a file with slashes, or its last element if the path leads out of the folder.
func titleOf(name string) string {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if path.IsAbs(name) || strings.HasPrefix(name, "../") || strings.Contains(name, ":") {
		return path.Base(name)
	}
	return name
}

// goBreaks are the declarations of a Go file, each with the comment above it; ok is false
// if the text is not Go.
func goBreaks(text string) (breaks []int, ok bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	in := set.File(file.FileStart)
	for _, d := range file.Decls {
		at := d.Pos()
		var doc *ast.CommentGroup
		switch d := d.(type) {
		case *ast.FuncDecl:
			doc = d.Doc
		case *ast.GenDecl:
			doc = d.Doc
		}
		if doc != nil {
			at = doc.Pos()
		}
		if offset := in.Offset(at); offset > 0 && (len(breaks) == 0 || offset > breaks[len(breaks)-1]) {
			breaks = append(breaks, offset)
		}
	}
	return breaks, true
}

// paragraphBreaks are the lines without indent after blank lines: in most languages
// declarations begin there, with the comments above them. A line that closes a block does
// not count.
func paragraphBreaks(text string) (breaks []int) {
	above, some := false, false // the line above is blank; there was one that is not
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		next := at + len(line) + 1
		switch {
		case blank(line):
			above = true
		default:
			if above && some && !strings.ContainsRune(" \t})]", rune(line[0])) && line != "end" {
				breaks = append(breaks, at)
			}
			above, some = false, true
		}
		at = next
	}
	return breaks
}
