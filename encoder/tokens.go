package encoder

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a half-open range of byte offsets [Start, End) in the original text, without the instruction
// prefix. Tokens without bytes have {0, 0}.
type Span struct{ Start, End int32 }

// Tokens holds the token ids of one text. The three slices have equal length.
type Tokens struct {
	// IDs are vocabulary ids in the order of the model, [CLS] and [SEP] included.
	IDs []int32
	// Special marks tokens that carry no lexical weight: [CLS], [SEP], [PAD],
	// [UNK], [MASK] and every token of an instruction prefix.
	Special []bool
	// Offsets are the byte ranges of the text that the tokens represent.
	Offsets []Span
	// Truncated is the number of tokens beyond the model's limit.
	Truncated int
	// Unwritten is the number of bytes of words that the tokens spell by single letters, since the vocabulary has no words
	// of their script. None of these tokens is Special.
	Unwritten int
	// Unread says that the model does not read the language of the text.
	Unread bool
}

// Lexical appends the distinct ids of t with lexical weight to dst, in order of first occurrence, and
// returns the extended slice. This is the token set of SLR (Eq. 5 of the paper) and of RLR. Cost:
// O(L).
func (t Tokens) Lexical(dst []int32) []int32 {
	if len(t.IDs) > lexicalTable/2 {
		return t.lexicalOfMany(dst)
	}
	base := len(dst)
	var table [lexicalTable]uint16 // where in dst an id is, from 1 on, by its hash
next:
	for i, id := range t.IDs {
		if t.Special[i] {
			continue
		}
		at := uint32(id) * 0x9E3779B1 >> (32 - lexicalBits)
		for ; table[at] != 0; at = (at + 1) % lexicalTable {
			if dst[base+int(table[at])-1] == id {
				continue next
			}
		}
		dst = append(dst, id)
		table[at] = uint16(len(dst) - base)
	}
	return dst
}

const (
	lexicalBits  = 11
	lexicalTable = 1 << lexicalBits
)

// lexicalOfMany is Lexical for any number of tokens.
func (t Tokens) lexicalOfMany(dst []int32) []int32 {
	seen := make(map[int32]struct{}, len(t.IDs))
	for i, id := range t.IDs {
		if _, dup := seen[id]; dup || t.Special[i] {
			continue
		}
		seen[id] = struct{}{}
		dst = append(dst, id)
	}
	return dst
}

// Words returns t with tokens without a letter, digit or mark of text marked as Special, since punctuation says nothing
// about the subject of a query. The offsets of t refer to text. If no token has offsets, as for images, it returns t. t
// itself is not changed.
func (t Tokens) Words(text string) Tokens {
	mute := func(i int) bool {
		o := t.Offsets[i]
		return !t.Special[i] && o.Start >= 0 && o.Start <= o.End && int(o.End) <= len(text) && !strings.ContainsFunc(text[o.Start:o.End], wordRune)
	}
	if len(t.Offsets) != len(t.IDs) || !slices.ContainsFunc(t.Offsets, func(o Span) bool { return o.Start < o.End }) {
		return t
	}
	var special []bool
	for i := range t.IDs {
		if mute(i) {
			if special == nil {
				special = slices.Clone(t.Special)
			}
			special[i] = true
		}
	}
	if special != nil {
		t.Special = special
	}
	return t
}

// wordRune reports whether r can be part of a word.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// Unknown returns the share of a text, in [0, 1], that the vocabulary does not cover: the bytes of [UNK] tokens and
// Unwritten bytes, divided by the bytes of all tokens, and at least a half if the text is Unread. Else it is 0
// for a text without tokens.
func (t Tokens) Unknown() float64 {
	all, unknown := 0, t.Unwritten
	for i, o := range t.Offsets {
		n := int(o.End - o.Start)
		all += n
		if t.Special[i] {
			unknown += n
		}
	}
	share := min(1, float64(unknown)/float64(max(all, 1)))
	if t.Unread { // words that the languages share tell something
		share = max(share, .5)
	}
	return share
}
