package chunk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// paragraph makes n sentences of random words, some of them far too long, some
// without any space.
func paragraph(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		words := 3 + rng.IntN(20)
		switch rng.IntN(12) {
		case 0:
			words = 300
		case 1:
			b.WriteString(strings.Repeat("長い文", 1+rng.IntN(200)) + "。")
			continue
		case 2:
			b.WriteString(strings.Repeat("xy", 1+rng.IntN(600)) + "\n")
			continue
		}
		for w := range words {
			if w > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "word%d", rng.IntN(5000))
		}
		b.WriteString([]string{". ", "! ", "?\n\n", ".\r\n", "… "}[rng.IntN(5)])
	}
	return b.String()
}

// split is Split of texts that nobody cancels.
func split(t *testing.T, c Splitter, title, text string, breaks []int) []Span {
	t.Helper()
	chunks, err := c.Split(t.Context(), title, text, breaks)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestChunks(t *testing.T) {
	enc := encoder.NewHash(16)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := New(enc, 24+rng.IntN(100), rng.IntN(30)-5)
		text, title := paragraph(rng, 1+rng.IntN(60)), ""
		if rng.IntN(2) == 0 {
			title = "A title of some words"
		}
		chunks := split(t, c, title, text, nil)
		if whole := c.tokens(Passage(title, text)) + c.frame; (whole > c.limit) != (chunks != nil) {
			t.Fatalf("seed %d: %d tokens of %d in %d chunks", seed, whole, c.limit, len(chunks))
		}
		covered := 0
		for i, s := range chunks {
			if n := c.tokens(Passage(title, text[s.Start:s.End])) + c.frame; n > c.limit {
				t.Fatalf("seed %d: chunk %d has %d tokens, the limit is %d", seed, i, n, c.limit)
			}
			if !utf8.ValidString(text[s.Start:s.End]) || s.Start >= s.End {
				t.Fatalf("seed %d: chunk %d cuts a character: %+v", seed, i, s)
			}
			if s.Start > covered && strings.TrimSpace(text[covered:s.Start]) != "" || i > 0 && (s.Start <= chunks[i-1].Start || s.End <= chunks[i-1].End) {
				t.Fatalf("seed %d: chunk %d %+v comes after %d", seed, i, s, covered)
			}
			if shared := covered - s.Start; i > 0 && shared > 0 && c.tokens(text[s.Start:covered]) > max(c.overlap, 0) {
				t.Fatalf("seed %d: chunks %d and %d share %d tokens, at most %d are allowed", seed, i-1, i, c.tokens(text[s.Start:covered]), c.overlap)
			}
			covered = s.End
		}
		if chunks != nil && strings.TrimSpace(text[covered:]) != "" {
			t.Fatalf("seed %d: %q is in no chunk", seed, text[covered:])
		}
	}
}

// TestChunksEndWithSentences: where every sentence has room, chunks are whole
// sentences, overlap, and are about equally long.
func TestChunksEndWithSentences(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "This is sentence %d of the long report. ", i)
	}
	c := New(encoder.NewHash(16), 100, 0)
	chunks := split(t, c, "", b.String(), nil)
	least, most := 1<<30, 0
	for i, s := range chunks {
		part := b.String()[s.Start:s.End]
		if !strings.HasPrefix(part, "This is") || !strings.HasSuffix(part, "report.") {
			t.Fatalf("chunk %d: %q", i, part)
		}
		if i > 0 && s.Start >= chunks[i-1].End {
			t.Fatalf("chunks %d and %d do not overlap", i-1, i)
		}
		least, most = min(least, c.tokens(part)), max(most, c.tokens(part))
	}
	if len(chunks) < 16 || most-least > 30 {
		t.Fatalf("%d chunks of %d to %d tokens", len(chunks), least, most)
	}
	if c := New(encoder.NewHash(16), -1, 0); split(t, c, "", b.String(), nil) != nil {
		t.Fatal("cut although told not to")
	}
	if c := New(nil, 0, 0); split(t, c, "", b.String(), nil) != nil {
		t.Fatal("cut without an encoder")
	}
}

