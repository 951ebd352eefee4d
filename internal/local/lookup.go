package local

import "math/bits"

// lookup finds numbers in an ascending list, to which it refers. For each value of the upper bits, first holds where
// the numbers with these bits begin, so that few numbers are compared.
type lookup struct {
	list  []uint32
	first []uint16 // none for a list too long or too short for it
	shift int
}

// buckets bounds the length of first: half a KiB.
const buckets = 256

func lookupOf(list []uint32) lookup {
	l := lookup{list: list}
	if len(list) < 8 || len(list) > 1<<16-1 {
		return l
	}
	most := list[len(list)-1]
	l.shift = max(0, bits.Len32(most)-bits.Len32(buckets-1))
	l.first = make([]uint16, most>>l.shift+2)
	for _, t := range list {
		l.first[t>>l.shift+1]++
	}
	for i := range l.first[1:] {
		l.first[i+1] += l.first[i]
	}
	return l
}

// find is the position of t.
func (l *lookup) find(t uint32) (int, bool) {
	from, to := 0, len(l.list)
	if l.first != nil {
		b := int(t >> l.shift)
		if b+1 >= len(l.first) {
			return 0, false
		}
		from, to = int(l.first[b]), int(l.first[b+1])
	}
	for n := to - from; n > 1; {
		half := n / 2
		if l.list[from+half] <= t {
			from += half
		}
		n -= half
	}
	return from, from < to && l.list[from] == t
}
