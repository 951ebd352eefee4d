package folder

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Files that list what to leave out of a folder and its subfolders, in the format of
// gitignore. If both exist, the later name overrides.
var ignoreFiles = []string{".gitignore", ".lexsemignore"}

// maxIgnoreFile bounds an ignore file, maxPattern one of its lines.
const (
	maxIgnoreFile = 1 << 20
	maxPattern    = 4 << 10
)

// rules are the patterns of one file, or of Options.Exclude.
type rules struct {
	base     string // the folder they hold for, below the root, with slashes; "" is the root
	above    string // path of the root below that folder, where it is above the root
	usual    bool   // the defaults
	patterns []pattern
}

// pattern is one line of an ignore file.
type pattern struct {
	negated  bool // takes back what an earlier pattern left out
	filesToo bool // false: for folders alone
	whole    bool // is held against the path below the folder, else against the last name alone
	literal  string
	suffix   string         // "*SUFFIX", where literal is ""
	expr     *regexp.Regexp // else
}

// parseRules reads the lines of an ignore file. A line that no name can match, such as
// one with an open bracket, is ignored, as in git.
func parseRules(base string, data []byte) rules {
	r := rules{base: base}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		s := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if p, ok := parsePattern(s); ok {
			r.patterns = append(r.patterns, p)
		}
	}
	return r
}

func parsePattern(s string) (p pattern, ok bool) {
	if strings.HasPrefix(s, "#") || len(s) > maxPattern {
		return p, false
	}
	for strings.HasSuffix(s, " ") && !escapedEnd(s) {
		s = s[:len(s)-1]
	}
	if s, p.negated = strings.CutPrefix(s, "!"); s == "" {
		return p, false
	}
	s, only := strings.CutSuffix(s, "/")
	p.filesToo = !only
	p.whole = strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, false
	}
	if !strings.ContainsAny(s, `*?[\`) {
		p.literal = s
		return p, true
	}
	if rest, ok := strings.CutPrefix(s, "*"); ok && !p.whole && rest != "" && !strings.ContainsAny(rest, `*?[\`) {
		p.suffix = rest
		return p, true
	}
	e, ok := expression(s)
	if !ok {
		return p, false
	}
	var err error
	p.expr, err = regexp.Compile(e)
	return p, err == nil
}

// escapedEnd reports whether the last character of s follows an odd number of backslashes.
func escapedEnd(s string) bool {
	n := 0
	for i := len(s) - 2; i >= 0 && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// expression makes a regular expression of a pattern, whose matching time is linear in
// the name for every pattern.
func expression(s string) (string, bool) {
	var b strings.Builder
	b.WriteString(`^(?s:`)
	special := strings.IndexAny(s, `*?[\`) // git holds what stands before it apart, and the rest for a pattern of its own
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '*':
			n := i
			for n < len(s) && s[n] == '*' {
				n++
			}
			begins, ends := i == special || s[i-1] == '/', n == len(s)
			switch {
			case n-i >= 2 && begins && ends:
				b.WriteString(`.*`)
			case n-i >= 2 && begins && s[n] == '/':
				b.WriteString(`(?:.*/)?`)
				n++
			default:
				b.WriteString(`[^/]*`)
			}
			i = n
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			class, n, ok := class(s[i:])
			if !ok {
				return "", false
			}
			b.WriteString(class)
			i += n
		case '\\':
			if i+1 == len(s) {
				return "", false
			}
			b.WriteString(regexp.QuoteMeta(s[i+1 : i+2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(s[i : i+1]))
			i++
		}
	}
	b.WriteString(`)$`)
	return b.String(), true
}

// classNames are the named classes that brackets may hold.
var classNames = []string{"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"}

// class reads a bracket expression at the beginning of s, and returns its length.
func class(s string) (expr string, n int, ok bool) {
	i := 1
	var b strings.Builder
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteString(`[^/`) // a class never takes a slash
		i++
	} else {
		b.WriteString(`[`)
	}
	one := func() (string, bool) { // a character, escaped where it may be
		if s[i] == '\\' {
			i++
		}
		if i >= len(s) {
			return "", false
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
		return s[i-size : i], true
	}
	empty := true
	for first := true; ; first = false {
		if i >= len(s) {
			return "", 0, false
		}
		if s[i] == ']' && !first {
			i++
			break
		}
		if strings.HasPrefix(s[i:], "[:") {
			name, _, closed := strings.Cut(s[i+2:], ":]")
			if closed && slices.Contains(classNames, name) {
				b.WriteString("[:" + name + ":]")
				i += len(name) + 4
				empty = false
				continue
			}
			if closed {
				return "", 0, false
			}
		}
		lo, ok := one()
		if !ok {
			return "", 0, false
		}
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			i++
			hi, ok := one()
			if !ok {
				return "", 0, false
			}
			if lo <= hi {
				b.WriteString(quoteInClass(lo) + "-" + quoteInClass(hi))
				empty = false
			}
			continue
		}
		if lo != "/" {
			b.WriteString(quoteInClass(lo))
			empty = false
		}
	}
	if empty && b.String() == `[` { // nothing that it takes
		return `[^\x00-\x{10FFFF}]`, i, true
	}
	return b.String() + `]`, i, true
}

func quoteInClass(s string) string {
	if strings.ContainsAny(s, `\]^-[&~`) {
		return `\` + s
	}
	return s
}

// match reports whether the last pattern that matches a path excludes it; none reports
// that no pattern matches. name is relative to the base, with slashes.
func (r rules) match(name string, folder bool) (out, none bool) {
	below := path.Join(r.above, name)
	if r.base != "" {
		below = strings.TrimPrefix(name, r.base+"/")
	}
	for i := len(r.patterns) - 1; i >= 0; i-- {
		p := &r.patterns[i]
		if !folder && !p.filesToo {
			continue
		}
		s := below
		if !p.whole {
			s = path.Base(below)
		}
		if p.takes(s) {
			return !p.negated, false
		}
	}
	return false, true
}

func (p *pattern) takes(s string) bool {
	switch {
	case p.literal != "":
		return s == p.literal
	case p.suffix != "":
		return strings.HasSuffix(s, p.suffix)
	}
	return p.expr.MatchString(s)
}

// decided applies the rules in force, the nearest last: the last matching rule decides. It reports whether a name is ignored,
// and whether the defaults decide this.
func decided(in []rules, name string, folder bool) (out, usual bool) {
	for _, r := range slices.Backward(in) {
		if out, none := r.match(name, folder); !none {
			return out, r.usual
		}
	}
	return false, false
}