// A title beyond the limit leaves half of the room to the text, and nothing
// hangs or is lost.
func TestChunksBehindALongTitle(t *testing.T) {
	c := New(encoder.NewHash(16), 32, 0)
	title, text := strings.Repeat("title ", 100), strings.Repeat("Some words here. ", 40)
	chunks := split(t, c, title, text, nil)
	if len(chunks) < 5 || chunks[0].Start != 0 || chunks[len(chunks)-1].End != len(strings.TrimSpace(text)) {
		t.Fatalf("%+v", chunks)
	}
	if got := split(t, c, title, "", nil); got != nil {
		t.Fatalf("chunks of no text: %+v", got)
	}
}

func FuzzChunks(f *testing.F) {
	f.Add("title", "One sentence. Another one! And a third?", 16, 5)
	f.Add("", strings.Repeat("a", 3000), 20, 0)
	f.Add("", "\xff\xfe broken \x80 bytes. "+strings.Repeat("é ", 90), 17, 1)
	f.Add("", strings.Repeat("a line of it\n", 90), 17, 13)
	enc := encoder.NewHash(8)
	f.Fuzz(func(t *testing.T, title, text string, limit, every int) {
		if len(text) > 1<<14 || limit < MinTokens || limit > 200 {
			return
		}
		c := New(enc, limit, 0)
		var breaks []int
		for at := every; every > 0 && at <= len(text); at += every {
			if at == len(text) || utf8.RuneStart(text[at]) {
				breaks = append(breaks, at)
			}
		}
		at := 0
		for i, s := range split(t, c, title, text, breaks) {
			if s.Start < 0 || s.End > len(text) || s.Start > s.End || i > 0 && s.Start < at {
				t.Fatalf("chunk %d %+v of %d bytes", i, s, len(text))
			}
			at = s.Start
		}
	})
}

// counting counts the bytes that are tokenized.
type counting struct {
	encoder.Encoder
	bytes *int
}

func (c counting) Tokenize(role encoder.Role, text string) encoder.Tokens {
	*c.bytes += len(text)
	return c.Encoder.Tokenize(role, text)
}

// TestChunksOfOneSentence: a text without the end of a sentence, as a log or a
// table has it, is read a few times and not once for every chunk.
func TestChunksOfOneSentence(t *testing.T) {
	read := 0
	c := New(counting{encoder.NewHash(16), &read}, 0, 0)
	for _, text := range []string{
		strings.Repeat("a line of a log without any end\n", 20_000),
		strings.Repeat("word ", 100_000) + strings.Repeat("x", 100_000),
	} {
		read = 0
		if chunks := split(t, c, "", text, nil); len(chunks) < 100 {
			t.Fatalf("%d chunks", len(chunks))
		}
		if limit := 20 * len(text); read > limit {
			t.Errorf("%d bytes tokenized for a text of %d", read, len(text))
		}
	}
}

// TestFront: what is cut off the front of a text is what would be cut off if
// all of it were read.
func TestFront(t *testing.T) {
	c := New(encoder.NewHash(16), 0, 0)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s, room := strings.ReplaceAll(paragraph(rng, 1+rng.IntN(40)), ".", ""), 1+rng.IntN(100)
		front, tokens := c.front(s, room)
		all := c.enc.Tokenize(encoder.Passage, s)
		switch n, whole := c.count(tokens), c.count(all); {
		case whole <= room && (front != s || n != whole):
			t.Fatalf("seed %d: %d of %d bytes, %d tokens of %d, although there is room for %d", seed, len(front), len(s), n, whole, room)
		case whole > room && (n <= room || cut(front, tokens, room) != cut(s, all, room)):
			t.Fatalf("seed %d: %d tokens, room for %d; cut at %d, the whole at %d", seed, n, room, cut(front, tokens, room), cut(s, all, room))
		}
	}
}

