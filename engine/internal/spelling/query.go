package spelling

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
)

// Repairs are the repairs of one query, in order.
type Repairs []Repair

// Query is the query with the repaired words in place of the mistyped ones.
func (rs Repairs) Query(typed string) string {
	var b strings.Builder
	at := 0
	for _, r := range rs {
		b.WriteString(typed[at:r.Start])
		b.WriteString(r.Word)
		at = r.End
	}
	b.WriteString(typed[at:])
	return b.String()
}

// doubt is the weight of a mistyped word relative to its repaired word, unless documents have it.
const doubt = 0.25

// Terms returns the terms of the query with repaired words in place of the mistyped ones; the mistyped ones stay
// as additional terms.
func (rs Repairs) Terms(terms []text.Term) []text.Term {
	if len(rs) == 0 {
		return terms
	}
	out := make([]text.Term, 0, len(terms)+len(rs))
	for _, t := range terms {
		if len(rs) > 0 && t.Start == rs[0].Start && !t.Beside {
			r := rs[0]
			rs = rs[1:]
			if r.Term != "" {
				out = append(out, text.Term{Text: r.Term, Start: t.Start, End: t.End, Weight: t.Weight})
			}
			if t.Beside = true; !r.Stands {
				t.Weight = doubt
			}
		}
		out = append(out, t)
	}
	return out
}

// Encoded is the text for the encoder: the query with the repaired words in place of the mistyped ones, followed by
// the mistyped ones. back converts offsets of its tokens to offsets in the query: those of a repaired word become
// those of the mistyped one.
func (rs Repairs) Encoded(typed string) (text string, back func(encoder.Span) encoder.Span) {
	if len(rs) == 0 {
		return typed, func(o encoder.Span) encoder.Span { return o }
	}
	type part struct {
		at   int // where it begins in text
		of   encoder.Span
		same bool // byte by byte
	}
	var b strings.Builder
	var parts []part
	write := func(s string, start, end int, same bool) {
		parts = append(parts, part{b.Len(), encoder.Span{Start: int32(start), End: int32(end)}, same})
		b.WriteString(s)
	}
	at := 0
	for _, r := range rs {
		write(typed[at:r.Start], at, r.Start, true)
		write(r.Word, r.Start, r.End, false)
		at = r.End
	}
	write(typed[at:], at, len(typed), true)
	for _, r := range rs {
		write(" ", r.Start, r.Start, false)
		write(typed[r.Start:r.End], r.Start, r.End, true)
	}
	return b.String(), func(o encoder.Span) encoder.Span {
		i, found := slices.BinarySearchFunc(parts, int(o.Start), func(p part, at int) int { return cmp.Compare(p.at, at) })
		if !found {
			i--
		}
		for i+1 < len(parts) && parts[i+1].at == parts[i].at { // an empty part
			i++
		}
		p := parts[i]
		if !p.same {
			return p.of
		}
		from := p.of.Start - int32(p.at)
		return encoder.Span{Start: o.Start + from, End: min(o.End+from, p.of.End)}
	}
}
