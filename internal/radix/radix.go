// Package radix sorts numbers by some of their bits. [Sort] costs O(n) for each byte of the largest number
// in these bits, and needs as extra memory one second slice, which the caller may keep for the next call.
package radix

import "slices"

// few is the number of elements up to which a comparison sort is at least as fast.
const few = 48

// Sort sorts a by the bits from low on, whose maximum is max. Numbers that are equal in these bits must
// already be ascending. It returns its working memory for the next call: tmp, or a longer slice. Cost:
// O(len(a)) for each byte of max.
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
