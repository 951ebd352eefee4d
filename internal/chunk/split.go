package chunk

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/yield"
)

// Span is the bytes [Start, End) of a text.
type Span struct{ Start, End int }

// Splitter cuts texts that are too long for an encoder into chunks of whole sentences (Unicode Standard Annex
// 29). A chunk has as many as fit, and begins with the last sentences of the previous one. Length is counted in
// the encoder's own tokens, or estimated if it has no tokenizer. It makes as few chunks as possible, about
// equally long.
type Splitter struct {
	enc     encoder.Encoder
	limit   int // tokens of a chunk, those the encoder adds included; 0 for texts that stay whole
	overlap int // most tokens that two chunks share
	frame   int // tokens the encoder adds to any text
}

// The title and the overlap are repeated in each chunk and must be small; a title leaves at least this share
// of the room to the text.
const titleShare = 2

// MinTokens is the smallest allowed token limit.
const MinTokens = 16

// New makes a Splitter for an encoder's texts. A chunk has at most tokens tokens, and repeats at most overlap
// tokens of the previous one. tokens = 0 means the encoder's limit; a negative value, or no encoder, keeps
// texts whole. overlap = 0 means an eighth of the chunk, a negative value no overlap.
func New(enc encoder.Encoder, tokens, overlap int) Splitter {
	c := Splitter{enc: enc}
	if enc == nil || tokens < 0 {
		return c
	}
	if enc.VocabSize() == 0 {
		c.enc = estimate{enc}
	}
	c.limit = enc.Fingerprint().MaxTokens
	if tokens > 0 && (c.limit == 0 || tokens < c.limit) {
		c.limit = tokens
	}
	c.frame = len(c.enc.Tokenize(encoder.Passage, "").IDs)
	switch {
	case overlap > 0:
		c.overlap = min(overlap, c.limit/2)
	case overlap == 0:
		c.overlap = c.limit / 8
	}
	return c
}

// tokens counts the tokens of s without special tokens.
func (c *Splitter) tokens(s string) int { return c.count(c.enc.Tokenize(encoder.Passage, s)) }

// count returns the number of tokens of a tokenized text.
func (c *Splitter) count(t encoder.Tokens) int { return len(t.IDs) + t.Truncated - c.frame }

// room returns how many tokens of the text fit into a chunk after title.
func (c *Splitter) room(title string) int {
	room := c.limit - c.frame
	if n, whole := c.fits(title, room/titleShare); whole { // of a longer title no more need be counted
		return max(room-n, 1)
	}
	return max(room/titleShare, 1)
}

// TitleOf returns the part of a title that the encoder reads before each chunk: a longer title would take the
// room of the text.
func (c *Splitter) TitleOf(title string) string {
	most := c.enc.Fingerprint().MaxTokens - c.frame - c.room(title)
	if most < 1 {
		return title
	}
	front, t := c.front(title, most)
	if c.count(t) <= most {
		return title
	}
	return title[:cut(front, t, most)]
}

// CutTitle is TitleOf, and counts the tokens that are left out. The error is that of ctx.
func (c *Splitter) CutTitle(ctx context.Context, title string) (string, int, error) {
	type parts struct {
		kept string
		left int
	}
	p, err := promptly(ctx, len(title), func() (p parts, _ error) {
		if p.kept = c.TitleOf(title); len(p.kept) < len(title) {
			p.left = c.tokens(title) - c.tokens(p.kept)
		}
		return p, nil
	})
	return p.kept, p.left, err
}

// Tokenize returns the encoder's tokens of a passage, also where lengths are estimated. The error is that of ctx.
func (c *Splitter) Tokenize(ctx context.Context, passage string) (encoder.Tokens, error) {
	enc := c.enc
	if e, ok := enc.(estimate); ok {
		enc = e.Encoder
	}
	return promptly(ctx, len(passage), func() (encoder.Tokens, error) { return enc.Tokenize(encoder.Passage, passage), nil })
}

// promptly does work on n bytes. It leaves the work behind if they are many and ctx ends: tokenizers look at no context.
// A panic of theirs is an encoder.ErrContract.
func promptly[T any](ctx context.Context, n int, work func() (T, error)) (T, error) {
	do := func() (_ T, err error) {
		defer fault.Recovered(&err, encoder.ErrContract)
		return work()
	}
	if n <= 64<<10 {
		return do()
	}
	return yield.Leave(ctx, do)
}

