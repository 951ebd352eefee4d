package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

var recorded = sync.OnceValue(func() *recording { return readRecording(failing{}, "testdata/recorded.gz") })

// failing panics where a test would fail.
type failing struct{ testing.TB }

func (failing) Helper()                   {}
func (failing) Fatal(a ...any)            { panic(a) }
func (failing) Fatalf(f string, a ...any) { panic(f) }

// each calls f with the tokenizer of every family.
func each(t testing.TB, f func(name string, k *Tokenizer)) {
	t.Helper()
	r := recorded()
	for i, name := range r.names {
		k, err := Parse(bytes.NewReader(r.files[i]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f(name, k)
	}
}

// change returns a family's tokenizer.json after f.
func change(t testing.TB, name string, f func(j map[string]any)) []byte {
	t.Helper()
	r := recorded()
	var j map[string]any
	if err := json.Unmarshal(r.files[slices.Index(r.names, name)], &j); err != nil {
		t.Fatal(err)
	}
	if f != nil {
		f(j)
	}
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// at follows keys into j.
func at(j map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		j = j[k].(map[string]any)
	}
	return j
}

// TestLimit: under any limit the tokens are the first ones of the unlimited
// result between the special ones, and those missing are counted.
func TestLimit(t *testing.T) {
	each(t, func(name string, k *Tokenizer) {
		frame := len(k.head) + len(k.tail)
		for _, text := range []string{"", "the", "Monday the <mask> café\xff 日本語", strings.Repeat("hello 12 ", 30)} {
			all := k.Tokenize(text, 0)
			n := len(all.IDs) - frame
			for limit := 1; limit < len(all.IDs)+3; limit++ {
				got := k.Tokenize(text, limit)
				kept := min(max(limit-frame, 0), n)
				if len(got.IDs) != kept+frame || got.Truncated != n-kept {
					t.Fatalf("%s: %q at %d: %d tokens and %d cut, of %d", name, text, limit, len(got.IDs), got.Truncated, len(all.IDs))
				}
				front := len(k.head) + kept
				if !slices.Equal(got.IDs[:front], all.IDs[:front]) || !slices.Equal(got.Offsets[:front], all.Offsets[:front]) ||
					!slices.Equal(got.IDs[front:], k.tail) {
					t.Fatalf("%s: %q at %d: %v", name, text, limit, got)
				}
			}
		}
	})
}

func TestSpecial(t *testing.T) {
	k, err := Parse(bytes.NewReader(recorded().files[slices.Index(recorded().names, "xlmr")]))
	if err != nil {
		t.Fatal(err)
	}
	got := k.Tokenize("a <mask> Monday 鬱 <pad>", 0)
	var special []string
	for i, id := range got.IDs {
		if got.Special[i] {
			special = append(special, k.Token(id))
		}
	}
	if want := []string{"<s>", "<mask>", "<unk>", "<pad>", "</s>"}; !slices.Equal(special, want) {
		t.Errorf("special %q, want %q", special, want)
	}
	// <mask> takes the white space before it.
	for i, id := range got.IDs {
		if k.Token(id) == "<mask>" && got.Offsets[i] != (encoder.Span{Start: 1, End: 8}) {
			t.Errorf("<mask> has the offsets %v", got.Offsets[i])
		}
	}
	if k.Token(-1) != "" || k.Token(int32(k.VocabSize())) != "" || k.Token(0) != "<s>" {
		t.Error("tokens beyond the vocabulary, or not those of it")
	}
}

// TestDigest: the digest follows what ids follow from, and nothing else.
func TestDigest(t *testing.T) {
	digest := func(name string, f func(j map[string]any)) string {
		k, err := Parse(bytes.NewReader(change(t, name, f)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return k.Digest()
	}
	for name, changes := range map[string][]func(j map[string]any){
		"unigram-bytes": {
			func(j map[string]any) { at(j, "model")["byte_fallback"] = false },
			func(j map[string]any) { at(j, "model")["vocab"].([]any)[40].([]any)[1] = -3.5 },
			func(j map[string]any) { at(j, "model")["unk_id"] = 5 },
			func(j map[string]any) { at(j, "pre_tokenizer")["prepend_scheme"] = "never" },
			func(j map[string]any) { j["normalizer"] = nil },
			func(j map[string]any) { j["added_tokens"].([]any)[3].(map[string]any)["lstrip"] = true },
		},
		"clip": {
			func(j map[string]any) { m := at(j, "model"); m["merges"] = m["merges"].([]any)[1:] },
			func(j map[string]any) { at(j, "model")["fuse_unk"] = false },
			func(j map[string]any) { at(j, "model")["end_of_word_suffix"] = "</x>" },
			func(j map[string]any) { at(j, "post_processor")["cls"] = []any{"</s>", 1} },
		},
		"wordpiece-nfd": {
			func(j map[string]any) { at(j, "model")["max_input_chars_per_word"] = 61 },
			func(j map[string]any) { at(j, "model")["continuing_subword_prefix"] = "@" },
		},
	} {
		base := digest(name, nil)
		if len(base) != 32 {
			t.Errorf("%s: digest %q", name, base)
		}
		same := digest(name, func(j map[string]any) {
			j["truncation"], j["padding"], j["decoder"] = map[string]any{"max_length": 3}, map[string]any{}, nil
		})
		if same != base {
			t.Errorf("%s: truncation, padding or decoder change the digest", name)
		}
		for i, f := range changes {
			if digest(name, f) == base {
				t.Errorf("%s: change %d does not change the digest", name, i)
			}
		}
	}
	all := map[string]string{}
	each(t, func(name string, k *Tokenizer) {
		if other := all[k.Digest()]; other != "" {
			t.Errorf("%s and %s have one digest", name, other)
		}
		all[k.Digest()] = name
	})
}

// TestRefuses: what is damaged or cannot be followed is named.
func TestRefuses(t *testing.T) {
	added := func(j map[string]any, i int) map[string]any { return j["added_tokens"].([]any)[i].(map[string]any) }
	deep := func(kind, list string) any {
		v := any(map[string]any{"type": "NFC"})
		for range 20 {
			v = map[string]any{"type": kind, list: []any{v}}
		}
		return v
	}
	for _, c := range []struct {
		name, family, says string
		change             func(j map[string]any)
	}{
		{"other model", "clip", "WordLevel", func(j map[string]any) { at(j, "model")["type"] = "WordLevel" }},
		{"no model", "clip", "model", func(j map[string]any) { delete(j, "model") }},
		{"other normalizer", "clip", "ByteLevel", func(j map[string]any) { j["normalizer"] = map[string]any{"type": "ByteLevel"} }},
		{"setting of a normalizer", "clip", "strength", func(j map[string]any) { j["normalizer"] = map[string]any{"type": "NFC", "strength": 3} }},
		{"deep normalizer", "clip", "8", func(j map[string]any) { j["normalizer"] = deep("Sequence", "normalizers") }},
		{"other cutter", "clip", "UnicodeScripts", func(j map[string]any) { j["pre_tokenizer"] = map[string]any{"type": "UnicodeScripts"} }},
		{"ByteLevel first", "clip", "ByteLevel before Digits", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Sequence", "pretokenizers": []any{
				map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}, map[string]any{"type": "Digits", "individual_digits": true}}}
		}},
		{"ByteLevel with Unigram", "unigram-bytes", "Unigram", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}
		}},
		{"look-ahead", "clip", "(?=", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"Regex": "a(?=b)"}, "behavior": "Isolated", "invert": false}
		}},
		{"open set", "clip", "without an end", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"Regex": `[ab:|\s+(?!\S)|\s+`}, "behavior": "Isolated", "invert": false}
		}},
		{"possessive", "clip", "possessive", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"Regex": `\p{L}++`}, "behavior": "Isolated", "invert": false}
		}},
		{"empty match", "clip", "empty match", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"Regex": `a*`}, "behavior": "Isolated", "invert": false}
		}},
		{"line ends", "clip", "$", func(j map[string]any) {
			j["normalizer"] = map[string]any{"type": "Replace", "pattern": map[string]any{"Regex": `a$`}, "content": "b"}
		}},
		{"other behaviour", "clip", "Doubled", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"String": "a"}, "behavior": "Doubled", "invert": false}
		}},
		{"empty pattern", "clip", "pattern", func(j map[string]any) {
			j["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"String": ""}, "behavior": "Isolated", "invert": false}
		}},
		{"other prepend scheme", "unigram-bytes", "twice", func(j map[string]any) { at(j, "pre_tokenizer")["prepend_scheme"] = "twice" }},
		{"long mark", "unigram-bytes", "ab", func(j map[string]any) { at(j, "pre_tokenizer")["replacement"] = "ab" }},
		{"other frame", "clip", "Pairs", func(j map[string]any) { j["post_processor"] = map[string]any{"type": "Pairs"} }},
		{"frame beyond the vocabulary", "clip", "123456", func(j map[string]any) { at(j, "post_processor")["cls"] = []any{"<s>", 123456} }},
		{"negative frame", "clip", "-1", func(j map[string]any) { at(j, "post_processor")["cls"] = []any{"<s>", -1} }},
		{"frame without a text", "xlmr", "without a text", func(j map[string]any) { at(j, "post_processor")["single"] = []any{} }},
		{"frame without an id", "xlmr", "no id", func(j map[string]any) { at(j, "post_processor")["special_tokens"] = map[string]any{} }},
		{"dropout", "clip", "dropout", func(j map[string]any) { at(j, "model")["dropout"] = 0.1 }},
		{"setting of the model", "clip", "magic", func(j map[string]any) { at(j, "model")["magic"] = true }},
		{"merge without entry", "clip", "zzzz", func(j map[string]any) { at(j, "model")["merges"] = []any{"zzzz a"} }},
		{"merge of three", "clip", "a b c", func(j map[string]any) { at(j, "model")["merges"] = []any{"a b c"} }},
		{"merge list of one", "clip", "two parts", func(j map[string]any) { at(j, "model")["merges"] = []any{[]any{"a"}} }},
		{"merges of numbers", "clip", "kind", func(j map[string]any) { at(j, "model")["merges"] = []any{3} }},
		{"no merges", "clip", "kind", func(j map[string]any) { delete(at(j, "model"), "merges") }},
		{"unknown entry is unknown", "clip", "<none>", func(j map[string]any) { at(j, "model")["unk_token"] = "<none>" }},
		{"no unknown entry", "unigram-bytes", "unk_id", func(j map[string]any) { at(j, "model")["unk_id"] = nil }},
		{"unknown id beyond", "unigram-bytes", "unk_id", func(j map[string]any) { at(j, "model")["unk_id"] = 1 << 20 }},
		{"no score", "unigram-bytes", "score", func(j map[string]any) { at(j, "model")["vocab"].([]any)[3] = []any{"a"} }},
		{"score of text", "unigram-bytes", "kind", func(j map[string]any) { at(j, "model")["vocab"].([]any)[3] = []any{"a", "b"} }},
		{"huge id", "clip", "2097152, which", func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 1 << 21 }},
		{"negative id", "clip", "-1", func(j map[string]any) { at(j, "model", "vocab")["zzz"] = -1 }},
		{"id beyond 32 bits", "clip", "zzz", func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 1 << 40 }},
		{"id of text", "clip", "zzz", func(j map[string]any) { at(j, "model", "vocab")["zzz"] = "a" }},
		{"id twice", "clip", "zzz", func(j map[string]any) { at(j, "model", "vocab")["zzz"] = 9 }},
		{"empty vocabulary", "clip", "empty", func(j map[string]any) {
			m := at(j, "model")
			m["vocab"], m["merges"], m["unk_token"] = map[string]any{}, []any{}, nil
		}},
		{"vocabulary of a list", "clip", "kind", func(j map[string]any) { at(j, "model")["vocab"] = []any{"a"} }},
		{"added token, other id", "xlmr", "expected", func(j map[string]any) { added(j, 5)["id"] = 7 }},
		{"added token, empty", "xlmr", "empty", func(j map[string]any) { added(j, 5)["content"] = "" }},
		{"added token, unknown setting", "xlmr", "glue", func(j map[string]any) { added(j, 5)["glue"] = true }},
		{"added token twice", "xlmr", "twice", func(j map[string]any) { j["added_tokens"] = append(j["added_tokens"].([]any), added(j, 5)) }},
		{"rules that are no rules", "xlmr", "charsmap", func(j map[string]any) { at(j, "normalizer")["precompiled_charsmap"] = "AAAA" }},
		{"rules beyond their end", "xlmr", "charsmap", func(j map[string]any) { at(j, "normalizer")["precompiled_charsmap"] = "////fwAAAAAAAAAA" }},
		{"trimming with Unigram", "xlmr", "trim_offsets", func(j map[string]any) {
			j["post_processor"] = map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}
		}},
		{"no word length", "wordpiece-nfd", "max_input", func(j map[string]any) { at(j, "model")["max_input_chars_per_word"] = -1 }},
	} {
		_, err := Parse(bytes.NewReader(change(t, c.family, c.change)))
		if !errors.Is(err, encoder.ErrTokenizer) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.300v; want ErrTokenizer that names %q", c.name, err, c.says)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "not JSON": "{", "deep": strings.Repeat("[", 1<<20), "list": "[]", "no UTF-8": "{\"a\":\"\xff\"}",
		"untyped": `{"model":{"vocab":{"a":0},"merges":[]}}`, "model of text": `{"model":"BPE"}`,
	} {
		if _, err := Parse(strings.NewReader(text)); !errors.Is(err, encoder.ErrTokenizer) {
			t.Errorf("%s: %.200v, want ErrTokenizer", name, err)
		}
	}
	if _, err := Parse(&endless{}); !errors.Is(err, encoder.ErrTokenizer) || !strings.Contains(err.Error(), "67108864") {
		t.Errorf("without end: %v", err)
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, change(t, "qwen", nil), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Tokenize("Hello", 0); len(got.IDs) == 0 {
		t.Error("no tokens")
	}
	if _, err := Load(path + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, encoder.ErrTokenizer) || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged file: %v, want ErrTokenizer and the path", err)
	}
}

// TestCorners: what no trained tokenizer comes upon, with the reference's answers.
func TestCorners(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"unknown neighbours that are an entry", `{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",30],["ab",30]]}}`,
			"ab", "[1, 0, 2], "},
		{"a token that is no single word hides those within it", `{"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2," ":3},"merges":[]},"added_tokens":[
			{"id":4,"content":"ab","single_word":true,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
			{"id":5,"content":"bc","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}]}`,
			"abc ab bc", "[0, 0, 1], [1, 1, 2], [2, 2, 3], [3, 3, 4], [4, 4, 6], [3, 6, 7], [5, 7, 9], "},
		{"the unknown costs ten more than the least likely", `{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["ab",-9.5],["c",-9.5],["bc",0]]}}`,
			"abc", "[1, 0, 2], [2, 2, 3], "},
		{"without a name for it, the unknown is left out and offsets are short", `{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`,
			"xaby b", "[2, 0, 2], [1, 2, 3], "},
		{"bytes come before what is pending", `{"model":{"type":"BPE","vocab":{"a":0,"<unk>":1,"<0xC3>":2,"<0xA9>":3},"merges":[],"unk_token":"<unk>","byte_fallback":true}}`,
			"zéa", "[2, 0, 1], [3, 1, 3], [1, 1, 3], [0, 3, 4], "},
		{"cut twice", `{"model":{"type":"WordPiece","vocab":{"u":0,"a":1,"#a":2,"#b":3,"##a":4},"unk_token":"u","continuing_subword_prefix":"#","max_input_chars_per_word":5},
			"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":"-"},"behavior":"MergedWithPrevious","invert":false},{"type":"Digits","individual_digits":false}]}}`,
			"aab-#a12a aaaaaa", "[0, 0, 4], [2, 4, 6], [0, 6, 8], [0, 8, 16], "},
		{"small letters of other lengths", `{"model":{"type":"BPE","vocab":{"a":0,"i":1,"̇":2,"é":3,"ⱥ":4},"merges":[]},"normalizer":{"type":"Lowercase"}}`,
			"AİÉȺa", "[0, 0, 1], [1, 1, 3], [2, 1, 3], [3, 3, 5], [4, 5, 7], [0, 7, 8], "},
		{"marks without cuts", `{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁a",-1],["▁b",-1],["▁a▁b",-1],["▁",-1]]},
			"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}}`,
			"a b▁a  b", "[3, 0, 3], [1, 3, 7], [4, 7, 8], [2, 8, 10], "},
	} {
		k, err := Parse(strings.NewReader(c.file))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := show(k.Tokenize(c.text, 0)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPatterns: what the reference cuts a text into.
func TestPatterns(t *testing.T) {
	const text = "it's it'ſabc 'ſ'LLx 'k  \n \t\n  a\u00a0b !\r\n1234٣½ \u2028x"
	for pattern, want := range map[string]string{
		patternGPT2: "it|'s| it|'|\u017fabc| '|\u017f|'|LLx| '|k|  \n \t\n | a|\u00a0|b| !|\r|\n|1234\u0663\u00bd| |\u2028|x",
		patternApostroph + patternLetters + `\p{N}{1,3}` + patternRest: "it|'s| it|'\u017f|abc| '|\u017f|'LL|x| '|k|  \n \t\n| | a|\u00a0b| !\r\n|123|4\u0663\u00bd| |\u2028x",
		patternApostroph + patternLetters + `\p{N}+` + patternRest:     "it|'s| it|'\u017f|abc| '|\u017f|'LL|x| '|k|  \n \t\n| | a|\u00a0b| !\r\n|1234\u0663\u00bd| |\u2028x",
		`\w+|[^\w\s]+` + patternBlanks:                                 "it|'|s| |it|'|\u017fabc| |'|\u017f|'|LLx| |'|k|  \n \t\n | |a|\u00a0|b| |!|\r|\n|1234\u0663\u00bd| |\u2028|x",
	} {
		m, err := newMatcher(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for at := 0; at < len(text); {
			lo, hi := m.find([]byte(text), at)
			if lo != at {
				t.Fatalf("%s: %d, %d at %d", pattern, lo, hi, at)
			}
			got = append(got, text[lo:hi])
			at = hi
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", pattern, strings.Join(got, "|"), want)
		}
	}
}

// TestCutIsExact: cutting at marks that no merge crosses changes nothing.
func TestCutIsExact(t *testing.T) {
	for _, name := range []string{"gemma", "llama"} {
		parse := func() *Tokenizer {
			k, err := Parse(bytes.NewReader(change(t, name, func(j map[string]any) {
				m := at(j, "model")
				vocab := m["vocab"].(map[string]any)
				// Merges that cross marks, and runs of marks.
				for _, pair := range [][2]string{{"▁", "▁"}, {"e", "▁"}, {"e▁", "t"}} {
					if _, ok := vocab[pair[0]+pair[1]]; !ok {
						vocab[pair[0]+pair[1]] = len(vocab)
					}
					m["merges"] = append(m["merges"].([]any), []any{pair[0], pair[1]})
				}
				j["added_tokens"], j["post_processor"] = []any{}, nil
			})))
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		cut, whole := parse(), parse()
		if m := cut.model.(*bpe); !m.cutBefore || !m.crossing.has('e') || !m.crossing.has('▁') || m.crossing.has('a') {
			t.Fatalf("%s: cut %v, crossing e %v, ▁ %v, a %v", name, m.cutBefore, m.crossing.has('e'), m.crossing.has('▁'), m.crossing.has('a'))
		}
		whole.model.(*bpe).cutBefore = false
		for _, text := range recorded().texts {
			if a, b := cut.Tokenize(text, 0), whole.Tokenize(text, 0); !slices.Equal(a.IDs, b.IDs) || !slices.Equal(a.Offsets, b.Offsets) {
				t.Fatalf("%s: %q: %v, as a whole %v", name, text, a, b)
			}
		}
	}
}

// TestMergesAgree: looking at all pairs and the heap merge alike.
func TestMergesAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	each(t, func(name string, k *Tokenizer) {
		m, ok := k.model.(*bpe)
		if !ok {
			return
		}
		for range 300 {
			word := make([]byte, 1+rnd.IntN(90))
			for i := range word {
				word[i] = "aaeeinrst gh"[rnd.IntN(12)]
			}
			var few, many work
			m.symbols(word, &few)
			m.symbols(word, &many)
			m.mergeFew(&few)
			m.mergeMany(&many)
			left := slices.DeleteFunc(many.symbols, func(s symbol) bool { return s.len == 0 })
			if !slices.EqualFunc(few.symbols, left, func(a, b symbol) bool { return a.id == b.id && a.len == b.len }) {
				t.Fatalf("%s: %q: %v, with a heap %v", name, word, few.symbols, left)
			}
		}
	})
}

// TestHugeTexts: a megabyte without a blank, or of nothing else, is no work of
// minutes; the time limit of go test is what fails here.
func TestHugeTexts(t *testing.T) {
	each(t, func(name string, k *Tokenizer) {
		for _, unit := range []string{"x", "é", " ", "\u0301", "<mask>", "\xff", "the"} {
			size := 1 << 14
			if unit == "x" && slices.Contains([]string{"xlmr", "gemma", "qwen"}, name) {
				size = 1 << 20
			}
			text := strings.Repeat(unit, size/len(unit))
			check(t, name, k, text, k.Tokenize(text, 512))
		}
	})
}

func TestConcurrent(t *testing.T) {
	each(t, func(name string, k *Tokenizer) {
		texts := recorded().texts[:64]
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range texts {
					text := texts[(i+g*16)%len(texts)]
					want := recorded().sums[slices.Index(recorded().names, name)][(i+g*16)%len(texts)]
					if sum(k.Tokenize(text, 0)) != want {
						t.Errorf("%s: %q differs beside other calls", name, text)
					}
				}
			})
		}
		wg.Wait()
	})
}

// check holds a result to what must be true of every one.
func check(t *testing.T, name string, k *Tokenizer, text string, got encoder.Tokens) {
	t.Helper()
	n := len(got.IDs)
	if len(got.Special) != n || len(got.Offsets) != n || got.Truncated < 0 || n < len(k.head)+len(k.tail) {
		t.Fatalf("%s: %q: %v", name, text, got)
	}
	last := encoder.Span{}
	for i, s := range got.Offsets {
		if got.IDs[i] < 0 || int(got.IDs[i]) >= k.VocabSize() {
			t.Fatalf("%s: %q: id %d of %d", name, text, got.IDs[i], k.VocabSize())
		}
		if s == (encoder.Span{}) {
			continue
		}
		if s.Start < last.Start || s.End < last.End || s.Start > s.End || int(s.End) > len(text) {
			t.Fatalf("%s: %q: span %v after %v", name, text, s, last)
		}
		last = s
	}
}

// FuzzTokenize: no string panics, and ids and offsets are in range and in order.
func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"", "the cats", "<mask>é\xff", " Monday <solo> [NEW]  x", "ᬅ\u0301\u1b44", "e\u0301<unk>\xc3", "'s 'LL don't\n\n  123", "\u0600\u0301🇩🇪👩\u200d👧"} {
		f.Add(s, 0)
		f.Add(s, 5)
	}
	all := map[string]*Tokenizer{}
	each(f, func(name string, k *Tokenizer) { all[name] = k })
	f.Fuzz(func(t *testing.T, text string, limit int) {
		for name, k := range all {
			check(t, name, k, text, k.Tokenize(text, max(limit, 0)%64))
			plain := k.Tokenize(text, 0)
			check(t, name, k, text, plain)
			if utf8.ValidString(text) {
				continue
			}
			// Each byte that is no UTF-8 counts as U+FFFD.
			var mended []byte
			for i := 0; i < len(text); {
				r, n := utf8.DecodeRuneInString(text[i:])
				mended = utf8.AppendRune(mended, r)
				i += n
			}
			if got := k.Tokenize(string(mended), 0); !slices.Equal(got.IDs, plain.IDs) {
				t.Fatalf("%s: %q: %v, mended %v", name, text, plain.IDs, got.IDs)
			}
		}
	})
}

