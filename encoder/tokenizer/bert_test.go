package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
)

// bertVocab is a vocabulary small enough to read.
var bertVocab = strings.Fields(`[PAD] [UNK] [CLS] [SEP] [MASK] a b c d h i l o t r ##a ##b ##c ##e ##h ##i ##l ##o ##t ##r ##s
the cat cats ##at hello he ##llo ##é é . , [ ] # ! ' - ; 日 本 か 한 ᄒ ##ᅡ ##ᆫ ᬅ ##᭄ query : < e`)

// bertJSON is a tokenizer.json of BERT's recipe, after change.
func bertJSON(t testing.TB, change func(map[string]any)) string {
	t.Helper()
	vocab := map[string]any{}
	var added []any
	for i, s := range bertVocab {
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

func cased(j map[string]any) { at(j, "normalizer")["lowercase"] = false }

// bert is a tokenizer of BERT's recipe, after change.
func bert(t testing.TB, change func(map[string]any)) *Tokenizer {
	t.Helper()
	k, err := Parse(strings.NewReader(bertJSON(t, change)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// bertPieces writes tokens as text, [CLS] and [SEP] left out: "piece@start-end".
func bertPieces(k *Tokenizer, got encoder.Tokens) string {
	var b []string
	for i, id := range got.IDs[1 : len(got.IDs)-1] {
		s := got.Offsets[i+1]
		b = append(b, fmt.Sprintf("%s@%d-%d", k.Token(id), s.Start, s.End))
	}
	return strings.Join(b, " ")
}

func TestBERTPieces(t *testing.T) {
	uncased, cased := bert(t, nil), bert(t, cased)
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
		if got := bertPieces(uncased, uncased.Tokenize(c.text, 0)); got != c.uncased {
			t.Errorf("uncased %q:\n got %s\nwant %s", c.text, got, c.uncased)
		}
		if got := bertPieces(cased, cased.Tokenize(c.text, 0)); got != c.cased {
			t.Errorf("cased %q:\n got %s\nwant %s", c.text, got, c.cased)
		}
	}
}

func TestBERTSpecial(t *testing.T) {
	got := bert(t, nil).Tokenize("the xyz [MASK] [PAD] cat", 0)
	if want := []bool{true, false, true, true, true, false, true}; !slices.Equal(got.Special, want) {
		t.Errorf("special %v, want %v", got.Special, want)
	}
	if n := len(got.Lexical(nil)); n != 2 {
		t.Errorf("%d lexical ids, want 2", n)
	}
}

// TestBERTTruncation: under any limit the tokens are the first ones of
// the unlimited result, and those missing are counted.
func TestBERTTruncation(t *testing.T) {
	k := bert(t, nil)
	for _, text := range []string{"", "the", "the cats [MASK] hellos xyz é日本 hellos xyz", strings.Repeat("hellos zz ", 50)} {
		all := k.Tokenize(text, 0)
		for limit := 1; limit < len(all.IDs)+3; limit++ {
			got := k.Tokenize(text, limit)
			n := min(max(limit, 2), len(all.IDs))
			if len(got.IDs) != n || got.Truncated != len(all.IDs)-n {
				t.Fatalf("%q at %d: %d tokens and %d cut, of %d", text, limit, len(got.IDs), got.Truncated, len(all.IDs))
			}
			if !slices.Equal(got.IDs[:n-1], all.IDs[:n-1]) || k.Token(got.IDs[n-1]) != "[SEP]" ||
				!slices.Equal(got.Offsets[:n-1], all.Offsets[:n-1]) || got.Offsets[n-1] != (encoder.Span{}) || !got.Special[n-1] {
				t.Fatalf("%q at %d: %v", text, limit, got)
			}
		}
	}
}

func TestBERTLongWords(t *testing.T) {
	k := bert(t, nil)
	for _, unit := range []string{"a", "é", "\u0301a"} {
		for _, n := range []int{99, 100, 101, 1 << 20} {
			got := k.Tokenize(strings.Repeat(unit, n), 0)
			if long := len(got.IDs) == 3 && k.Token(got.IDs[1]) == "[UNK]"; long != (n > 100) {
				t.Errorf("%d × %q: unknown %v, %d ids", n, unit, long, len(got.IDs))
			}
		}
	}
}

// TestBERTDigest: databases keep digests, so they stay what they were. That of BERT's recipe is the
// same however the file is written.
func TestBERTDigest(t *testing.T) {
	const uncasedDigest = "61ed544a90ad25cd20147fb8c6d0249f"
	first := func(j map[string]any) map[string]any { return j["added_tokens"].([]any)[0].(map[string]any) }
	for _, c := range []struct {
		name, want string
		change     func(map[string]any)
	}{
		{"uncased", uncasedDigest, nil},
		{"accents named", uncasedDigest, func(j map[string]any) { at(j, "normalizer")["strip_accents"] = true }},
		{"no type of the model", uncasedDigest, func(j map[string]any) { delete(at(j, "model"), "type") }},
		{"a template", uncasedDigest, func(j map[string]any) {
			part := func(kind, id string) any { return map[string]any{kind: map[string]any{"id": id, "type_id": 0}} }
			token := func(id string, n int) any {
				return map[string]any{"id": id, "ids": []any{n}, "tokens": []any{id}}
			}
			j["post_processor"] = map[string]any{"type": "TemplateProcessing", "single": []any{part("SpecialToken", "[CLS]"), part("Sequence", "A"), part("SpecialToken", "[SEP]")},
				"pair": nil, "special_tokens": map[string]any{"[CLS]": token("[CLS]", 2), "[SEP]": token("[SEP]", 3)}}
		}},
		{"cased", "c5c0737631c1a624cb79e504e94508d8", cased},
		{"longer words", "34074c71bc4ccad21f8e230471033add", func(j map[string]any) { at(j, "model")["max_input_chars_per_word"] = 200 }},
		{"an added token that is not special", "dd279932e02c6ef98624d571736d15a4", func(j map[string]any) { first(j)["special"] = false }},
		{"a token beyond the vocabulary", "c2e47a8e6738a2434c2ae3ee11825f65", func(j map[string]any) {
			j["added_tokens"] = append(j["added_tokens"].([]any), map[string]any{"id": len(bertVocab), "content": "<longest>"})
		}},
		{"other order", "3ea7285f528157f40c2de58b947a996f", func(j map[string]any) {
			v := at(j, "model", "vocab")
			v["a"], v["b"] = v["b"], v["a"]
		}},
		{"no cleaning", "d91e98aa27e83b057d2f8f4a99932e96", func(j map[string]any) { at(j, "normalizer")["clean_text"] = false }},
		{"no ideographs", "6d88c5a74fb3de56c333efa43f792d7b", func(j map[string]any) { at(j, "normalizer")["handle_chinese_chars"] = false }},
		{"lower case with accents", "2666b36aaab402f4bbdb5c1048346c3a", func(j map[string]any) { at(j, "normalizer")["strip_accents"] = false }},
		{"other cutter", "85d7f26c8c9819bc9cbc30a6e13941d1", func(j map[string]any) { j["pre_tokenizer"] = map[string]any{"type": "Whitespace"} }},
		{"no frame", "28843d993c7ca365d9e644f3b3128985", func(j map[string]any) { j["post_processor"] = nil }},
		{"other frame", "b8afbd53640eb3aebbca68bb5fb4b515", func(j map[string]any) { at(j, "post_processor")["sep"] = []any{"[PAD]", 0} }},
		{"no word length", "805c86f3f515a23b71cda8fa2de9ba44", func(j map[string]any) { at(j, "model")["max_input_chars_per_word"] = 0 }},
		{"other unknown", "df6ccb7748f6bc2471a62f4d9c905bb0", func(j map[string]any) { at(j, "model")["unk_token"] = "[PAD]" }},
		{"added token with spaces", "8a9b4ad40180cb1cd61ee87f1b011839", func(j map[string]any) { first(j)["lstrip"] = true }},
		{"added token, normalised", "e0523e3afa0a6c661f47dd2ea460fb4a", func(j map[string]any) { first(j)["normalized"] = true }},
		{"gap", "2faf218f075f6871dd36ff942489a403", func(j map[string]any) { at(j, "model", "vocab")["zzz"] = len(bertVocab) + 3 }},
	} {
		if got := bert(t, c.change).Digest(); got != c.want {
			t.Errorf("%s: digest %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBERTRefuses(t *testing.T) {
	first := func(j map[string]any) map[string]any { return j["added_tokens"].([]any)[0].(map[string]any) }
	for name, change := range map[string]func(map[string]any){
		"byte pairs":           func(j map[string]any) { at(j, "model")["type"] = "BPE" },
		"unknown not there":    func(j map[string]any) { at(j, "model")["unk_token"] = "<unk>" },
		"other normaliser":     func(j map[string]any) { at(j, "normalizer")["type"] = "Bert" },
		"added word, other id": func(j map[string]any) { first(j)["id"] = 7 },
		"added word, empty":    func(j map[string]any) { first(j)["content"] = "" },
		"huge id":              func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 1<<31 - 1 },
		"negative id":          func(j map[string]any) { at(j, "model", "vocab")["zzz"] = -1 },
		"id twice":             func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 9 },
		"id too large":         func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 1 << 40 },
		"no vocabulary":        func(j map[string]any) { at(j, "model")["vocab"] = nil; j["added_tokens"] = nil },
	} {
		if _, err := Parse(strings.NewReader(bertJSON(t, change))); !errors.Is(err, encoder.ErrTokenizer) {
			t.Errorf("%s: %v, want ErrTokenizer", name, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "not JSON": "{", "deep": strings.Repeat("[", 1<<20), "list": "[]", "1e400": `{"model":{"vocab":{"a":1e400}}}`} {
		if _, err := Parse(strings.NewReader(text)); !errors.Is(err, encoder.ErrTokenizer) {
			t.Errorf("%s: %.200v, want ErrTokenizer", name, err)
		}
	}
}

// FuzzBERT: no string panics, and what must hold of every result does.
func FuzzBERT(f *testing.F) {
	for _, s := range []string{"", "the cats", "[MASK]é\xff", "ᬅ\u0301\u1b44", "\U0001D15F\u0301", "a\u00ad\u0301\u302e한日≮", "e\u0301[UNK]\xc3"} {
		f.Add(s, 0)
		f.Add(s, 5)
	}
	uncased, cased := bert(f, nil), bert(f, func(j map[string]any) { cased(j); at(j, "model")["max_input_chars_per_word"] = 4 })
	f.Fuzz(func(t *testing.T, text string, limit int) {
		for _, k := range []*Tokenizer{uncased, cased} {
			check(t, "BERT", k, text, k.Tokenize(text, max(limit, 0)%64))
			prefixed := modelspec.WithPrefix(k, "query: ", text, 0)
			check(t, "BERT", k, text, prefixed)
			plain := k.Tokenize(text, 0)
			// A prefix that ends in a blank changes nothing behind it.
			n := len(prefixed.IDs) - len(plain.IDs) + 1
			if !slices.Equal(prefixed.IDs[n:], plain.IDs[1:]) || !slices.Equal(prefixed.Offsets[n:], plain.Offsets[1:]) {
				t.Fatalf("with a prefix %v, without %v", prefixed, plain)
			}
		}
	})
}
