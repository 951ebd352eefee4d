// Package span finds the part of a text that answers a query best. Start with [Best]: from matches and their
// gains it chooses consecutive sentences of at most Limit bytes, or words of a longer sentence. [Words] finds
// matches for the words of a query.
package span

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limit is the maximum length of a span in bytes.
const Limit = 240

// toll is how much more of the possible gain a span of Limit bytes must have than a short one, so that sentences
// that add almost nothing are left out.
const toll = 0.02

// Match is a place in a text that matches a part of the query.
type Match struct {
	Start, End int     // bytes of the text
	Part       int     // of the query, from 0
	Gain       float64 // what a span gives by it: of several matches of a part, what the best one does
}

// Best is the part [start, end) of text, of at most Limit bytes, with the highest gain: consecutive sentences
// (Unicode Standard Annex 29; a line also ends a sentence), words of a longer sentence, or characters of a longer
// word. Of parts with equal gain it is the shortest, then the first. It begins and ends with visible text, and splits
// no character. ok is false if nothing matches. Matches outside the text are ignored; the order of matches does not
// matter. It returns ctx.Err() once ctx is done. Cost O(len(text) + Limit·len(matches)); only lines with a match are
// read closely.
func Best(ctx context.Context, text string, matches []Match) (start, end int, ok bool, err error) {
	w := windows{ctx: ctx, text: text, matches: placed(text, matches)}
	if len(w.matches) == 0 {
		return 0, 0, false, ctx.Err()
	}
	if err := w.cut(); err != nil {
		return 0, 0, false, err
	}
	start, end, ok, err = w.best()
	if err != nil || ok {
		return start, end, ok, err
	}
	// No window holds a match whole, as characters may be longer than one: then its first rune decides.
	for i, m := range w.matches {
		_, n := utf8.DecodeRuneInString(text[m.Start:])
		w.matches[i].End = m.Start + n
	}
	slices.SortFunc(w.matches, byEnd)
	return w.best()
}

// Place is Best for a text that begins at byte start of another, on its line first. It returns the span in
// bytes of that text, and its first and last line. Both are 0, 0 if nothing matches.
func Place(ctx context.Context, text string, start, first int, matches []Match) (span, lines [2]int, err error) {
	from, to, ok, err := Best(ctx, text, matches)
	if err != nil || !ok {
		return span, lines, err
	}
	line := first + strings.Count(text[:from], "\n")
	return [2]int{start + from, start + to}, [2]int{line, line + strings.Count(text[from:to], "\n")}, nil
}

// placed returns the matches inside a text, ordered by their ends. If a match is longer than half a window,
// only its beginning counts.
func placed(text string, matches []Match) []Match {
	out := make([]Match, 0, len(matches))
	for _, m := range matches {
		if m.Start < 0 || m.Start >= len(text) || m.End <= m.Start || m.Part < 0 || !(m.Gain > 0) {
			continue
		}
		m.Start, m.End = trim(text, m.Start, min(m.End, len(text)))
		m.End = min(m.End, m.Start+Limit/2)
		if m.Start < m.End {
			out = append(out, m)
		}
	}
	if !slices.IsSortedFunc(out, byEnd) {
		slices.SortFunc(out, byEnd)
	}
	return out
}

func byEnd(a, b Match) int {
	if a.End != b.End { // most often
		return a.End - b.End
	}
	return cmp.Or(a.Start-b.Start, a.Part-b.Part, cmp.Compare(a.Gain, b.Gain))
}

// trim is the range [a, b) of a text without white space at its ends.
func trim(text string, a, b int) (int, int) {
	s := strings.TrimLeftFunc(text[a:b], unicode.IsSpace)
	a = b - len(s)
	return a, a + len(strings.TrimRightFunc(s, unicode.IsSpace))
}

// windows are the parts of a text that may become its span: consecutive pieces.
type windows struct {
	ctx     context.Context
	text    string
	matches []Match // by End
	starts  []int   // of the matches, ascending
	pieces  []piece
}

// piece is a sentence, or a word or character of a sentence that is longer than a window.
type piece struct {
	start, end int
	long       int // number of the long sentence that it belongs to, 0 for none: no window goes beyond that
}

// best returns the window with the highest gain minus toll.
func (w *windows) best() (start, end int, ok bool, err error) {
	parts := 0
	for _, m := range w.matches {
		parts = max(parts, m.Part+1)
	}
	gains := make([]float64, parts) // of each part, the best so far
	all := 0.0
	raise := func(sum *float64, m Match) {
		if more := m.Gain - gains[m.Part]; more > 0 {
			*sum += more
			gains[m.Part] = m.Gain
		}
	}
	for _, m := range w.matches {
		raise(&all, m)
	}
	most, lo, hi, next, begins := 0.0, 0, 0, 0, 0
	for i, first := range w.pieces {
		if i%256 == 0 && w.ctx.Err() != nil {
			return 0, 0, false, w.ctx.Err()
		}
		for next < len(w.matches) && w.matches[next].End <= first.start {
			next++
		}
		for begins < len(w.starts) && w.starts[begins] < first.start {
			begins++
		}
		if begins == len(w.starts) {
			break
		}
		if w.starts[begins] >= first.end { // a window without this piece is shorter
			continue
		}
		clear(gains)
		sum, k := 0.0, next
		for j := i; j < len(w.pieces) && k < len(w.matches); j++ {
			last := w.pieces[j]
			size := last.end - first.start
			if size > Limit || last.long != first.long {
				break
			}
			before := sum
			for ; k < len(w.matches) && w.matches[k].End <= last.end; k++ {
				if m := w.matches[k]; m.Start >= first.start {
					raise(&sum, m)
				}
			}
			// Sums of the same in another order may differ in their last bits.
			if gives := sum - toll*all*float64(size)/Limit; sum > before && (!ok || gives > most+1e-9*all) {
				most, lo, hi, ok = gives, i, j, true
			}
		}
	}
	if !ok {
		return 0, 0, false, nil
	}
	lo, hi = w.grow(lo, hi)
	return w.pieces[lo].start, w.pieces[hi].end, true, nil
}

// grow extends words of a long sentence evenly on both sides.
func (w *windows) grow(lo, hi int) (int, int) {
	of := w.pieces[lo].long
	if of == 0 {
		return lo, hi
	}
	start, end := w.pieces[lo].start, w.pieces[hi].end
	in := func(i int) bool { return i >= 0 && i < len(w.pieces) && w.pieces[i].long == of }
	for {
		left := in(lo-1) && w.pieces[hi].end-w.pieces[lo-1].start <= Limit
		right := in(hi+1) && w.pieces[hi+1].end-w.pieces[lo].start <= Limit
		switch {
		case left && (!right || start-w.pieces[lo].start <= w.pieces[hi].end-end):
			lo--
		case right:
			hi++
		default:
			return lo, hi
		}
	}
}
