// Package tokenizer reads the tokenizer.json of a model. Start with [Load] or [Parse]. The [Tokenizer]
// returns the same ids and offsets as the reference library (Hugging Face tokenizers), for Unigram of
// SentencePiece (XLM-R, multilingual E5, BGE-M3), byte-level BPE (RoBERTa, ModernBERT, Qwen), BPE with byte
// fallback (Gemma, Llama) and WordPiece (BERT).
//
// A Tokenizer never changes and is safe for concurrent use. A file that cannot be followed exactly is refused
// with an encoder.ErrTokenizer that names the unsupported part. Each model has a file: bpe.go, unigram.go,
// wordpiece.go.
package tokenizer

import (
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
)

// Tokenizer is an encoder.Tokenizer. It is immutable and safe for concurrent use.
type Tokenizer struct {
	*properties
	vocab   []string
	special []bool // by id: carries no lexical weight
	foreign []bool // by id: of a script that the vocabulary does not write; nil for none

	raw, normal *finder // added tokens in the text, in the normalised text; or nil
	normalizers []normalizer
	cutters     []preTokenizer
	model       model
	head, tail  []int32 // special tokens around each text
	pair        modelspec.PairFrame
	pairErr     error
	trims       []trim
	white       [][2]uint8 // by id: blanks before and behind, if trims
	digest      string
	words       *cache
	scans       sync.Pool // of *scan
}

var _ encoder.Tokenizer = (*Tokenizer)(nil)

// trim removes blanks from the ends of offsets. With prefix, a single blank before the first token stays,
// since the tokenizer inserted it and it has no bytes in the text.
type trim struct {
	prefix bool
	framed bool // the special tokens before the text are there already
}

// VocabSize returns the highest id plus 1.
func (t *Tokenizer) VocabSize() int { return len(t.vocab) }

// Token returns the vocabulary entry of id as the file has it, or "".
func (t *Tokenizer) Token(id int32) string {
	if id < 0 || int(id) >= len(t.vocab) {
		return ""
	}
	return t.vocab[id]
}

// Digest returns 32 hexadecimal digits that identify vocabulary, model, normalisation and special
// tokens.
func (t *Tokenizer) Digest() string { return t.digest }

// PairFrame implements modelspec.PairTokenizer.
func (t *Tokenizer) PairFrame() (modelspec.PairFrame, error) { return t.pair, t.pairErr }

// longestText is the length at which texts are cut, which adds 1 to Truncated. A text takes up to about 40
// bytes of memory a byte while it is tokenized.
const longestText = 1 << 28

// Tokenize implements encoder.Tokenizer. Cost: O(n) for languages that separate words by spaces; O(n
// log n) for others with BPE.
func (t *Tokenizer) Tokenize(text string, max int) encoder.Tokens {
	s := t.scans.Get().(*scan)
	s.reset(t, text, max)
	s.document()
	n := len(t.head) + len(s.ids) + len(t.tail)
	out := encoder.Tokens{IDs: make([]int32, n), Special: make([]bool, n), Offsets: make([]encoder.Span, n), Truncated: s.truncated}
	copy(out.IDs, t.head)
	copy(out.IDs[len(t.head):], s.ids)
	copy(out.IDs[n-len(t.tail):], t.tail)
	copy(out.Offsets[len(t.head):], s.spans)
	for i := range t.head {
		out.Special[i] = true
	}
	special := out.Special[len(t.head):]
	for i, id := range s.ids {
		special[i] = t.special[id]
	}
	for i := range t.tail {
		special[len(s.ids)+i] = true
	}
	if t.foreign != nil {
		out.Unwritten = t.unwrittenIn(s.text, s.ids, s.spans, special)
	}
	if s.bad {
		s.restore(out.Offsets)
	}
	s.text = ""
	if cap(s.raw.text)+cap(s.a.text)+cap(s.b.text)+cap(s.whole.text)+cap(s.ids)+cap(s.work.symbols)+cap(s.work.best) < 1<<18 { // leave what a huge text needed to the collector
		t.scans.Put(s)
	}
	return out
}

// scan is the state of one call of Tokenize.
type scan struct {
	t         *Tokenizer
	text      string
	bad       bool    // text had bytes that are no UTF-8
	original  []int32 // if bad: for each byte of text, where it was before
	limit     int
	ids       []int32
	spans     []encoder.Span
	truncated int

	raw    buffer
	pieces pieces
	a, b   buffer
	whole  buffer // the normalised segment
	found  []piece
	work   work
}

