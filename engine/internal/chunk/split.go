package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/lexsem/lexsem/encoder"
)

// Span is the bytes [Start, End) of a text.
type Span struct{ Start, End int }

// Splitter cuts texts that an encoder cannot read whole into chunks that it can:
// whole sentences (Unicode Standard Annex 29), as many as there is room for, the
// last ones repeated at the front of the next chunk. The room is counted in the
// encoder's own tokens, or estimated where it has none. As few chunks are made as have room, about equally long.
type Splitter struct {
	enc     encoder.Encoder
	limit   int // tokens of a chunk, those the encoder adds included; 0 for texts that stay whole
	overlap int // most tokens that two chunks share
	frame   int // tokens the encoder adds to any text
}

// Chunks of a text are small against what is repeated in each; a title leaves
// at least this share of the room to the text.
const titleShare = 2

// MinTokens is the least that a limit of tokens may be.
const MinTokens = 16

// New makes a Splitter for an encoder's texts. A chunk has at most so many
// tokens, and repeats at most overlap of the one before. 0 tokens mean the
// encoder's limit, below 0 texts stay whole, as they do without an encoder; an
// overlap of 0 means an eighth of the chunk, below 0 none.
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

// tokens counts those of s alone.
func (c *Splitter) tokens(s string) int {
	t := c.enc.Tokenize(encoder.Passage, s)
	return len(t.IDs) + t.Truncated - c.frame
}

// room is how many tokens of the text a chunk behind title has.
func (c *Splitter) room(title string) int {
	room := c.limit - c.frame
	return max(room-c.tokens(title), room/titleShare, 1)
}

// TitleOf returns as much of the title of a text in chunks as the encoder reads
// before each of them, and how many of its tokens that leaves out: a longer one
// would take the room of the text.
func (c *Splitter) TitleOf(title string) (kept string, left int) {
	most := c.enc.Fingerprint().MaxTokens - c.frame - c.room(title)
	if n := c.tokens(title); most >= 1 && n > most {
		front, _ := c.front(title, most)
		kept = title[:c.cut(front, most)]
		return kept, n - c.tokens(kept)
	}
	return title, 0
}

// Split returns the chunks of a text that is encoded behind title: nil where
// both fit the limit. breaks are offsets in the text, ascending and at the front of
// characters. Where there are some, chunks are made of the parts between them: as
// many as there is room for, without overlap. A part with more tokens than that has
// chunks of its own. Cost O(tokens).
func (c *Splitter) Split(title, text string, breaks []int) []Span {
	if c.limit == 0 || c.tokens(Passage(title, text))+c.frame <= c.limit {
		return nil
	}
	room := c.room(title)
	overlap := min(c.overlap, room/2)
	var chunks []Span
	if len(breaks) > 0 {
		chunks = c.packParts(text, c.parts(text, breaks), room, overlap)
	}
	if len(chunks) < 2 {
		chunks = packEvenly(nil, c.pieces(text, room), room, overlap)
	}
	for i := range chunks {
		chunks[i] = Trim(text, chunks[i])
	}
	if len(chunks) < 2 {
		return nil // the title alone is beyond the limit
	}
	return chunks
}

// packParts makes chunks of the parts of a text.
func (c *Splitter) packParts(text string, parts []Span, room, overlap int) (chunks []Span) {
	var short []piece // consecutive parts with room
	for _, part := range parts {
		if n, whole := c.fits(text[part.Start:part.End], room); whole {
			short = append(short, piece{part, n})
			continue
		}
		chunks = packEvenly(chunks, short, room, 0)
		short = nil
		long := c.pieces(text[part.Start:part.End], room)
		for i := range long {
			long[i].Start += part.Start
			long[i].End += part.Start
		}
		chunks = packEvenly(chunks, long, room, overlap)
	}
	return packEvenly(chunks, short, room, 0)
}

