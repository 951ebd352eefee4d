// Package code finds definitions in source code, without a grammar. Start with [Definitions], which lists the functions
// and types of a text in any of some twenty languages, and [Symbol], which names the one around a position. [Role]
// decides from a file's path whether it is code, a test, an example or documentation.
//
// Two regular expressions match lines: a word such as func, class or struct with a name after it, and a name with
// parameters, as C, Java and TypeScript write functions and methods. The extent of a definition follows from the
// indentation.
package code

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Definition is a function, a type or the like.
type Definition struct {
	Name string // with the type of a Go receiver: Engine.ServeHTTP
	In   string // the definition around it, as the indentation tells, or ""
	At   int    // first byte of its line
}

const (
	modifiers = `(?:export|default|declare|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|sealed|open|override|virtual|inline|constexpr|unsafe|async|extern(?:\s+"\w+")?|partial|readonly|data|case|suspend|local|typedef|fileprivate|mutating|implicit|lazy|const|companion|template\s*<[^>]*>)\s+`
	keywords  = `func|function\*?|fn|def|defp|defmodule|defmacro|defprotocol|class|enum\s+class|enum|struct|interface|trait|impl(?:<[^>]*>)?|type|module|mod|namespace|union|record|object|protocol|extension|macro_rules!|fun|sub|proc`
	name      = `[\pL_$][\pL\pN_$]*`
)

var (
	// byWord is a definition that begins with a word: its receiver in Go, the type that a Rust impl is for, its name.
	byWord = compiled(`^(?:@[\w.]+\s+)*(?:` + modifiers + `)*(?:` + keywords + `)\s+(?:\(\s*(?:\w+\s+)?\*?\s*(\w+)[^)]*\)\s*)?(?:[\w:<>', ]+\s+for\s+)?(?:self\.)?(` + name + `(?:(?:\.|::)` + name + `)*[?!]?)`)
	// byValue is a name that gets a function or another value of a whole module: const parse = (…) => in JavaScript.
	byValue = compiled(`^(?:export\s+(?:default\s+)?(?:declare\s+)?(?:const|let|var)\s+(` + name + `)|(?:const|let|var)\s+(` + name + `)[^=]*=\s*(?:async\s+)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|` + name + `\s*=>|class\b))`)
	// byParameters is a function or a method that begins with its type, or with its name.
	byParameters = compiled(`^(?:[\w<>\[\],.?*&:~@]+[\s*&]+)*?(~?` + name + `(?:::~?` + name + `)*)\s*(?:<[^()]*>)?\([^'"` + "`" + `;=]*$`)
)

// compiled is a regular expression that is compiled at its first use: most programs that import this package read no source.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// leads are the words that a definition with a word may begin with; no other line is compared with byWord.
var leads = words(`export default declare pub public private protected internal static final abstract sealed open override virtual inline constexpr
	unsafe async extern partial readonly data case suspend local typedef fileprivate mutating implicit lazy const companion template func function
	fn def defp defmodule defmacro defprotocol class enum struct interface trait impl type module mod namespace union record object protocol extension macro_rules fun sub proc`)

