package files

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// languages names the language of source code by the extension, or the whole name, of
// its file.
var languages = map[string]string{
	"go": "go", "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
	"ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "typescript", "vue": "vue", "svelte": "svelte",
	"java": "java", "kt": "kotlin", "kts": "kotlin", "scala": "scala", "groovy": "groovy", "gradle": "groovy", "clj": "clojure", "cljs": "clojure",
	"c": "c", "h": "c", "cc": "c++", "cpp": "c++", "cxx": "c++", "hh": "c++", "hpp": "c++", "hxx": "c++", "m": "objective-c", "mm": "objective-c",
	"cu": "cuda", "cuh": "cuda", "cs": "c#", "fs": "f#", "vb": "visual basic", "rs": "rust", "zig": "zig", "nim": "nim", "d": "d", "swift": "swift", "dart": "dart",
	"rb": "ruby", "php": "php", "pl": "perl", "pm": "perl", "lua": "lua", "r": "r", "jl": "julia", "hs": "haskell", "ml": "ocaml", "mli": "ocaml",
	"ex": "elixir", "exs": "elixir", "erl": "erlang", "hrl": "erlang", "el": "lisp", "lisp": "lisp", "scm": "scheme", "f90": "fortran", "pas": "pascal", "asm": "assembly", "s": "assembly",
	"sh": "shell", "bash": "shell", "zsh": "shell", "fish": "shell", "ps1": "powershell", "bat": "batch", "sql": "sql", "proto": "protobuf", "graphql": "graphql",
	"tf": "terraform", "nix": "nix", "cmake": "cmake", "mk": "make", "css": "css", "scss": "scss", "yaml": "yaml", "yml": "yaml", "toml": "toml",
	"ini": "ini", "cfg": "ini", "conf": "conf", "properties": "properties", "hcl": "hcl", "tfvars": "terraform", "bzl": "starlark", "gql": "graphql", "prisma": "prisma", "sol": "solidity",
	"less": "less", "cmd": "batch", "astro": "astro", "erb": "erb", "ejs": "ejs", "hbs": "handlebars", "pug": "pug", "haml": "haml", "jinja": "jinja", "j2": "jinja",
	"thrift": "thrift", "capnp": "cap'n proto", "cr": "crystal", "elm": "elm", "purs": "purescript", "rkt": "racket", "tcl": "tcl", "awk": "awk", "lean": "lean", "rego": "rego", "cue": "cue",
	"gd": "gdscript", "sv": "verilog", "vhd": "vhdl", "vhdl": "vhdl", "glsl": "glsl", "wgsl": "wgsl", "hlsl": "hlsl", "ino": "c++", "bazel": "starlark", "star": "starlark",
	"makefile": "make", "gnumakefile": "make", "justfile": "make", "dockerfile": "dockerfile", "containerfile": "dockerfile", "jenkinsfile": "groovy",
	"rakefile": "ruby", "gemfile": "ruby", "podfile": "ruby", "fastfile": "ruby", "vagrantfile": "ruby", "brewfile": "ruby",
}

// codeNames are the file names of languages without an extension.
var codeNames = []string{"makefile", "gnumakefile", "justfile", "dockerfile", "containerfile", "jenkinsfile", "rakefile", "gemfile", "podfile", "fastfile",
	"vagrantfile", "brewfile"}

func codeExtensions() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(languages)), func(e string) bool { return slices.Contains(codeNames, e) })
}

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
	base := baseName(s.name)
	language := languages[strings.TrimPrefix(path.Ext(base), ".")]
	language = cmp.Or(language, languages[base])
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
