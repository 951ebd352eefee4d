package encoder

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/internal/regular"
)

// tokenizerJSON is what a tokenizer.json says about how texts become ids. Its
// truncation and padding are left out on purpose: they belong to whoever saved
// the file (that of all-MiniLM-L6-v2 cuts and pads every text to 128 tokens).
type tokenizerJSON struct {
	Normalizer struct {
		Type               string
		CleanText          bool  `json:"clean_text"`
		HandleChineseChars bool  `json:"handle_chinese_chars"`
		StripAccents       *bool `json:"strip_accents"`
		Lowercase          bool
	}
	PreTokenizer struct {
		Type string
	} `json:"pre_tokenizer"`
	PostProcessor struct {
		Type     string
		Single   []map[string]struct{ ID string } // TemplateProcessing
		Pair     json.RawMessage                  // the same, of two texts
		Cls, Sep []any                            // BertProcessing: token, id
	} `json:"post_processor"`
	AddedTokens []struct {
		ID         int32
		Content    string
		Special    bool
		SingleWord bool `json:"single_word"`
		Lstrip     bool
		Rstrip     bool
		Normalized bool
	} `json:"added_tokens"`
	Model struct {
		Type                    string
		UnkToken                string `json:"unk_token"`
		ContinuingSubwordPrefix string `json:"continuing_subword_prefix"`
		MaxInputCharsPerWord    int    `json:"max_input_chars_per_word"`
		Vocab                   map[string]int32
	}
}

