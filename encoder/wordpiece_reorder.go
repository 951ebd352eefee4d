package encoder

import (
	"slices"
	"unicode/utf8"
)

// mark is one combining mark of a run.
type mark struct {
	rank  uint64
	r     rune // 0 for a mark that is dropped after decomposition
	split bool // not a code point of the text, but split off the one before
}

// reorder puts the run of combining marks around text[i], whose first code
// point that outlives normalisation this is, and returns the position behind
// the run.
//
// Canonical ordering sorts the marks between two code points of class 0, and
// the reference aligns the sorted marks with the text by counting: the k-th
// mark of the sorted run has the span of the k-th code point of the run,
// whichever that was. Marks that were dropped count too, so those before i are
// looked up again.
func (s *scan) reorder(i, lo, hi int) int {
	table, ranks := s.t.table, markRank()
	s.run = s.run[:0]
	src := Span{int32(i), int32(i)}
	if class := table.class(first(s.text[i:hi])); class >= classReplace {
		rep := table.replace[class-classReplace]
		_, n := utf8.DecodeRuneInString(s.text[i:hi])
		src.End += int32(n)
		i += n
		s.put(rep.text[:len(rep.text)-rep.tail], src)
		for _, r := range rep.text[len(rep.text)-rep.tail:] {
			s.run = append(s.run, mark{ranks[r], r, true})
		}
	} else {
		for i > lo {
			r, n := utf8.DecodeLastRuneInString(s.text[lo:i])
			if c := table.class(r); c != classMark && c != classGone {
				break
			}
			i -= n
		}
	}
	start := i
	for i < hi {
		r, n := utf8.DecodeRuneInString(s.text[i:hi])
		class := table.class(r)
		if class == classTail {
			s.run = append(s.run, mark{rank: ranks[r], r: r})
		} else if class == classMark {
			s.run = append(s.run, mark{rank: ranks[r]})
		} else if class != classGone {
			break
		}
		i += n
	}
	slices.SortStableFunc(s.run, func(a, b mark) int { return int(a.rank) - int(b.rank) })
	next := start
	var b [utf8.UTFMax]byte
	for _, m := range s.run {
		for !m.split {
			r, n := utf8.DecodeRuneInString(s.text[next:hi])
			src = Span{int32(next), int32(next + n)}
			next += n
			if table.class(r) != classGone {
				break
			}
		}
		if m.r != 0 {
			s.put(string(utf8.AppendRune(b[:0], m.r)), src)
		}
	}
	return i
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