func (s *scan) reset(t *Tokenizer, text string, max int) {
	s.truncated = 0
	if len(text) > longestText {
		text, s.truncated = text[:longestText], 1
	}
	s.ids, s.spans = s.ids[:0], s.spans[:0]
	s.limit = int(^uint(0) >> 1)
	if max > 0 {
		s.limit = 0
		if frame := len(t.head) + len(t.tail); max > frame {
			s.limit = max - frame
		}
	}
	s.text, s.bad = text, !utf8.ValidString(text)
	if s.bad {
		s.mend(text)
	}
}

// mend replaces each byte of text that is not UTF-8 with U+FFFD.
func (s *scan) mend(text string) {
	var b []byte
	s.original = s.original[:0]
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		b = utf8.AppendRune(b, r)
		for len(s.original) < len(b) {
			s.original = append(s.original, int32(i))
		}
		i += n
	}
	s.original = append(s.original, int32(len(text)))
	s.text = string(b)
}

// restore converts offsets in the repaired text to offsets in the original text.
func (s *scan) restore(offsets []encoder.Span) {
	for i, o := range offsets {
		if o != (encoder.Span{}) {
			offsets[i] = encoder.Span{Start: s.original[o.Start], End: s.original[o.End]}
		}
	}
}

// document finds the added tokens and tokenizes the text between them.
func (s *scan) document() {
	if s.t.raw == nil {
		s.segment(0, len(s.text))
		return
	}
	text := s.bytes()
	free := 0
	for at := 0; ; {
		t, lo, hi, after := s.t.raw.next(text, at, free)
		if t == nil {
			break
		}
		if free < lo {
			s.segment(free, lo)
		}
		s.added(t, text[lo:hi], lo, hi)
		free, at = hi, after
	}
	if free < len(text) {
		s.segment(free, len(text))
	}
}

// bytes is the text as bytes.
func (s *scan) bytes() []byte {
	s.raw.text = append(s.raw.text[:0], s.text...)
	return s.raw.text
}

// added emits the added token value, which was found at text[lo:hi].
func (s *scan) added(t *addedToken, value []byte, lo, hi int) {
	before, behind := 0, 0
	if len(s.t.trims) > 0 {
		before, behind = s.t.blanksAround(value)
	}
	s.emit(t.ID, int32(lo), int32(hi), before, behind)
}

// segment normalises and tokenizes text[lo:hi], which has no added token.
func (s *scan) segment(lo, hi int) {
	if lo == hi {
		return
	}
	p := &s.pieces
	p.buf, p.spare = &s.a, &s.b
	p.buf.load(s.text, lo, hi)
	for _, n := range s.t.normalizers {
		p.spare.reset()
		if n.normalize(p.spare, p.buf) {
			p.buf, p.spare = p.spare, p.buf
		}
		if len(p.buf.text) == 0 {
			return
		}
	}
	if s.t.normal == nil {
		s.cut(0, len(p.buf.text))
		return
	}
	s.normalized()
}

// normalized finds the added tokens in the normalised text.
func (s *scan) normalized() {
	p := &s.pieces
	t, lo, hi, at := s.t.normal.next(p.buf.text, 0, 0)
	if t == nil {
		s.cut(0, len(p.buf.text))
		return
	}
	whole := &s.whole // pre-tokenizers write over the buffers
	whole.reset()
	whole.copy(p.buf, 0, len(p.buf.text))
	part := func(lo, hi int) {
		if lo < hi {
			p.buf.reset()
			p.buf.copy(whole, lo, hi)
			s.cut(0, hi-lo)
		}
	}
	free := 0
	for t != nil {
		part(free, lo)
		s.added(t, whole.text[lo:hi], int(whole.from[lo]), int(s.end(whole.from[hi-1])))
		free = hi
		t, lo, hi, at = s.t.normal.next(whole.text, at, free)
	}
	part(free, len(whole.text))
}