// LoadWordPiece reads a tokenizer.json, see ParseWordPiece.
func LoadWordPiece(path string) (*WordPiece, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer: %w", err)
	}
	defer f.Close()
	t, err := ParseWordPiece(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// ParseWordPiece reads a tokenizer.json of the BERT WordPiece recipe, uncased
// or cased. Any other recipe, and damage, give an error that wraps
// ErrTokenizer. Cost about 0.1 s for 30,000 entries; at most 16 MiB are read.
func ParseWordPiece(r io.Reader) (*WordPiece, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxVocabBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	if len(b) > maxVocabBytes {
		return nil, fmt.Errorf("%w: longer than %d bytes; is this a tokenizer.json?", ErrTokenizer, maxVocabBytes)
	}
	var j tokenizerJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, fmt.Errorf("%w: %v; fetch the model again", ErrTokenizer, err)
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	vocab, added, err := j.vocabulary()
	if err != nil {
		return nil, err
	}
	t, err := newWordPiece(vocab, added, WordPieceOptions{
		Cased:        !j.Normalizer.Lowercase,
		MaxWordChars: j.Model.MaxInputCharsPerWord,
	})
	if err == nil && j.PostProcessor.Type == "TemplateProcessing" {
		t.pair, t.pairErr = ParsePair(j.PostProcessor.Pair, func(name string) []int32 {
			switch name {
			case "[CLS]":
				return []int32{t.cls}
			case "[SEP]":
				return []int32{t.sep}
			}
			return nil
		})
		t.pair.Head, t.pair.Tail = 1, 1
	}
	return t, err
}

// ParsePair reads the template of two texts in a tokenizer.json: special tokens, whose
// ids are asked for by their names, around A and B in this order. Head and Tail are left
// to the caller. Errors wrap ErrTokenizer.
func ParsePair(raw json.RawMessage, ids func(name string) []int32) (PairFrame, error) {
	refuse := func(what string) (PairFrame, error) {
		return PairFrame{}, fmt.Errorf("%w: post_processor.pair %s; use another model", ErrTokenizer, what)
	}
	type part struct {
		ID     string
		TypeID int32 `json:"type_id"`
	}
	var parts []struct{ SpecialToken, Sequence *part }
	if len(raw) == 0 || string(raw) == "null" {
		return refuse("is missing, which tells how two texts are joined")
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return refuse(fmt.Sprintf("cannot be read: %v", err))
	}
	if len(parts) > maxPairParts {
		return refuse(fmt.Sprintf("has %d parts", len(parts)))
	}
	var f PairFrame
	sides, side := [3]*[]TypedToken{&f.Before, &f.Between, &f.Behind}, 0
	for _, p := range parts {
		for _, one := range []*part{p.SpecialToken, p.Sequence} {
			if one != nil && (one.TypeID < 0 || one.TypeID > maxPairTypes) {
				return refuse(fmt.Sprintf("has the type %d", one.TypeID))
			}
		}
		switch {
		case p.SpecialToken != nil && p.Sequence == nil:
			list := ids(p.SpecialToken.ID)
			if len(list) == 0 {
				return refuse(fmt.Sprintf("has %.100q, which has no id", p.SpecialToken.ID))
			}
			for _, id := range list {
				*sides[side] = append(*sides[side], TypedToken{id, p.SpecialToken.TypeID})
			}
		case p.Sequence != nil && p.SpecialToken == nil && side == 0 && p.Sequence.ID == "A":
			side, f.First = 1, p.Sequence.TypeID
		case p.Sequence != nil && p.SpecialToken == nil && side == 1 && p.Sequence.ID == "B":
			side, f.Second = 2, p.Sequence.TypeID
		default:
			return refuse("is no frame around two texts")
		}
	}
	if side != 2 || f.Len() > maxPairParts {
		return refuse("is no frame around two texts")
	}
	return f, nil
}

// Bounds of a template.
const maxPairParts, maxPairTypes = 64, 1 << 10

// check refuses every recipe but those that scan follows.
func (j *tokenizerJSON) check() error {
	n, m := j.Normalizer, j.Model
	for _, c := range []struct {
		ok          bool
		field, want string
		got         any
	}{
		{m.Type == "WordPiece" || m.Type == "", "model.type", "WordPiece", m.Type},
		{m.ContinuingSubwordPrefix == "##", "model.continuing_subword_prefix", "##", m.ContinuingSubwordPrefix},
		{m.UnkToken == "[UNK]", "model.unk_token", "[UNK]", m.UnkToken},
		{m.MaxInputCharsPerWord > 0, "model.max_input_chars_per_word", "a number above 0", m.MaxInputCharsPerWord},
		{n.Type == "BertNormalizer", "normalizer.type", "BertNormalizer", n.Type},
		{n.CleanText, "normalizer.clean_text", "true", n.CleanText},
		{n.HandleChineseChars, "normalizer.handle_chinese_chars", "true", n.HandleChineseChars},
		{n.StripAccents == nil || *n.StripAccents == n.Lowercase, "normalizer.strip_accents", "the same as lowercase", !n.Lowercase},
		{j.PreTokenizer.Type == "BertPreTokenizer", "pre_tokenizer.type", "BertPreTokenizer", j.PreTokenizer.Type},
		{j.frames(), "post_processor", "[CLS] text [SEP]", j.PostProcessor.Type},
	} {
		if !c.ok {
			return fmt.Errorf("%w: %s is %q, only %q is supported; use a model of the BERT family", ErrTokenizer, c.field, fmt.Sprint(c.got), c.want)
		}
	}
	return nil
}

// frames reports whether the post-processor puts a text between [CLS] and
// [SEP] and adds nothing else.
func (j *tokenizerJSON) frames() bool {
	p := j.PostProcessor
	switch p.Type {
	case "TemplateProcessing":
		if len(p.Single) != 3 {
			return false
		}
		for i, want := range [3][2]string{{"SpecialToken", "[CLS]"}, {"Sequence", "A"}, {"SpecialToken", "[SEP]"}} {
			if v, ok := p.Single[i][want[0]]; !ok || v.ID != want[1] {
				return false
			}
		}
		return true
	case "BertProcessing":
		return len(p.Cls) == 2 && p.Cls[0] == "[CLS]" && len(p.Sep) == 2 && p.Sep[0] == "[SEP]"
	}
	return false
}

// vocabulary returns the entries by id, those of the model and those added
// behind them, and the added words. Ids must be 0, 1, 2, … without a gap.
func (j *tokenizerJSON) vocabulary() (vocab []string, added []addedWord, err error) {
	words := j.Model.Vocab
	for _, a := range j.AddedTokens {
		if a.Content == "" || a.SingleWord || a.Lstrip || a.Rstrip || a.Normalized {
			return nil, nil, fmt.Errorf("%w: added token %q has single_word, lstrip, rstrip or normalized set or is empty, which is not supported; use a model of the BERT family", ErrTokenizer, a.Content)
		}
		if id, ok := words[a.Content]; ok && id != a.ID {
			return nil, nil, fmt.Errorf("%w: %q has the ids %d and %d; fetch the model again", ErrTokenizer, a.Content, id, a.ID)
		}
		if words == nil {
			words = map[string]int32{}
		}
		words[a.Content] = a.ID
		added = append(added, addedWord{a.Content, a.ID, a.Special})
	}
	vocab = make([]string, len(words))
	taken := make([]bool, len(words))
	for w, id := range words {
		if id < 0 || int(id) >= len(words) || taken[id] {
			return nil, nil, fmt.Errorf("%w: %d entries, but the id %d of %q is out of range or taken; fetch the model again", ErrTokenizer, len(words), id, w)
		}
		vocab[id], taken[id] = w, true
	}
	return vocab, added, nil
}
