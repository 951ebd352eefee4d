package mcp

import (
	"cmp"
	"maps"
	"strings"
	"unicode"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metadata"
)

// The size of an answer of search besides ids, symbols and texts, in tokens.
const (
	frameTokens = 90 // of the answer
	headTokens  = 22 // of a hit
)

// tokensOf estimates the number of a model's tokens in a text. Models differ; the estimate is rather above
// the count of cl100k.
func tokensOf(s string) (n int) {
	run, class := 0, 0
	end := func() {
		switch class {
		case 'a': // parts of words of six letters
			n += (run + 5) / 6
		case '0':
			n += (run + 2) / 3
		case '\n', ' ': // one blank belongs to what follows
			if run > 1 || class == '\n' {
				n++
			}
		case '.', 'x':
			n += (run + 1) / 2
		}
		run = 0
	}
	for _, c := range s {
		k := '.'
		switch {
		case c == '\n' || c == '\r':
			k = '\n'
		case c == ' ' || c == '\t':
			k = ' '
			if class == '\n' {
				k = '\n'
			}
		case c >= '0' && c <= '9':
			k = '0'
		case c < 0x80 && unicode.IsLetter(c):
			k = 'a'
		case c >= 0x80:
			n++
			k = 'x'
		}
		if int(k) != class {
			end()
			class = int(k)
		}
		run++
	}
	end()
	return n
}

// roomOf is the number of bytes of a hit's text that take that many tokens.
func roomOf(h engine.Hit, tokens int) int {
	all := tokensOf(h.Text)
	if all <= tokens {
		return len(h.Text)
	}
	return len(h.Text) * max(0, tokens) / all
}

// wholeLines removes incomplete lines at both ends of the part of s from a to z. It keeps the line of the bytes from
// from to to.
func wholeLines(s string, a, z, from, to int) (string, int) {
	if a > 0 && s[a-1] != '\n' {
		if i := strings.IndexByte(s[a:z], '\n'); i >= 0 && a+i < from {
			a += i + 1
		} else if i := strings.LastIndexByte(s[:a], '\n'); a-i < 80 {
			a = i + 1
		}
	}
	if z < len(s) && s[z] != '\n' {
		if i := strings.LastIndexByte(s[a:z], '\n'); i >= 0 && a+i >= to {
			z = a + i + 1
		}
	}
	return s[a:z], a
}

// rootOf is the folder below which the ids of all hits are paths, "" if there is none.
func rootOf(hits []searchHit) (root string) {
	for _, h := range hits {
		at, ok := strings.CutSuffix(strings.ReplaceAll(h.Path, `\`, "/"), "/"+h.ID)
		if !ok || root != "" && at != root {
			return ""
		}
		root = cmp.Or(at, "/")
	}
	return root
}

// ownMetadata are those of a hit that its place does not tell.
func ownMetadata(h searchHit) map[string]any {
	if h.Path == "" {
		return h.Metadata
	}
	own := maps.Clone(h.Metadata)
	delete(own, "language")
	if _, flat := metadata.OfFile(own); !flat {
		delete(own, metadata.File)
		return own
	}
	for _, name := range metadata.FileNames { // of an earlier build
		delete(own, name)
	}
	return own
}
