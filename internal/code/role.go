package code

import (
	"path"
	"strings"
	"unicode"
)

// Roles of a file, derived from its path.
const (
	Source        = ""
	Test          = "test"
	Example       = "example"
	Vendored      = "vendored"
	Documentation = "documentation"
)

var (
	prose    = words("md markdown mdown mkd mdx qmd rmd rst txt text adoc asciidoc org tex log html htm xhtml pdf ipynb")
	plain    = words("readme license licence copying notice authors contributors changelog changes news todo install")
	tests    = words("test tests testing spec specs __tests__ testdata test-data test_data testutil testutils fixture fixtures mock mocks __mocks__ bench benches benchmark benchmarks e2e")
	vendored = words("vendor vendored _vendor third_party third-party thirdparty 3rdparty node_modules")
	examples = words("example examples sample samples demo demos doc docs docs_src documentation tutorial tutorials")
)

// Role derives the purpose of a file from its path.
func Role(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	base := path.Base(file)
	low := strings.ToLower(base)
	stem, ext, _ := strings.Cut(low, ".")
	last := ext[strings.LastIndexByte(ext, '.')+1:]
	if _, whole := Language(base); !whole && (prose[last] || plain[stem] && extensions[last] == "") {
		return Documentation
	}
	folder := strings.ToLower(path.Dir(file))
	whole := strings.TrimSuffix(base, path.Ext(base))
	lowWhole := strings.ToLower(whole)
	switch {
	case in(folder, tests), last == "t", last == "bats", strings.HasPrefix(lowWhole, "test_"), lowWhole == "conftest":
		return Test
	case tests[strings.ToLower(strings.TrimPrefix(path.Ext(whole), "."))]: // parser.test.ts
		return Test
	case strings.HasSuffix(whole, "Test"), strings.HasSuffix(whole, "Tests"), strings.HasSuffix(whole, "Spec"):
		return Test
	}
	if i := strings.LastIndexAny(lowWhole, "_-"); i > 0 && tests[lowWhole[i+1:]] { // parser_test.go
		return Test
	}
	if tests[lowWhole] {
		return Test
	}
	if in(folder, examples) || examples[lowWhole] {
		return Example
	}
	if in(folder, vendored) {
		return Vendored
	}
	return Source
}

// in reports whether one of the names in a folder's path is in a set.
func in(folder string, set map[string]bool) bool {
	for name := range strings.SplitSeq(folder, "/") {
		if set[name] {
			return true
		}
	}
	return false
}

// Name is the name of a file without its folder and its last extension. For a file that stands for its folder, such as
// index.ts, it is the folder's name.
func Name(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	base := path.Base(file)
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	if folderNames[strings.ToLower(base)] {
		if up := path.Base(path.Dir(file)); up != "." && up != "/" {
			return up
		}
	}
	return base
}

// folderNames are the names of files that stand for their folder.
var folderNames = words("__init__ index mod main lib")

var (
	testWords    = words("test tests testing tested tester unittest spec specs fixture fixtures mock mocks bench benchmark benchmarks benchmarking e2e")
	exampleWords = words("example examples sample samples demo demos tutorial tutorials")
	vendorWords  = words("vendor vendored vendoring dependency dependencies")
	proseWords   = words("doc docs documentation documented readme changelog licence license guide guides manual markdown md rst tutorial tutorials")
)

// Asked reports whether a word of a query, in lower case, requests files of a role.
func Asked(role string, word string) bool {
	switch role {
	case Test:
		return testWords[word]
	case Example: // which folders of documentation hold, too
		return exampleWords[word] || proseWords[word]
	case Documentation:
		return proseWords[word]
	case Vendored:
		return vendorWords[word]
	}
	return false
}

// Spaced puts blanks between the words of a name: JSONReader_v2 becomes JSON Reader v2.
func Spaced(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, c := range letters {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
		case i > 0 && unicode.IsUpper(c) && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsUpper(letters[i-1]) && unicode.IsLower(letters[i+1])):
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}
