package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scripted is a WordPiece vocabulary of many English words, with letters of other scripts, of which words say how many
// Cyrillic ones it has.
func scripted(t *testing.T, english, words int) *Tokenizer {
	t.Helper()
	vocab := map[string]int{}
	add := func(entry string) {
		if _, ok := vocab[entry]; !ok {
			vocab[entry] = len(vocab)
		}
	}
	for _, entry := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "-", "?", "tnf"} {
		add(entry)
	}
	for i := range english {
		add(fmt.Sprintf("w%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26))
	}
	for _, letters := range []string{"абвгдеийклмнопрсту", "αβγ", "漢字山川", "हनदभषािी", "\u1112\u1161\u11ab\u1100\u1173\u11af"} {
		for _, r := range letters {
			add(string(r))
			add("##" + string(r))
		}
	}
	for i := range words {
		add("##" + strings.Repeat(string(rune('а'+i%32)), 2) + strings.Repeat(string(rune('а'+i/32)), 2))
	}
	raw, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	tk, err := Parse(strings.NewReader(`{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
		"pre_tokenizer":{"type":"BertPreTokenizer"},
		"post_processor":{"type":"BertProcessing","sep":["[SEP]",` + fmt.Sprint(vocab["[SEP]"]) + `],"cls":["[CLS]",` + fmt.Sprint(vocab["[CLS]"]) + `]},
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":` + string(raw) + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

// TestUnwrittenScripts: words that are spelled in single letters are unknown where the vocabulary has no words of the
// script, alone standing letters are not.
func TestUnwrittenScripts(t *testing.T) {
	for _, c := range []struct {
		what           string
		english, words int
		text           string
		unknown        float64
	}{
		{"English", 5000, 8, "waaa wbaa?", 0},
		{"Russian", 5000, 8, "молоко", 1},
		{"Russian with accents", 5000, 8, "йод и и\u0306од", 9. / 11},
		{"a vocabulary that has words of it", 5000, 300, "молоко", 0},
		{"a vocabulary too small to tell", 1000, 8, "молоко", 0},
		{"signs", 5000, 8, "tnf-α", 0},
		{"a word of such letters", 5000, 8, "αβγ", 1},
		{"Chinese characters", 5000, 8, "漢字", 1},
		{"Devanagari, of which marks are taken out", 5000, 8, "हिन्दी", 1},
		{"Hangul, which is taken apart", 5000, 8, "한글", 1},
		{"mixed", 5000, 8, "waaa кот", 6. / 10},
	} {
		tk := scripted(t, c.english, c.words)
		got := tk.Tokenize(c.text, 0)
		if u := got.Unknown(); u < c.unknown-0.1 || u > c.unknown+0.1 || c.unknown == 0 && u != 0 || c.unknown == 1 && u != 1 {
			t.Errorf("%s: %q is unknown by %v, want %v: %v %v", c.what, c.text, u, c.unknown, got.Special, got.Offsets)
		}
		if n := len(got.Lexical(nil)); n == 0 {
			t.Errorf("%s: %q has no tokens of weight", c.what, c.text)
		}
	}
	if a, b := scripted(t, 5000, 8).Digest(), scripted(t, 5000, 8).Digest(); a != b || slices.Contains([]string{a}, "") {
		t.Errorf("digests %q, %q", a, b)
	}
}