// cut pre-tokenizes p.buf[lo:hi] and feeds the words to the model.
func (s *scan) cut(lo, hi int) {
	p := &s.pieces
	p.cuts = append(p.cuts[:0], span{int32(lo), int32(hi)})
	for _, c := range s.t.cutters {
		c.cut(p)
	}
	parts, _ := s.t.model.(*bpe)
	for _, c := range p.cuts {
		if parts == nil || !parts.cutBefore {
			s.word(c)
			continue
		}
		word := p.buf.text[c.lo:c.hi]
		if parts.ignoreMerges && len(word) <= parts.longest {
			if _, ok := parts.whole[string(word)]; ok {
				s.word(c)
				continue
			}
		}
		for at := 0; at < len(word); {
			end := parts.cut(word, at)
			s.word(span{c.lo + int32(at), c.lo + int32(end)})
			at = end
		}
	}
}

// word tokenizes one word of p.buf.
func (s *scan) word(c span) {
	t, buf := s.t, s.pieces.buf
	word, from := buf.text[c.lo:c.hi], buf.from[c.lo:c.hi]
	var known *cached
	var hash uint64
	if len(word) <= cachedWord {
		hash = hashOf(word)
		known = t.words.get(word, hash)
	}
	if known == nil {
		s.found = t.model.tokenize(s.found[:0], word, &s.work)
		if known = t.words.put(word, hash, s.found); known == nil {
			for _, f := range s.found {
				before, behind := 0, 0
				if t.white != nil {
					before, behind = int(t.white[f.id][0]), int(t.white[f.id][1])
				}
				s.emit(f.id, from[f.lo], s.end(from[f.hi-1]), before, behind)
			}
			return
		}
	}
	n, count := s.room(int(known.count))
	ids, spans := s.ids[n:n+count], s.spans[n:n+count]
	white := t.white
	for i, id := range known.ids[:count] {
		lo, hi := from[known.lo[i]], s.end(from[known.hi[i]-1])
		if white != nil && white[id] != [2]uint8{} {
			lo, hi = s.trimmed(n+i, lo, hi, int(white[id][0]), int(white[id][1]))
		}
		ids[i], spans[i] = id, encoder.Span{Start: lo, End: hi}
	}
}

// end is the end of the code point of s.text that begins at i.
func (s *scan) end(i int32) int32 {
	switch c := s.text[i]; {
	case c < utf8.RuneSelf:
		return i + 1
	case c < 0xE0:
		return i + 2
	case c < 0xF0:
		return i + 3
	}
	return i + 4
}

// room reserves space for count more tokens, up to the limit. It returns the position of the first and how
// many fit.
func (s *scan) room(count int) (n, fit int) {
	n = len(s.ids)
	fit = min(count, s.limit-n)
	s.truncated += count - fit
	// Longer slices are stored, not these: a store of a pointer costs while the
	// collector runs.
	if n+fit > cap(s.ids) || n+fit > cap(s.spans) {
		s.ids, s.spans = slices.Grow(s.ids, n+64), slices.Grow(s.spans, n+64)
	}
	s.ids, s.spans = s.ids[:n+fit], s.spans[:n+fit]
	return n, fit
}

// emit adds a token of text[lo:hi]; before and behind count the blanks at the ends of the token's own text.
func (s *scan) emit(id, lo, hi int32, before, behind int) {
	n, fit := s.room(1)
	if fit == 0 {
		return
	}
	lo, hi = s.trimmed(n, lo, hi, before, behind)
	s.ids[n], s.spans[n] = id, encoder.Span{Start: lo, End: hi}
}

// trimmed returns the range text[lo:hi] of token n without the blanks that trims remove; before and behind
// count the blanks of its own text.
func (s *scan) trimmed(n int, lo, hi int32, before, behind int) (int32, int32) {
	if before > 0 || behind > 0 {
		for _, t := range s.t.trims {
			first := lo == 0 || n == 0 && !(t.framed && len(s.t.head) > 0)
			lo, hi = s.trim(lo, hi, before, behind, first && t.prefix)
		}
	}
	if lo == hi {
		return 0, 0 // no bytes
	}
	return lo, hi
}

// trim removes code points from the ends of text[lo:hi]; with keep, a single blank at the start stays.
func (s *scan) trim(lo, hi int32, before, behind int, keep bool) (int32, int32) {
	if before == 1 && keep {
		before = 0
	}
	for ; before > 0 && lo < hi; before-- {
		lo = s.end(lo)
	}
	end := hi
	for ; behind > 0; behind-- {
		if end == 0 {
			return lo, hi // more blanks than there is text: nothing is taken
		}
		_, n := utf8.DecodeLastRuneInString(s.text[:end])
		end -= int32(n)
	}
	return lo, max(end, lo)
}
