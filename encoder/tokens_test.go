package encoder

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	text := "¿Qué es C++? naïve — ру ा 9"
	var tokens Tokens
	for i, word := range []string{"¿", "Qué", " ", "es", "C", "+", "?", "naïve", "—", "ру", "ा", "9"} {
		at := 0
		for at+len(word) <= len(text) && text[at:at+len(word)] != word {
			at++
		}
		tokens.IDs, tokens.Special = append(tokens.IDs, int32(i)), append(tokens.Special, i == 3)
		tokens.Offsets = append(tokens.Offsets, Span{int32(at), int32(at + len(word))})
	}
	before := slices.Clone(tokens.Special)
	if got := tokens.Words(text).Lexical(nil); !slices.Equal(got, []int32{1, 4, 7, 9, 10, 11}) {
		t.Errorf("words %v", got)
	}
	if !slices.Equal(tokens.Special, before) {
		t.Error("the tokens themselves were changed")
	}
	blank := Tokens{IDs: []int32{1, 2}, Special: make([]bool, 2), Offsets: []Span{{}, {0, 3}}} // such as a lone "▁"
	if got := blank.Words("Qué").Lexical(nil); !slices.Equal(got, []int32{2}) {
		t.Errorf("of a token without bytes beside a word: %v", got)
	}
	for name, other := range map[string]Tokens{
		"patches":             {IDs: []int32{1, 2}, Special: make([]bool, 2), Offsets: make([]Span, 2)},
		"no offsets":          {IDs: []int32{1, 2}, Special: make([]bool, 2)},
		"beyond another text": {IDs: []int32{1, 2}, Special: make([]bool, 2), Offsets: []Span{{40, 50}, {60, 61}}},
		"none":                {},
	} {
		if got := other.Words("?!"); len(got.Lexical(nil)) != len(other.IDs) {
			t.Errorf("%s: %v", name, got.Special)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		what string
		t    Tokens
		want float64
	}{
		{"none", Tokens{}, 0},
		{"markers alone", Tokens{Special: []bool{true, true}, Offsets: []Span{{}, {}}}, 0},
		{"all known", Tokens{Special: []bool{true, false, false, true}, Offsets: []Span{{}, {0, 3}, {4, 9}, {}}}, 0},
		{"six of nine bytes", Tokens{Special: []bool{true, false, true, true}, Offsets: []Span{{}, {0, 3}, {4, 10}, {}}}, 6. / 9},
		{"all unknown", Tokens{Special: []bool{true, true}, Offsets: []Span{{}, {0, 3}}}, 1},
	} {
		if got := c.t.Unknown(); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
