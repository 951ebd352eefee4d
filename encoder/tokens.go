package encoder

// Span is a half-open range of byte offsets [Start, End) in the original
// text (the text without an instruction prefix). Tokens that stand for no
// bytes of it have {0, 0}.
type Span struct{ Start, End int32 }

// Tokens are the token ids of one text. The three slices have equal length.
type Tokens struct {
	// IDs are vocabulary ids in model order, [CLS] and [SEP] included.
	IDs []int32
	// Special marks tokens that carry no lexical weight: [CLS], [SEP], [PAD],
	// [UNK], [MASK] and every token of an instruction prefix.
	Special []bool
	// Offsets give the bytes of the text each token was made of.
	Offsets []Span
	// Truncated is the number of tokens that did not fit the model's limit.
	Truncated int
}

// Lexical appends to dst the distinct ids of t that carry lexical weight, in
// order of first occurrence, and returns the extended slice. This is the token
// set of SLR (Eq. 5 of the paper) and of RLR. Cost O(L²) for short texts,
// O(L) with a map above 64 tokens.
func (t Tokens) Lexical(dst []int32) []int32 {
	base := len(dst)
	var seen map[int32]struct{}
	if len(t.IDs) > 64 {
		seen = make(map[int32]struct{}, len(t.IDs))
	}
next:
	for i, id := range t.IDs {
		if t.Special[i] {
			continue
		}
		if seen != nil {
			if _, dup := seen[id]; dup {
				continue
			}
			seen[id] = struct{}{}
		} else {
			for _, s := range dst[base:] {
				if s == id {
					continue next
				}
			}
		}
		dst = append(dst, id)
	}
	return dst
}

// Unknown is the share of a text, in [0, 1], that the vocabulary has no tokens for:
// of the bytes that tokens were made of, those of [UNK]. 0 for a text without tokens.
func (t Tokens) Unknown() float64 {
	var all, unknown int
	for i, o := range t.Offsets {
		n := int(o.End - o.Start)
		all += n
		if t.Special[i] {
			unknown += n
		}
	}
	if all == 0 {
		return 0
	}
	return float64(unknown) / float64(all)
}
