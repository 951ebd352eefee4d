package modelspec

import "github.com/lexsem/lexsem/encoder"

// WithPrefix tokenizes prefix+text as one string, as a model with an instruction prefix sees it.
// Tokens entirely within the prefix are marked Special and have the span {0, 0}. All other offsets are
// relative to text.
func WithPrefix(t encoder.Tokenizer, prefix, text string, max int) encoder.Tokens {
	if prefix == "" {
		return t.Tokenize(text, max)
	}
	tokens := t.Tokenize(prefix+text, max)
	cut := int32(len(prefix))
	for i, s := range tokens.Offsets {
		if s.End <= cut {
			tokens.Special[i] = true
			tokens.Offsets[i] = encoder.Span{}
			continue
		}
		tokens.Offsets[i] = encoder.Span{Start: s.Start - min(s.Start, cut), End: s.End - cut}
	}
	return tokens
}
