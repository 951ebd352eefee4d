// Package syntax reads the operators of a query: "exact phrase", +word, -word, prefix* and title:word. [Read] is
// the only entry. No text is an error: text that is not an operator is searched for. The package does not depend
// on an index.
package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A text with more words or letters outside of operators is a sentence. So are questions and messages with colons,
// such as parsing "abc": invalid syntax. It has no operators. Sentences and lists of keywords have signs that are not
// operators: "extension -twisting coupling" is a broken compound, and a question names titles in quotes. Intended
// operators occur with few words. Letters count as well, since some scripts do not separate words.
const (
	maxWords   = 6
	maxLetters = 48
	maxClauses = 32 // each of them is looked for; a text with more was not typed
)

// questions end sentences in several scripts; the Greek mark is a semicolon.
const questions = "?？؟;;"

// Clause is one condition on a document.
type Clause struct {
	Not    bool   // the document must not meet it
	Title  bool   // the words stand in the title; otherwise in title or text
	Prefix bool   // Text is the beginning of a word
	Quoted bool   // Text is in quotes without a sign: it is not required if no document has it
	Text   string // a word or a phrase, as typed
}

// String returns the clause as a user can type it, without the sign of Not.
func (c Clause) String() string {
	s := c.Text
	if strings.ContainsFunc(s, unicode.IsSpace) {
		s = `"` + s + `"`
	}
	if c.Title {
		s = "title:" + s
	}
	if c.Prefix {
		s += "*"
	}
	return s
}

// Query is a text with its operators read.
type Query struct {
	// Text is the text to search for: excluded words and signs are replaced by blanks, so that each word keeps its
	// position. Quotes stay.
	Text    string
	Clauses []Clause // a document must meet all
}

// Read reads the operators of a text. A text without operators, or a sentence, is returned unchanged.
func Read(s string) Query {
	if !strings.ContainsAny(s, "\"“+-*:") {
		return Query{Text: s}
	}
	var q Query
	blank := []byte(s)
	words, all := 0, 0 // outside of operators, and their letters
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			i += n
			continue
		}
		c, from, end, ok := read(s[i:])
		if !ok {
			n := word(s[i:])
			words, all = words+1, all+letters(s[i:i+n])
			i += n
			continue
		}
		q.Clauses = append(q.Clauses, c)
		switch wipe(blank[i : i+from]); {
		case c.Not:
			wipe(blank[i : i+end])
		case c.Prefix:
			wipe(blank[i+from+len(c.Text) : i+end])
		}
		i += end
	}
	if len(q.Clauses) == 0 || len(q.Clauses) > maxClauses || words > maxWords || all > maxLetters || strings.ContainsAny(s, questions) || message(s) {
		return Query{Text: s}
	}
	q.Text = string(blank)
	return q
}

// message reports whether a word ends with a colon.
func message(s string) bool {
	for w := range strings.FieldsSeq(s) {
		if strings.HasSuffix(w, ":") {
			return true
		}
	}
	return false
}

func wipe(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}

// read reads the operator at the start of s; its words or quotes are s[from:end].
func read(s string) (c Clause, from, end int, ok bool) {
	rest := s
	sign := s[0] == '+' || s[0] == '-'
	if sign {
		c.Not, rest = s[0] == '-', s[1:]
	}
	if after, found := strings.CutPrefix(rest, "title:"); found {
		c.Title, rest = true, after
	}
	from = len(s) - len(rest)
	if inner, size, quoted := phrase(rest); quoted {
		c.Text, c.Quoted, end = inner, !sign && !c.Title, from+size
	} else {
		size := word(rest)
		w := strings.TrimRightFunc(rest[:size], func(r rune) bool { return r != '*' && unicode.IsPunct(r) })
		if before, star := strings.CutSuffix(w, "*"); star && letters(before) >= 2 && bare(before) {
			c.Prefix, w = true, before
		}
		switch {
		case !begins(w), !sign && !c.Title && !c.Prefix:
			return c, 0, 0, false
		case sign && !c.Title && (letters(w) == 0 || letters(w) == 1 && len(w) <= 2): // a number with its sign, an option: -5, -x, -O2
			return c, 0, 0, false
		}
		c.Text, end = w, from+size
	}
	return c, from, end, true
}

// phrase reads a quoted phrase with at least one letter or digit; a word must end at its closing quote.
func phrase(s string) (inner string, size int, ok bool) {
	open, n := utf8.DecodeRuneInString(s)
	closing := '"'
	switch open {
	case '"':
	case '“':
		closing = '”'
	default:
		return "", 0, false
	}
	at := strings.IndexRune(s[n:], closing)
	if at < 0 {
		return "", 0, false
	}
	inner, size = s[n:n+at], n+at+utf8.RuneLen(closing)
	if begins(s[size:]) || !strings.ContainsFunc(inner, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", 0, false
	}
	return strings.TrimSpace(inner), size, true
}

// word is the length of the text up to the next white space.
func word(s string) int {
	if at := strings.IndexFunc(s, unicode.IsSpace); at >= 0 {
		return at
	}
	return len(s)
}

// begins reports whether s begins with a letter or a digit.
func begins(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// bare reports whether a word consists of letters, digits and underscores.
func bare(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_'
	})
}
