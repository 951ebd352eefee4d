package sage

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// tokenSpans cuts s into tokens without gaps: words with the blank before them, numbers
// of up to three digits, runs of other marks, and white space. Byte-pair tokenizers of
// the cl100k family make the same cut before they merge; like them, it keeps case. Words
// that they would divide further are one token here.
func tokenSpans(s string) []string {
	var out []string
	for len(s) > 0 {
		n := tokenLength(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func tokenLength(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	at := 0
	if r == ' ' { // belongs to what follows
		next, m := utf8.DecodeRuneInString(s[n:])
		if m == 0 || unicode.IsSpace(next) || unicode.IsNumber(next) {
			return spaces(s)
		}
		at, r, n = n, next, m
	}
	switch {
	case unicode.IsLetter(r):
		return at + run(s[at:], 1<<30, unicode.IsLetter)
	case unicode.IsNumber(r):
		return at + run(s[at:], 3, unicode.IsNumber)
	case unicode.IsSpace(r):
		return spaces(s)
	}
	return at + run(s[at:], 1<<30, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsSpace(r)
	})
}

// spaces is the length of the white space at the start of s. A last blank that belongs to
// a following word does not count.
func spaces(s string) int {
	n := run(s, 1<<30, unicode.IsSpace)
	if n < len(s) && n > 1 && s[n-1] == ' ' {
		if r, _ := utf8.DecodeRuneInString(s[n:]); !unicode.IsNumber(r) {
			return n - 1
		}
	}
	return n
}

// run is the length of the first runes of s that fit, at most limit.
func run(s string, limit int, fits func(rune) bool) int {
	at := 0
	for k := 0; at < len(s) && k < limit; k++ {
		r, n := utf8.DecodeRuneInString(s[at:])
		if !fits(r) {
			break
		}
		at += n
	}
	return at
}

// vocabulary numbers the tokens of all texts.
type vocabulary map[string]int32

func (v vocabulary) ids(s string) []int32 {
	var out []int32
	for _, t := range tokenSpans(s) {
		id, ok := v[t]
		if !ok {
			id = int32(len(v))
			v[t] = id
		}
		out = append(out, id)
	}
	return out
}

// tokenize gives the token ids of each text.
func tokenize(texts []string) [][]int32 {
	v := vocabulary{}
	out := make([][]int32, len(texts))
	for i, s := range texts {
		out[i] = v.ids(s)
	}
	return out
}

// overlap is the number of elements that sorted a and b share; an element counts as often
// as both have it.
func overlap[T int32 | int64](a, b []T) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			n++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return n
}

func sorted[T int32 | int64](x []T) []T {
	x = slices.Clone(x)
	slices.Sort(x)
	return x
}
