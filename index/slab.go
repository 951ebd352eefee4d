package index

import "unsafe"

// Memory that searches read in random order is allocated in slabs: the kernel is asked to
// use pages of 2 MiB for their insides, since random access to pages of 4 KiB misses the
// TLB at every row.
const (
	slabMost = 64 << 20 // bytes; a slab is given back as a whole
	pageHuge = 2 << 20
)

// slabs makes n arrays of size elements, adjacent in memory as far as slabs allow, and
// passes them to each.
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

// more returns how many chunks to allocate in memory if need are missing: at least an
// eighth of the existing number, so that slabs grow with it.
func more(need, there int) int {
	if need <= 0 {
		return 0
	}
	return max(need, there/8)
}