// TestIDs: a chunk's id gives its parts back, and chunks are in order.
func TestIDs(t *testing.T) {
	var before uint64
	for _, ord := range []uint64{0, 1, 1<<38 - 1, 1<<44 - 1} {
		for _, n := range []int{0, 1, 1000} {
			id := ID(ord, n)
			if Ord(id) != ord || Number(id) != n || n == 0 && id != ord {
				t.Errorf("chunk %d of %d is %d of %d", n, ord, Number(id), Ord(id))
			}
			if id != 0 && (Compare(before, id) >= 0 || Compare(id, before) <= 0 || Compare(id, id) != 0) {
				t.Errorf("%d is not before %d", before, id)
			}
			before = id
		}
	}
}

// TestBreaks: with breaks, chunks are whole parts, or pieces of one part that is
// longer than a chunk; they cover the text, and none is empty.
func TestBreaks(t *testing.T) {
	enc := encoder.NewHash(16)
	several, inside := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := New(enc, 24+rng.IntN(100), rng.IntN(30)-5)
		var b strings.Builder
		var breaks []int
		for range 2 + rng.IntN(20) {
			b.WriteString(strings.Repeat("\n", rng.IntN(3)))
			breaks = append(breaks, b.Len())
			if rng.IntN(6) == 0 {
				breaks = append(breaks, b.Len()) // one twice
			}
			b.WriteString(paragraph(rng, 1+rng.IntN(6)))
		}
		text := b.String()
		chunks := split(t, c, "title", text, breaks)
		room := c.room("title")
		covered := 0
		starts := map[int]bool{0: true}
		for _, at := range breaks {
			starts[Trim(text, Span{at, len(text)}).Start] = true
		}
		for i, s := range chunks {
			if s.Start >= s.End || i > 0 && (s.Start <= chunks[i-1].Start || s.End <= chunks[i-1].End) {
				t.Fatalf("seed %d: chunk %d %+v", seed, i, s)
			}
			if n := c.tokens(text[s.Start:s.End]); n > room {
				t.Fatalf("seed %d: chunk %d has %d tokens, there is room for %d", seed, i, n, room)
			}
			if s.Start > covered && strings.TrimSpace(text[covered:s.Start]) != "" {
				t.Fatalf("seed %d: %q is in no chunk", seed, text[covered:s.Start])
			}
			parts, part := 0, Span{}
			for j, at := range breaks {
				end := len(text)
				if j+1 < len(breaks) {
					end = breaks[j+1]
				}
				if at < s.End && end > s.Start && strings.TrimSpace(text[max(at, s.Start):min(end, s.End)]) != "" {
					parts, part = parts+1, Span{at, end}
				}
			}
			if parts > 1 {
				several++
				if !starts[s.Start] || !starts[Trim(text, Span{s.End, len(text)}).Start] && strings.TrimSpace(text[s.End:]) != "" {
					t.Fatalf("seed %d: chunk %d %+v is not of whole parts", seed, i, s)
				}
			} else if !starts[s.Start] {
				inside++
				if c.tokens(text[part.Start:part.End]) <= room {
					t.Fatalf("seed %d: chunk %d begins inside a part that there is room for", seed, i)
				}
			}
			if i > 0 && starts[s.Start] && s.Start < covered {
				t.Fatalf("seed %d: chunk %d begins with a part and repeats what was before", seed, i)
			}
			covered = s.End
		}
		if chunks != nil && strings.TrimSpace(text[covered:]) != "" {
			t.Fatalf("seed %d: %q is in no chunk", seed, text[covered:])
		}
	}
	if several < 20 || inside < 20 {
		t.Fatalf("%d chunks of several parts, %d that begin inside one: the test shows nothing", several, inside)
	}
	// Without a place where it is cut, breaks change nothing.
	c := New(enc, 40, 0)
	text := strings.Repeat("Some words of a long text here. ", 30)
	if got, want := split(t, c, "", text, []int{0, len(text)}), split(t, c, "", text, nil); len(want) < 3 || !slices.Equal(got, want) {
		t.Fatalf("%v, without breaks %v", got, want)
	}
}