// Split returns the chunks of a text that is encoded after title; nil if both fit the limit together. breaks
// are offsets in the text, ascending and at the start of characters. If there are breaks, a chunk has as many
// whole parts between them as fit, without overlap. A part that is too long is cut into its own chunks. The
// error is that of ctx. Cost O(len(text)), whatever the text.
func (c *Splitter) Split(ctx context.Context, title, text string, breaks []int) ([]Span, error) {
	if c.limit == 0 {
		return nil, ctx.Err()
	}
	return promptly(ctx, len(title)+len(text), func() ([]Span, error) { return c.split(ctx, title, text, breaks) })
}

func (c *Splitter) split(ctx context.Context, title, text string, breaks []int) ([]Span, error) {
	if _, whole := c.fits(Passage(title, text), c.limit-c.frame); whole {
		return nil, ctx.Err()
	}
	room := c.room(title)
	overlap := min(c.overlap, room/2)
	var chunks []Span
	if len(breaks) > 0 {
		var err error
		if chunks, err = c.packParts(ctx, text, parts(text, breaks), room, overlap); err != nil {
			return nil, err
		}
	}
	if len(chunks) < 2 {
		all, err := c.pieces(ctx, text, room)
		if err != nil {
			return nil, err
		}
		chunks = packEvenly(nil, all, room, overlap)
	}
	for i := range chunks {
		chunks[i] = Trim(text, chunks[i])
	}
	if len(chunks) < 2 {
		return nil, ctx.Err() // the title alone is beyond the limit
	}
	return chunks, ctx.Err()
}

// packParts makes chunks of the parts of a text.
func (c *Splitter) packParts(ctx context.Context, text string, parts []Span, room, overlap int) (chunks []Span, err error) {
	var short []piece // consecutive parts with room
	for _, part := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n, whole := c.fits(text[part.Start:part.End], room); whole {
			short = append(short, piece{part, n})
			continue
		}
		chunks = packEvenly(chunks, short, room, 0)
		short = nil
		long, err := c.pieces(ctx, text[part.Start:part.End], room)
		if err != nil {
			return nil, err
		}
		for i := range long {
			long[i].Start += part.Start
			long[i].End += part.Start
		}
		chunks = packEvenly(chunks, long, room, overlap)
	}
	return packEvenly(chunks, short, room, 0), nil
}

// parts returns the parts between breaks. Blank text belongs to the part before it, or at the front to the
// part after it.
func parts(text string, breaks []int) []Span {
	var out []Span
	from, read := 0, 0 // where the next part begins; up to where it is known to be blank
	add := func(to int) {
		visible := to > read && strings.TrimSpace(text[read:to]) != ""
		read = max(read, to)
		switch {
		case visible:
			out = append(out, Span{from, to})
		case len(out) > 0 && to > from:
			out[len(out)-1].End = to
		default:
			return
		}
		from = to
	}
	for _, b := range breaks {
		add(b)
	}
	add(len(text))
	return out
}

// fits counts the tokens of s if there are at most room.
func (c *Splitter) fits(s string, room int) (tokens int, whole bool) {
	_, t := c.front(s, room)
	n := c.count(t)
	return n, n <= room
}

// packEvenly adds the chunks of pieces to chunks: as few as possible, about equally long.
func packEvenly(chunks []Span, pieces []piece, room, overlap int) []Span {
	some := pack(pieces, room, overlap, 0)
	if even := pack(pieces, room, overlap, len(some)); len(even) == len(some) {
		some = even
	}
	return append(chunks, some...)
}

// piece is a sentence, or a part of a sentence that is longer than a chunk.
type piece struct {
	Span
	tokens int
}

// pieces cuts text into sentences of at most room tokens each.
func (c *Splitter) pieces(ctx context.Context, text string, room int) ([]piece, error) {
	var out []piece
	at := 0
	for s := range Sentences(text) {
		for s != "" {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			front, t := c.front(s, room)
			end, n := len(front), c.count(t)
			if n > room {
				end = cut(front, t, room)
				n = c.tokens(s[:end])
			}
			out = append(out, piece{Span{at, at + end}, n})
			at, s = at+end, s[end:]
		}
	}
	return out, nil
}

const (
	runeShare = 16  // bytes a token that a front is first taken for
	settled   = 256 // characters that a token stands before the end of a front, so that what follows there changes it no more
)

// front returns a prefix of s with more than room tokens, long enough to decide where to cut, and its tokens.
// It returns all of s if that has no more. It ends after a blank if there is one nearby. A text may be one
// sentence or one word of megabytes, which must not be tokenized as a whole for every piece.
func (c *Splitter) front(s string, room int) (front string, t encoder.Tokens) {
	for size := runeShare * room; ; size *= 2 {
		front = s
		inside := false // of a word
		if size < len(s) {
			if blank := strings.IndexAny(s[size:min(2*size, len(s))], " \t\r\n"); blank >= 0 {
				front = s[:size+blank+1]
			} else if 2*size < len(s) {
				front, inside = s[:runeEnd(s, size)], true
			}
		}
		t = c.enc.Tokenize(encoder.Passage, front)
		if len(front) == len(s) || c.count(t) > room && !(inside && lastRunes(front, settled) < endOf(t, room)) {
			return front, t
		}
	}
}