// statements are words that no function is named by, and that no line with one begins with.
var statements = words(`if else elif for foreach while switch select case return catch throw throws new do sizeof await yield assert using delete try finally with when match
	go defer func function fn lambda and or not in is super this constructor_of raise rescue ensure unless until begin end print import from include require package use let var`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// kinds are words that a query may put before the name of what it looks for.
var kinds = words("func function fn def class enum struct interface trait impl type module mod namespace record object protocol fun sub proc macro method")

// Wanted is the name whose definition a query asks for, and the package or type that it is looked for in, or "":
// strings.Cut, func strings.Cut and strings.Cut() ask for Cut in strings. Other queries ask for no name.
func Wanted(query string) (name, of string) {
	fields := strings.Fields(query)
	if len(fields) == 2 && kinds[strings.ToLower(fields[0])] {
		fields = fields[1:]
	}
	if len(fields) != 1 {
		return "", ""
	}
	whole := strings.TrimRight(fields[0], "()?")
	if name = Last(whole); name == "" {
		return "", ""
	}
	return name, Last(strings.TrimRight(whole[:len(whole)-len(name)], ".:"))
}

// Of is the type or the package that a definition belongs to, as far as the text tells, or "".
func (d Definition) Of() string {
	if of := strings.TrimRight(d.Name[:len(d.Name)-len(Last(d.Name))], ".:"); of != "" {
		return Last(of)
	}
	return Last(d.In)
}

// Last is a name without the types or packages before it.
func Last(name string) string { return name[strings.LastIndexAny(name, ".:")+1:] }

// longest is how many bytes of a line are read: a longer one was written by a program.
const longest = 400

// Definitions lists what a text defines, in its order. The error is that of ctx.
func Definitions(ctx context.Context, text string) ([]Definition, error) {
	var all []Definition
	type around struct {
		name  string
		depth int
	}
	var open []around
	for at, n := 0, 0; at < len(text); n++ {
		if n%512 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l, _ := lineAt(text, at)
		if name := l.defines(text); name != "" {
			for len(open) > 0 && open[len(open)-1].depth >= l.depth {
				open = open[:len(open)-1]
			}
			d := Definition{Name: name, At: at}
			if len(open) > 0 {
				d.In = open[len(open)-1].name
			}
			all, open = append(all, d), append(open, around{name, l.depth})
		}
		at = l.next
	}
	return all, nil
}

// line is one line.
type line struct {
	text  string // without indentation; "" for a blank one
	at    int    // its first byte
	next  int    // first byte of the next
	depth int    // columns of its indentation
}

// read sets text and depth.
func (l *line) read(whole string) {
	body := strings.TrimLeft(whole, " \t")
	l.text = strings.TrimRight(body, " \t\r\n")
	for _, c := range whole[:len(whole)-len(body)] {
		if l.depth++; c == '\t' {
			l.depth += 3
		}
	}
}

// remark says whether a line is a comment, or a decorator of what follows.
func remark(s string) bool {
	switch s[0] {
	case '#':
		return !strings.HasPrefix(s, "#define")
	case '*', '@':
		return !strings.Contains(s, " class ") && !strings.Contains(s, " fun ")
	case '/':
		return len(s) > 1 && (s[1] == '/' || s[1] == '*')
	case '-':
		return strings.HasPrefix(s, "--")
	}
	return false
}

var (
	// bareHead is the head of a function of a shell, or of C below the line with its type, and typeLine such a line.
	bareHead = compiled(`^(` + name + `)\s*\([^'"` + "`" + `;={}]*[),(]$`)
	typeLine = compiled(`^(` + name + `)(?:[\w\s*]*|\([\w\s*,]*\))$`)
)

// headLines is how many lines the head of a function may have.
const headLines = 16

// defines is the name that a line of a text defines, or "".
func (l line) defines(text string) string {
	if name := defined(l.text); name != "" || l.depth > 0 || l.at == 0 || len(l.text) > longest || remarks(l.text) {
		return name
	}
	head := bareHead().FindStringSubmatch(l.text)
	if head == nil || statements[head[1]] {
		return ""
	}
	if below, _ := lineAt(text, l.next); strings.HasSuffix(l.text, "()") && below.text == "{" && below.depth == 0 { // in a shell
		return head[1]
	}
	above, _ := lineAt(text, l.at-1)
	if m := typeLine().FindStringSubmatch(above.text); m == nil || above.depth > 0 || statements[m[1]] {
		return ""
	}
	for range headLines {
		var ok bool
		if l, ok = lineAt(text, l.next); !ok || l.depth == 0 {
			if strings.HasPrefix(l.text, "{") {
				return head[1]
			}
			return ""
		}
	}
	return ""
}

// remarks reports whether a line is blank or a remark.
func remarks(s string) bool { return s == "" || remark(s) }

// defined is the name that a line defines by itself, or "".
func defined(s string) string {
	if s == "" {
		return ""
	}
	if c := s[0]; len(s) > longest || c < 'A' || c > 'z' && c < 0x80 && c != '~' || c == '[' || c == ']' || remark(s) {
		return ""
	}
	end := 0
	for end < len(s) && (s[end] == '_' || s[end] >= 'a' && s[end] <= 'z' || s[end] >= 'A' && s[end] <= 'Z' || s[end] >= '0' && s[end] <= '9') {
		end++
	}
	first := s[:end]
	if leads[first] {
		if m := byWord().FindStringSubmatch(s); m != nil {
			if m[1] != "" {
				return m[1] + "." + m[2]
			}
			return m[2]
		}
	}
	if first == "export" || first == "const" || first == "let" || first == "var" {
		if m := byValue().FindStringSubmatch(s); m != nil {
			return m[1] + m[2]
		}
	}
	// A call ends with other signs than the head of a function does.
	if last := s[len(s)-1]; statements[first] || last != '{' && last != ')' && last != ',' && last != '(' || !strings.Contains(s, "(") {
		return ""
	} else if last != '{' && (end == len(s) || !strings.ContainsAny(s[end:end+1], " *&<")) {
		return "" // name(a, b) on a line of its own is a call
	}
	if s[len(s)-1] == '{' && strings.Count(s, "(") != strings.Count(s, ")") {
		return "" // a block that is handed to a call
	}
	if m := byParameters().FindStringSubmatch(s); m != nil && !statements[m[1]] && !strings.Contains(s, "=>") {
		return m[1]
	}
	return ""
}

// Symbol names the function or type that the byte at of a text lies in, with those around it: Multipart.Parser.parse. A
// comment belongs to the definition below it. It is "" outside of them. The error is that of ctx.
func Symbol(ctx context.Context, text string, at int) (string, error) {
	l, ok := lineAt(text, min(max(at, 0), len(text)))
	for ok && l.text != "" && remark(l.text) {
		l, ok = lineAt(text, l.next)
	}
	if !ok || l.text == "" {
		if l, ok = lineAt(text, min(max(at, 0), len(text))); !ok {
			return "", nil
		}
	}
	var names []string
	depth := l.depth
	if name := l.defines(text); name != "" {
		names = append(names, name)
	}
	// What is around a line is on lines before it with less indentation.
	for n := 1; depth > 0 && l.at > 0; n++ {
		if n%512 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		l, _ = lineAt(text, l.at-1)
		switch {
		case l.text == "" || l.depth >= depth || remark(l.text):
		case strings.ContainsRune("{})]", rune(l.text[0])): // of a head or a block that begins above, as far to the left
			depth = l.depth + 1
		default:
			depth = l.depth
			if name := l.defines(text); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Reverse(names)
	return strings.Join(names, "."), ctx.Err()
}

// lineAt is the line that has byte at of a text, even if it is blank; ok is false after the end.
func lineAt(text string, at int) (l line, ok bool) {
	if at >= len(text) {
		return l, false
	}
	l.at, l.next = strings.LastIndexByte(text[:at], '\n')+1, len(text)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		l.next = at + i + 1
	}
	l.read(text[l.at:l.next])
	return l, true
}