// FuzzParse: no bytes panic, and what is accepted works.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"<unk>":3},"merges":["a b"],"unk_token":"<unk>","byte_fallback":true},"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"NFKC"}]}}`,
		`{"model":{"type":"BPE","vocab":{"a":0,"b</w>":1,"ab</w>":2},"merges":[["a","b</w>"]],"end_of_word_suffix":"</w>"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true}}`,
		`{"model":{"type":"Unigram","vocab":[["<unk>",0],["▁a",-1.5],["b",-2e0]],"unk_id":0},"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"},"normalizer":{"type":"Precompiled","precompiled_charsmap":"CAAAAAAEAAAAAAAAYgA="}}`,
		`{"model":{"type":"WordPiece","vocab":{"u":0,"a":1,"#b":2},"unk_token":"u","continuing_subword_prefix":"#","max_input_chars_per_word":9},"normalizer":{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":true,"strip_accents":true,"lowercase":true},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[ab]|\\s+(?!\\S)|\\s+"},"behavior":"MergedWithNext","invert":true},"post_processor":{"type":"BertProcessing","sep":["a",1],"cls":["u",0]},"added_tokens":[{"id":3,"content":"x ","rstrip":true,"normalized":true}]}`,
		bertJSON(f, nil),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := Parse(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, encoder.ErrTokenizer) {
				t.Fatalf("error without kind: %v", err)
			}
			return
		}
		for _, text := range []string{"", "ab ba x  <mask> é日\xff", "'s\u0301▁1"} {
			got := k.Tokenize(text, 0)
			for i, id := range got.IDs {
				if s := got.Offsets[i]; id < 0 || int(id) >= k.VocabSize() || s.Start > s.End || int(s.End) > len(text) {
					t.Fatalf("%s: %q: %v", b, text, got)
				}
			}
		}
	})
}
