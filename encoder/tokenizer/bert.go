package tokenizer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strconv"
)

// bertNormalizer is BERT's normalisation of a text.
type bertNormalizer struct {
	Type         string
	CleanText    bool  `json:"clean_text"`
	Chinese      bool  `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"` // nil means Lowercase
	Lowercase    bool
}

func (n bertNormalizer) strips() bool {
	if n.StripAccents == nil {
		return n.Lowercase
	}
	return *n.StripAccents
}

// longestBERT is the length in bytes of the longest file that can have the digest of
// bertDigest.
const longestBERT = 1<<24 - 1

// bertDigest is the digest of BERT's own recipe, cased or uncased, and "" for any other. It
// depends on the vocabulary and on the added tokens, not on how the file is written. Databases
// keep it, so its formula stays.
func (f *file) bertDigest(b *builder) string {
	m, ok := b.model.(*wordPiece)
	if !ok || !m.bert || f.size > longestBERT || b.normal != nil || slices.Contains(b.vocab, "") {
		return ""
	}
	var n bertNormalizer
	var cutter, frame struct{ Type string }
	if json.Unmarshal(f.Normalizer, &n) != nil || json.Unmarshal(f.PreTokenizer, &cutter) != nil || json.Unmarshal(f.PostProcessor, &frame) != nil {
		return "" // one of them is absent
	}
	switch {
	case n.Type != "BertNormalizer" || !n.CleanText || !n.Chinese || n.strips() != n.Lowercase || cutter.Type != "BertPreTokenizer":
		return ""
	case frame.Type != "BertProcessing" && frame.Type != "TemplateProcessing":
		return ""
	case len(b.head) != 1 || b.vocab[b.head[0]] != "[CLS]" || len(b.tail) != 1 || b.vocab[b.tail[0]] != "[SEP]":
		return ""
	}
	var added []addedToken
	if b.Tokenizer.raw != nil {
		added = slices.Clone(b.Tokenizer.raw.tokens)
	}
	for _, a := range added {
		if a.SingleWord || a.Lstrip || a.Rstrip {
			return ""
		}
	}
	slices.SortFunc(added, func(a, b addedToken) int {
		return cmp.Or(len(b.Content)-len(a.Content), int(a.ID-b.ID))
	})
	h := sha256.New()
	fmt.Fprintf(h, "wordpiece bert-1 cased=%v chars=%d vocab=%d added=%d\n", !n.Lowercase, m.longest, len(b.vocab), len(added))
	sumVocab(h, b.vocab)
	for _, a := range added {
		fmt.Fprintf(h, "%d %v\n", a.ID, b.special[a.ID])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sumVocab writes the entries of a vocabulary, each with its length.
func sumVocab(h hash.Hash, vocab []string) {
	var lines []byte
	for i, w := range vocab {
		lines = append(strconv.AppendInt(lines, int64(len(w)), 10), ' ')
		lines = append(append(lines, w...), '\n')
		if len(lines) > 1<<12 || i == len(vocab)-1 {
			h.Write(lines)
			lines = lines[:0]
		}
	}
}