// parts are what lies between breaks; what is blank belongs to the part before it,
// or behind it at the front.
func (c *Splitter) parts(text string, breaks []int) []Span {
	var out []Span
	from := 0
	add := func(to int) {
		switch {
		case to <= from:
		case len(out) > 0 && strings.TrimSpace(text[from:to]) == "":
			out[len(out)-1].End = to
			from = to
		case strings.TrimSpace(text[from:to]) != "":
			out = append(out, Span{from, to})
			from = to
		}
	}
	for _, b := range breaks {
		add(b)
	}
	add(len(text))
	return out
}

// fits counts the tokens of s if they are no more than room.
func (c *Splitter) fits(s string, room int) (tokens int, whole bool) {
	_, n := c.front(s, room)
	return n, n <= room
}

// packEvenly adds to chunks those of pieces: as few as there is room for, about
// equally long.
func packEvenly(chunks []Span, pieces []piece, room, overlap int) []Span {
	some := pack(pieces, room, overlap, 0)
	if even := pack(pieces, room, overlap, len(some)); len(even) == len(some) {
		some = even
	}
	return append(chunks, some...)
}

// piece is a sentence, or a part of one that is longer than a chunk.
type piece struct {
	Span
	tokens int
}

// pieces cuts text into sentences of at most room tokens each.
func (c *Splitter) pieces(text string, room int) []piece {
	var out []piece
	state, rest := -1, text
	for rest != "" {
		var s string
		s, rest, state = uniseg.FirstSentenceInString(rest, state)
		at := len(text) - len(rest) - len(s)
		for s != "" {
			front, n := c.front(s, room)
			cut := len(front)
			if n > room {
				cut = c.cut(front, room)
				n = c.tokens(s[:cut])
			}
			out = append(out, piece{Span{at, at + cut}, n})
			at, s = at+cut, s[cut:]
		}
	}
	return out
}

// front returns as much of s, up to a blank, as has more than room tokens, and
// how many it has; all of s if that has no more. A text may be one sentence of
// megabytes, which must not be read whole for every piece of it.
func (c *Splitter) front(s string, room int) (front string, tokens int) {
	for size := 16 * room; ; size *= 2 {
		front = s
		if size < len(s) {
			if blank := strings.IndexAny(s[size:], " \t\r\n"); blank >= 0 {
				front = s[:size+blank+1]
			}
		}
		if n := c.tokens(front); n > room || len(front) == len(s) {
			return front, n
		}
	}
}

// cut returns where to cut a sentence so that at most room tokens stand before
// it: behind white space if there is some, else between two tokens.
func (c *Splitter) cut(s string, room int) int {
	t := c.enc.Tokenize(encoder.Passage, s)
	seen, end := 0, 0
	for i, o := range t.Offsets {
		if o.End == 0 { // stands for no bytes of the text
			continue
		}
		if seen++; seen > room {
			break
		}
		end = int(t.Offsets[i].End)
	}
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	if end >= len(s) { // the tokenizer found less than it counted
		end = len(s) / 2
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
	}
	if space := strings.LastIndexFunc(s[:end], unicode.IsSpace); space > end/2 {
		_, n := utf8.DecodeRuneInString(s[space:])
		return space + n
	}
	return max(end, 1)
}

// pack puts pieces into chunks of at most room tokens; a piece with more has a
// chunk of its own. A chunk begins with the last pieces of the one before, up
// to overlap tokens. With even above 0 the chunks end where that many would
// share the text equally, and may become more than that.
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

// Passage is what the encoder sees of a document: its title, if any, before its
// text, as in BEIR.
func Passage(title, text string) string { return strings.TrimSpace(title + " " + text) }

// Trim leaves white space at both ends out.
func Trim(text string, s Span) Span {
	t := text[s.Start:s.End]
	s.Start += len(t) - len(strings.TrimLeftFunc(t, unicode.IsSpace))
	s.End = s.Start + len(strings.TrimSpace(t))
	return s
}
