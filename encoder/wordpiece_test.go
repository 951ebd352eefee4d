package encoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tinyVocab is a vocabulary small enough to read.
var tinyVocab = strings.Fields(`[PAD] [UNK] [CLS] [SEP] [MASK] a b c d e h i l o t r ##a ##b ##c ##e ##h ##i ##l ##o ##t ##r ##s
the cat cats ##at hello he ##llo e ##é é . , [ ] # ! ' - ; 日 本 か 한 ᄒ ##ᅡ ##ᆫ ᬅ ##᭄ query : <`)

func tiny(t testing.TB, o WordPieceOptions) *WordPiece {
	t.Helper()
	vocab := slices.Clone(tinyVocab)
	vocab = slices.DeleteFunc(vocab, func(s string) bool { return s == "e" })
	w, err := NewWordPieceVocab(append(vocab, "e"), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// show writes tokens as text, [CLS] and [SEP] left out: "piece@start-end".
func show(w *WordPiece, k Tokens) string {
	var b []string
	for i, id := range k.IDs[1 : len(k.IDs)-1] {
		s := k.Offsets[i+1]
		b = append(b, fmt.Sprintf("%s@%d-%d", w.Token(id), s.Start, s.End))
	}
	return strings.Join(b, " ")
}

func TestWordPiecePieces(t *testing.T) {
	uncased, cased := tiny(t, WordPieceOptions{}), tiny(t, WordPieceOptions{Cased: true})
	for _, c := range []struct{ text, uncased, cased string }{
		{"", "", ""},
		{" \t\r\n", "", ""},
		{"the cats", "the@0-3 cats@4-8", "the@0-3 cats@4-8"},
		{"The, cat!", "the@0-3 ,@3-4 cat@5-8 !@8-9", "[UNK]@0-3 ,@3-4 cat@5-8 !@8-9"},
		{"hellos", "hello@0-5 ##s@5-6", "hello@0-5 ##s@5-6"},
		{"xyz the", "[UNK]@0-3 the@4-7", "[UNK]@0-3 the@4-7"},
		{"cafÉ", "[UNK]@0-5", "[UNK]@0-5"},
		{"é", "e@0-2", "é@0-2"},
		{"e\u0301", "e@0-1", "[UNK]@0-3"},
		{"the\x00\u200bcat", "the@0-3 ##c@7-8 ##at@8-10", "the@0-3 ##c@7-8 ##at@8-10"},
		{"日本 the", "日@0-3 本@3-6 the@7-10", "日@0-3 本@3-6 the@7-10"},
		{"a日b", "a@0-1 日@1-4 b@4-5", "a@0-1 日@1-4 b@4-5"},
		{"か\u3099", "か@0-3", "[UNK]@0-6"},
		{"한", "ᄒ@0-3 ##ᅡ@0-3 ##ᆫ@0-3", "한@0-3"},
		{"≮a", "<@0-3 a@3-4", "[UNK]@0-4"},
		{"[MASK]a[MASK", "[MASK]@0-6 a@6-7 [@7-8 [UNK]@8-12", "[MASK]@0-6 a@6-7 [@7-8 [UNK]@8-12"},
		{"[UNK][CLS]", "[UNK]@0-5 [CLS]@5-10", "[UNK]@0-5 [CLS]@5-10"},
		{"\xffthe\xc3", "the@1-4", "the@1-4"},
		{"t\xffhe", "the@0-4", "the@0-4"},
		{"##a", "#@0-1 #@1-2 a@2-3", "#@0-1 #@1-2 a@2-3"},
		// U+1B44 (class 9) sorts before U+0301 (230) and takes its place.
		{"ᬅ\u0301\u1b44", "ᬅ@0-3 ##᭄@3-5", "[UNK]@0-8"},
		{"ᬅ\u1b44\u0301", "ᬅ@0-3 ##᭄@3-6", "[UNK]@0-8"},
	} {
		if got := show(uncased, uncased.Tokenize(c.text, 0)); got != c.uncased {
			t.Errorf("uncased %q:\n got %s\nwant %s", c.text, got, c.uncased)
		}
		if got := show(cased, cased.Tokenize(c.text, 0)); got != c.cased {
			t.Errorf("cased %q:\n got %s\nwant %s", c.text, got, c.cased)
		}
	}
}

func TestWordPieceSpecial(t *testing.T) {
	w := tiny(t, WordPieceOptions{})
	got := w.Tokenize("the xyz [MASK] [PAD] cat", 0)
	want := []bool{true, false, true, true, true, false, true}
	if !slices.Equal(got.Special, want) {
		t.Errorf("special %v, want %v", got.Special, want)
	}
	if n := len(got.Lexical(nil)); n != 2 {
		t.Errorf("%d lexical ids, want 2", n)
	}
}

// TestWordPieceTruncation: under any limit the tokens are the first ones of
// the unlimited result, and those missing are counted.
func TestWordPieceTruncation(t *testing.T) {
	w := tiny(t, WordPieceOptions{})
	for _, text := range []string{"", "the", "the cats [MASK] hellos xyz é日本 hellos xyz", strings.Repeat("hellos zz ", 50)} {
		all := w.Tokenize(text, 0)
		for limit := 1; limit < len(all.IDs)+3; limit++ {
			got := w.Tokenize(text, limit)
			n := min(max(limit, 2), len(all.IDs))
			if len(got.IDs) != n || got.Truncated != len(all.IDs)-n {
				t.Fatalf("%q at %d: %d tokens and %d cut, of %d", text, limit, len(got.IDs), got.Truncated, len(all.IDs))
			}
			if !slices.Equal(got.IDs[:n-1], all.IDs[:n-1]) || got.IDs[n-1] != w.sep ||
				!slices.Equal(got.Offsets[:n-1], all.Offsets[:n-1]) || got.Offsets[n-1] != (Span{}) || !got.Special[n-1] {
				t.Fatalf("%q at %d: %v", text, limit, got)
			}
		}
	}
}

func TestWordPieceLongWords(t *testing.T) {
	w := tiny(t, WordPieceOptions{})
	for _, unit := range []string{"a", "é", "\u0301a"} {
		for _, n := range []int{99, 100, 101, 1 << 20} {
			got := w.Tokenize(strings.Repeat(unit, n), 0)
			if long := got.IDs[1] == w.unk && len(got.IDs) == 3; long != (n > 100) {
				t.Errorf("%d × %q: unknown %v, %d ids", n, unit, long, len(got.IDs))
			}
		}
	}
}

func TestWordPieceDigest(t *testing.T) {
	a := tiny(t, WordPieceOptions{})
	digests := map[string]string{"same again": tiny(t, WordPieceOptions{MaxWordChars: 100}).Digest()}
	if digests["same again"] != a.Digest() || len(a.Digest()) != 32 {
		t.Errorf("digest %q, then %q", a.Digest(), digests["same again"])
	}
	swapped := slices.Clone(a.vocab)
	swapped[10], swapped[11] = swapped[11], swapped[10]
	b, err := NewWordPieceVocab(swapped, WordPieceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]*WordPiece{"cased": tiny(t, WordPieceOptions{Cased: true}), "longer words": tiny(t, WordPieceOptions{MaxWordChars: 200}), "order": b} {
		if w.Digest() == a.Digest() {
			t.Errorf("%s: same digest", name)
		}
	}
	c, err := ParseWordPiece(strings.NewReader(tinyJSON(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Digest() != a.Digest() {
		t.Error("a vocabulary has another digest as JSON than as lines")
	}
}

// tinyJSON is tinyVocab as a tokenizer.json, after change.
func tinyJSON(t testing.TB, change func(map[string]any)) string {
	t.Helper()
	vocab := map[string]any{}
	var added []any
	for i, s := range tiny(t, WordPieceOptions{}).vocab {
		vocab[s] = i
		if len(s) > 3 && s[0] == '[' {
			added = append(added, map[string]any{"id": i, "content": s, "special": true, "normalized": false})
		}
	}
	j := map[string]any{
		"truncation":     map[string]any{"max_length": 3},
		"padding":        map[string]any{"strategy": map[string]any{"Fixed": 5}},
		"normalizer":     map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 3}},
		"added_tokens":   added,
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
	}
	if change != nil {
		change(j)
	}
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParseWordPiece(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte(tinyJSON(t, nil)), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := LoadWordPiece(path)
	if err != nil {
		t.Fatal(err)
	}
	// The file's truncation and padding are not followed.
	if got := w.Tokenize("the cat the cat", 0); len(got.IDs) != 6 || got.Truncated != 0 {
		t.Errorf("%v", got)
	}
	if got := w.Tokenize("", 0); len(got.IDs) != 2 {
		t.Errorf("%v", got)
	}
	if _, err := LoadWordPiece(path + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestParseWordPieceRefuses(t *testing.T) {
	at := func(j map[string]any, keys ...string) map[string]any {
		for _, k := range keys {
			j = j[k].(map[string]any)
		}
		return j
	}
	first := func(j map[string]any) map[string]any { return j["added_tokens"].([]any)[0].(map[string]any) }
	for name, change := range map[string]func(map[string]any){
		"byte pairs":              func(j map[string]any) { at(j, "model")["type"] = "BPE" },
		"other prefix":            func(j map[string]any) { at(j, "model")["continuing_subword_prefix"] = "@@" },
		"other unknown":           func(j map[string]any) { at(j, "model")["unk_token"] = "<unk>" },
		"no word length":          func(j map[string]any) { delete(at(j, "model"), "max_input_chars_per_word") },
		"other normaliser":        func(j map[string]any) { at(j, "normalizer")["type"] = "NFC" },
		"no normaliser":           func(j map[string]any) { j["normalizer"] = nil },
		"no cleaning":             func(j map[string]any) { at(j, "normalizer")["clean_text"] = false },
		"no ideographs":           func(j map[string]any) { at(j, "normalizer")["handle_chinese_chars"] = false },
		"lower case with accents": func(j map[string]any) { at(j, "normalizer")["strip_accents"] = false },
		"other cutter":            func(j map[string]any) { at(j, "pre_tokenizer")["type"] = "Whitespace" },
		"no frame":                func(j map[string]any) { j["post_processor"] = nil },
		"other frame":             func(j map[string]any) { at(j, "post_processor")["cls"] = []any{"<s>", 2} },
		"template without SEP": func(j map[string]any) {
			j["post_processor"] = map[string]any{"type": "TemplateProcessing", "single": []any{
				map[string]any{"SpecialToken": map[string]any{"id": "[CLS]"}}, map[string]any{"Sequence": map[string]any{"id": "A"}}}}
		},
		"added word with spaces": func(j map[string]any) { first(j)["lstrip"] = true },
		"added word normalised":  func(j map[string]any) { first(j)["normalized"] = true },
		"added word, other id":   func(j map[string]any) { first(j)["id"] = 7 },
		"added word, empty":      func(j map[string]any) { first(j)["content"] = "" },
		"gap":                    func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 5000 },
		"huge id":                func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 1<<31 - 1 },
		"negative id":            func(j map[string]any) { at(j, "model", "vocab")["zzz"] = -1 },
		"id twice":               func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 9 },
		"id too large":           func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 1 << 40 },
		"no vocabulary":          func(j map[string]any) { at(j, "model")["vocab"] = nil; j["added_tokens"] = nil },
	} {
		_, err := ParseWordPiece(strings.NewReader(tinyJSON(t, change)))
		if !errors.Is(err, ErrTokenizer) {
			t.Errorf("%s: %v, want ErrTokenizer", name, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "not JSON": "{", "deep": strings.Repeat("[", 1<<20), "list": "[]", "1e400": `{"model":{"vocab":{"a":1e400}}}`, "long": `"` + strings.Repeat("x", maxVocabBytes) + `"`} {
		if _, err := ParseWordPiece(strings.NewReader(text)); !errors.Is(err, ErrTokenizer) {
			t.Errorf("%s: %.200v, want ErrTokenizer", name, err)
		}
	}
	for name, vocab := range map[string][]string{"none": nil, "no SEP": {"[UNK]", "[CLS]"}, "twice": {"[UNK]", "[CLS]", "[SEP]", "a", "a"}} {
		if _, err := NewWordPieceVocab(vocab, WordPieceOptions{}); !errors.Is(err, ErrTokenizer) {
			t.Errorf("%s: %v, want ErrTokenizer", name, err)
		}
	}
	if _, err := NewWordPieceVocab(tinyVocab[:5], WordPieceOptions{MaxWordChars: -1}); !errors.Is(err, ErrTokenizer) {
		t.Errorf("negative length: %v, want ErrTokenizer", err)
	}
}

func TestWordPieceConcurrent(t *testing.T) {
	w := tiny(t, WordPieceOptions{})
	texts := []string{"the cats", "é日本 hellos", strings.Repeat("hello ", 300), "[MASK] ᬅ\u0301\u1b44"}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				text := texts[i%len(texts)]
				k := w.Tokenize(text, 64)
				if again := w.Tokenize(text, 64); !slices.Equal(k.IDs, again.IDs) || !slices.Equal(k.Offsets, again.Offsets) {
					t.Errorf("%q: %v, then %v", text, k, again)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzTokenize: no string panics, and what must hold of every result does.
func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"", "the cats", "[MASK]é\xff", "ᬅ\u0301\u1b44", "\U0001D15F\u0301", "a\u00ad\u0301\u302e한日≮", "e\u0301[UNK]\xc3"} {
		f.Add(s, 0)
		f.Add(s, 5)
	}
	uncased, cased := tiny(f, WordPieceOptions{}), tiny(f, WordPieceOptions{Cased: true, MaxWordChars: 4})
	f.Fuzz(func(t *testing.T, text string, limit int) {
		for _, w := range []*WordPiece{uncased, cased} {
			k := w.Tokenize(text, max(limit, 0)%64)
			checkTokens(t, w, text, k)
			prefixed := WithPrefix(w, "query: ", text, 0)
			checkTokens(t, w, text, prefixed)
			plain := w.Tokenize(text, 0)
			// A prefix that ends in a blank changes nothing behind it.
			n := len(prefixed.IDs) - len(plain.IDs) + 1
			if !slices.Equal(prefixed.IDs[n:], plain.IDs[1:]) || !slices.Equal(prefixed.Offsets[n:], plain.Offsets[1:]) {
				t.Fatalf("with a prefix %v, without %v", prefixed, plain)
			}
		}
	})
}

func checkTokens(t *testing.T, w *WordPiece, text string, k Tokens) {
	n := len(k.IDs)
	if n < 2 || len(k.Special) != n || len(k.Offsets) != n || k.Truncated < 0 || k.IDs[0] != w.cls || k.IDs[n-1] != w.sep {
		t.Fatalf("%q: %v", text, k)
	}
	last := Span{}
	for i, s := range k.Offsets {
		if k.IDs[i] < 0 || int(k.IDs[i]) >= w.VocabSize() {
			t.Fatalf("%q: id %d", text, k.IDs[i])
		}
		if s == (Span{}) {
			if !k.Special[i] {
				t.Fatalf("%q: token %d has no bytes", text, i)
			}
			continue
		}
		if s.Start < last.Start || s.End < last.End || s.Start >= s.End || int(s.End) > len(text) {
			t.Fatalf("%q: span %v after %v", text, s, last)
		}
		last = s
	}
}

// FuzzParseWordPiece: no bytes panic, and what is accepted works.
func FuzzParseWordPiece(f *testing.F) {
	f.Add([]byte(tinyJSON(f, nil)))
	f.Add([]byte(tinyJSON(f, func(j map[string]any) { j["normalizer"].(map[string]any)["lowercase"] = false })))
	f.Add([]byte(`{"model":{"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := ParseWordPiece(strings.NewReader(string(b)))
		if err != nil {
			if !errors.Is(err, ErrTokenizer) {
				t.Fatalf("error without kind: %v", err)
			}
			return
		}
		const text = "The cats [MASK] é日\xff"
		checkTokens(t, w, text, w.Tokenize(text, 0))
	})
}
