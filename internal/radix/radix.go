// Package radix sorts numbers by some of their bits. [Sort] costs O(n) for each byte of the largest number
// that these bits hold, and needs no more memory than a second slice, which the caller may keep for the next
// call.
package radix

import "slices"

// few is how many numbers a comparison sort takes no longer for.
const few = 48

// Sort sorts a by the bits from low on, which hold max at most; what the bits below them
// tell must ascend already among numbers that are equal above. It returns what it used
// beside a, for the next call: tmp, or a longer one. Cost: O(len(a)) for each byte of max.
func Sort[T uint32 | uint64](a, tmp []T, low uint, max T) []T {
	if len(a) <= few {
		slices.Sort(a)
		return tmp
	}
	if len(tmp) < len(a) {
		tmp = make([]T, len(a)+len(a)/4)
	}
	from, to := a, tmp[:len(a)]
	for ; max > 0; low, max = low+8, max>>8 {
		var starts [256]uint32
		for _, x := range from {
			starts[byte(x>>low)]++
		}
		sum := uint32(0)
		for i, n := range starts {
			starts[i], sum = sum, sum+n
		}
		for _, x := range from {
			at := &starts[byte(x>>low)]
			to[*at] = x
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &a[0] {
		copy(a, from)
	}
	return tmp
}
