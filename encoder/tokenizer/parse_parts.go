package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lexsem/lexsem/internal/modelspec"
)

// patternJSON is {"String": …} or {"Regex": …}.
type patternJSON struct {
	String *string
	Regex  *string
}

func (p patternJSON) matcher(name string) (matcher, error) {
	switch {
	case p.Regex != nil && p.String == nil:
		return newMatcher(*p.Regex)
	case p.String != nil && p.Regex == nil && *p.String != "":
		return literal(*p.String), nil
	}
	return nil, unsupported(name, "neither a string nor a pattern")
}

// normalizer adds the normalizer that raw describes.
func (b *builder) normalizer(raw json.RawMessage, depth int) error {
	const name = "normalizer"
	if absent(raw) {
		return nil
	}
	kind, err := b.part(name, raw, depth)
	if err != nil {
		return err
	}
	add := func(n ...normalizer) { b.normalizers = append(b.normalizers, n...) }
	p := b.properties
	var plain struct{ Type string }
	switch kind {
	case "Sequence":
		var j struct {
			Type        string
			Normalizers []json.RawMessage
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		return sequence(j.Normalizers, depth, b.normalizer)
	case "NFC":
		add(newUnicodeForm(p, norm.NFC))
	case "NFD":
		add(newUnicodeForm(p, norm.NFD))
	case "NFKC":
		add(newUnicodeForm(p, norm.NFKC))
	case "NFKD":
		add(newUnicodeForm(p, norm.NFKD))
	case "Lowercase":
		add(lowercase{p})
	case "StripAccents":
		add(without(p, isMark))
	case "Nmt":
		add(newMapping(nmt))
	case "Strip":
		var j struct {
			Type  string
			Left  bool `json:"strip_left"`
			Right bool `json:"strip_right"`
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		add(strip{p, j.Left, j.Right})
		return nil
	case "Prepend":
		var j struct{ Type, Prepend string }
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		if j.Prepend != "" {
			add(prepend(j.Prepend))
		}
		return nil
	case "Replace":
		var j struct {
			Type    string
			Pattern patternJSON
			Content string
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		m, err := j.Pattern.matcher("normalizer.pattern")
		if err != nil {
			return err
		}
		add(replace{m, j.Content})
		return nil
	case "Precompiled":
		var j struct {
			Type     string
			Charsmap string `json:"precompiled_charsmap"`
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		bytes, err := base64.StdEncoding.DecodeString(j.Charsmap)
		if err != nil {
			return refuse("normalizer.precompiled_charsmap: %v; fetch the model again", err)
		}
		m, err := newCharsmap(bytes)
		if err != nil {
			return err
		}
		add(m)
		return nil
	case "BertNormalizer":
		var j bertNormalizer
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		if j.CleanText {
			add(cleanText(p))
		}
		if j.Chinese {
			add(ideographs{})
		}
		if j.strips() {
			add(newUnicodeForm(p, norm.NFD), without(p, isNonspacing))
		}
		if j.Lowercase {
			add(lowercase{p})
		}
		return nil
	default:
		return unsupported("normalizer.type", kind)
	}
	return strict(name, raw, &plain)
}

// behaviours are the names of the ways to treat a match.
var behaviours = map[string]behaviour{
	"Removed": removed, "Isolated": isolated, "MergedWithPrevious": mergedWithPrevious,
	"MergedWithNext": mergedWithNext, "Contiguous": contiguous,
}

// byteLevelJSON is ByteLevel, as a pre-tokenizer and as a post-processor.
type byteLevelJSON struct {
	Type           string
	AddPrefixSpace bool  `json:"add_prefix_space"`
	TrimOffsets    bool  `json:"trim_offsets"`
	UseRegex       *bool `json:"use_regex"`
}

// preTokenizer adds the pre-tokenizer that raw describes.
func (b *builder) preTokenizer(raw json.RawMessage, depth int) error {
	const name = "pre_tokenizer"
	if absent(raw) {
		return nil
	}
	kind, err := b.part(name, raw, depth)
	if err != nil {
		return err
	}
	if b.raw && kind != "Sequence" {
		return unsupported(name, "ByteLevel before "+kind)
	}
	add := func(c preTokenizer) { b.cutters = append(b.cutters, c) }
	p := b.properties
	var plain struct{ Type string }
	switch kind {
	case "Sequence":
		var j struct {
			Type          string
			Pretokenizers []json.RawMessage
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		return sequence(j.Pretokenizers, depth, b.preTokenizer)
	case "BertPreTokenizer":
		add(split{pattern: ofClass{p, isWhite}, behaviour: removed})
		add(split{pattern: ofClass{p, isPunct}, behaviour: isolated})
	case "WhitespaceSplit":
		add(split{pattern: ofClass{p, isWhite}, behaviour: removed})
	case "Whitespace":
		add(split{pattern: words{p}, behaviour: removed, invert: true})
	case "Punctuation":
		var j struct {
			Type     string
			Behavior *string
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		how, ok := isolated, true
		if j.Behavior != nil {
			how, ok = behaviours[*j.Behavior]
		}
		if !ok {
			return unsupported("pre_tokenizer.behavior", *j.Behavior)
		}
		add(split{pattern: ofClass{p, isPunct}, behaviour: how})
		return nil
	case "Digits":
		var j struct {
			Type       string
			Individual bool `json:"individual_digits"`
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		how := contiguous
		if j.Individual {
			how = isolated
		}
		add(split{pattern: ofClass{p, isNumeric}, behaviour: how})
		return nil
	case "Split":
		var j struct {
			Type     string
			Pattern  patternJSON
			Behavior string
			Invert   bool
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		m, err := j.Pattern.matcher("pre_tokenizer.pattern")
		if err != nil {
			return err
		}
		how, ok := behaviours[j.Behavior]
		if !ok {
			return unsupported("pre_tokenizer.behavior", j.Behavior)
		}
		add(split{m, how, j.Invert})
		return nil
	case "Metaspace":
		var j struct {
			Type        string
			Replacement string
			StrRep      *string `json:"str_rep"`
			Prefix      *bool   `json:"add_prefix_space"`
			Scheme      *string `json:"prepend_scheme"`
			Split       *bool
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		scheme := "always"
		if j.Scheme != nil {
			scheme = *j.Scheme
		}
		if j.Prefix != nil && !*j.Prefix {
			if j.Scheme != nil && scheme != "never" || j.Scheme == nil {
				return unsupported("pre_tokenizer.add_prefix_space", "false with prepend_scheme "+scheme)
			}
		}
		if scheme != "always" && scheme != "first" && scheme != "never" {
			return unsupported("pre_tokenizer.prepend_scheme", scheme)
		}
		if utf8.RuneCountInString(j.Replacement) != 1 {
			return unsupported("pre_tokenizer.replacement", j.Replacement)
		}
		add(metaspace{mark: j.Replacement, always: scheme == "always", first: scheme == "first", split: j.Split == nil || *j.Split})
		return nil
	case "ByteLevel":
		var j byteLevelJSON
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		if j.AddPrefixSpace {
			add(byteLevel{})
		}
		if j.UseRegex == nil || *j.UseRegex {
			add(split{pattern: gpt2{p}, behaviour: isolated})
		}
		b.raw = true
		return nil
	default:
		return unsupported("pre_tokenizer.type", kind)
	}
	return strict(name, raw, &plain)
}

// tokenJSON is a special token and its id, as a list of two.
type tokenJSON struct {
	text string
	id   int32
}

func (t *tokenJSON) UnmarshalJSON(b []byte) error {
	pair := []any{&t.text, &t.id}
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return refuse("a special token is not a list of its text and its id")
	}
	return nil
}

// postProcessor adds the post-processor that raw describes.
func (b *builder) postProcessor(raw json.RawMessage, depth int) error {
	const name = "post_processor"
	if absent(raw) {
		return nil
	}
	kind, err := b.part(name, raw, depth)
	if err != nil {
		return err
	}
	frame := func(head, tail []int32) {
		b.frames++
		b.head = append(head, b.head...)
		b.tail = append(b.tail, tail...)
	}
	switch kind {
	case "Sequence":
		var j struct {
			Type       string
			Processors []json.RawMessage
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		return sequence(j.Processors, depth, b.postProcessor)
	case "ByteLevel":
		var j byteLevelJSON
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		if j.TrimOffsets {
			b.trims = append(b.trims, trim{prefix: j.AddPrefixSpace, framed: len(b.head) > 0})
		}
		return nil
	case "BertProcessing":
		var j struct {
			Type     string
			Sep, Cls tokenJSON
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		frame([]int32{j.Cls.id}, []int32{j.Sep.id})
		b.pair = modelspec.PairFrame{
			Before: typed(0, j.Cls.id), Between: typed(0, j.Sep.id), Behind: typed(1, j.Sep.id), Second: 1,
		}
		return nil
	case "RobertaProcessing":
		var j struct {
			Type           string
			Sep, Cls       tokenJSON
			TrimOffsets    bool `json:"trim_offsets"`
			AddPrefixSpace bool `json:"add_prefix_space"`
		}
		if err := strict(name, raw, &j); err != nil {
			return err
		}
		if j.TrimOffsets {
			b.trims = append(b.trims, trim{prefix: j.AddPrefixSpace, framed: len(b.head) > 0})
		}
		frame([]int32{j.Cls.id}, []int32{j.Sep.id})
		b.pair = modelspec.PairFrame{Before: typed(0, j.Cls.id), Between: typed(0, j.Sep.id, j.Sep.id), Behind: typed(0, j.Sep.id)}
		return nil
	case "TemplateProcessing":
		return b.template(raw, frame)
	}
	return unsupported("post_processor.type", kind)
}

// template adds the frame of a single text.
func (b *builder) template(raw json.RawMessage, frame func(head, tail []int32)) error {
	const name = "post_processor"
	type part struct {
		ID     string
		TypeID int `json:"type_id"`
	}
	var j struct {
		Type   string
		Single []struct {
			SpecialToken *part
			Sequence     *part
		}
		Pair    json.RawMessage
		Special map[string]struct {
			ID     string
			IDs    []int32
			Tokens []string
		} `json:"special_tokens"`
	}
	if err := strict(name, raw, &j); err != nil {
		return err
	}
	var sides [2][]int32
	side := 0
	for _, s := range j.Single {
		switch {
		case s.SpecialToken != nil && s.Sequence == nil:
			t, ok := j.Special[s.SpecialToken.ID]
			if !ok || len(t.IDs) == 0 {
				return refuse("post_processor.single has %q, which has no id; fetch the model again", s.SpecialToken.ID)
			}
			sides[side] = append(sides[side], t.IDs...)
		case s.Sequence != nil && s.SpecialToken == nil && s.Sequence.ID == "A" && side == 0:
			side = 1
		default:
			return unsupported("post_processor.single", "not a frame around one text")
		}
	}
	if side != 1 {
		return unsupported("post_processor.single", "without a text")
	}
	if len(sides[0])+len(sides[1]) > maxParts {
		return refuse("post_processor.single has more than %d special tokens", maxParts)
	}
	frame(sides[0], sides[1])
	b.pair, b.pairErr = modelspec.ParsePair(j.Pair, func(name string) []int32 { return j.Special[name].IDs })
	return nil
}

// typed are special tokens of one type.
func typed(kind int32, ids ...int32) (out []modelspec.TypedToken) {
	for _, id := range ids {
		out = append(out, modelspec.TypedToken{ID: id, Type: kind})
	}
	return out
}