// runeEnd is i, or the end of the character that contains i.
func runeEnd(s string, i int) int {
	for n := 1; n < utf8.UTFMax && i < len(s) && !utf8.RuneStart(s[i]); n++ {
		i++
	}
	return i
}

// lastRunes is the position of the last n characters of s.
func lastRunes(s string, n int) int {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return at
}

// endOf is the end of the first room tokens that have bytes in the text; 0 if none has.
func endOf(t encoder.Tokens, room int) int {
	seen, end := 0, 0
	for _, o := range t.Offsets {
		if o.End == 0 { // stands for no bytes of the text
			continue
		}
		if seen++; seen > room {
			break
		}
		end = int(o.End)
	}
	return end
}

// cut returns the position at which to cut a sentence with the tokens t, so that at most room tokens come
// before it: after white space if possible, else between two tokens.
func cut(s string, t encoder.Tokens, room int) int {
	end := runeEnd(s, endOf(t, room))
	if end >= len(s) { // the tokenizer found less than it counted
		end = len(s) / 2
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
	}
	if end == 0 { // blanks without an end, which have tokens of their own
		if blanks := len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)); blanks > 0 {
			return blanks
		}
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	if space := strings.LastIndexFunc(s[:end], unicode.IsSpace); space > end/2 {
		_, n := utf8.DecodeRuneInString(s[space:])
		return space + n
	}
	return end
}

// pack puts pieces into chunks of at most room tokens; a piece with more has a chunk of its own. A chunk
// begins with the last pieces of the one before, up to overlap tokens. If even is above 0, chunks end near
// the positions that divide the text into that many equal parts; there may be more chunks.
func pack(pieces []piece, room, overlap, even int) []Span {
	left := 0 // tokens of pieces that are in no chunk yet
	for _, p := range pieces {
		left += p.tokens
	}
	var out []Span
	for fresh := 0; fresh < len(pieces); {
		from, n := fresh, 0
		for from > 0 && pieces[from-1].Start > out[len(out)-1].Start && // the next chunk goes beyond this one
			n+pieces[from-1].tokens <= overlap && n+pieces[from-1].tokens+pieces[fresh].tokens <= room {
			from--
			n += pieces[from].tokens
		}
		want := room
		if chunks := even - len(out); chunks > 0 {
			want = n + left/chunks
		}
		to := fresh
		for to < len(pieces) && (to == fresh || n+pieces[to].tokens <= room && n+pieces[to].tokens/2 <= want) {
			n += pieces[to].tokens
			left -= pieces[to].tokens
			to++
		}
		out = append(out, Span{pieces[from].Start, pieces[to-1].End})
		fresh = to
	}
	return out
}

// Passage is the text that the encoder gets for a document: its title, if any, before its text, as in BEIR.
func Passage(title, text string) string { return strings.TrimSpace(title + " " + text) }

// TitleEnd is the end of the title in a Passage.
func TitleEnd(title string) int { return len(strings.TrimSpace(title)) }

// WithFileWords returns the function that adds the words of a document's file (metadata.FileWords) to the Passage of chunk n, for
// searches for words, and tells the end of the title in the result: the name is the title of each chunk of a document without
// one, and the first chunk has more.
func WithFileWords(title string, raw []byte) func(n int, passage string) (string, int) {
	name, more := metadata.FileWords(raw)
	return func(n int, passage string) (string, int) {
		title := title
		if TitleEnd(title) == 0 {
			title, passage = name, Passage(name, passage)
		}
		if n == 0 {
			passage = strings.TrimSpace(passage + "\n" + more)
		}
		return passage, TitleEnd(title)
	}
}

// Title is the title of a document to searches for words: the name of its file (metadata.FileWords) if it has none.
func Title(title string, raw []byte) string {
	if strings.TrimSpace(title) == "" {
		title, _ = metadata.FileWords(raw)
	}
	return title
}

// Trim removes white space at both ends of a span.
func Trim(text string, s Span) Span {
	t := text[s.Start:s.End]
	s.Start += len(t) - len(strings.TrimLeftFunc(t, unicode.IsSpace))
	s.End = s.Start + len(strings.TrimSpace(t))
	return s
}
