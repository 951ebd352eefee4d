package index

import "unsafe"

// Memory that searches read out of order is made in slabs: the kernel is asked
// to lay their insides out in pages of 2 MiB, since a walk through pages of
// 4 KiB misses the TLB at every row.
const (
	slabMost = 64 << 20 // bytes; a slab is given back as a whole
	pageHuge = 2 << 20
)

// slabs makes n arrays of size elements, neighbours in memory as far as slabs
// allow, and hands them to each.
func slabs[T float32 | int8 | uint32 | uint64](n, size int, each func([]T)) {
	var t T
	most := max(1, slabMost/(size*int(unsafe.Sizeof(t))))
	for n > 0 {
		m := min(n, most)
		slab := make([]T, m*size)
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&slab[0])), m*size*int(unsafe.Sizeof(t))))
		for i := range m {
			each(slab[i*size : (i+1)*size : (i+1)*size])
		}
		n -= m
	}
}

// more is how many chunks to make where need are wanted beside those there, in memory: an
// eighth of what is there at least, so that slabs grow with it.
func more(need, there int) int {
	if need <= 0 {
		return 0
	}
	return max(need, there/8)
}
