package index

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// FixChecksums makes the checksums of all sections right as far as they can be
// told apart.
func FixChecksums(data []byte) []byte {
	data = slices.Clone(data)
	for rest := data; len(rest) >= 16; {
		n := binary.LittleEndian.Uint64(rest[4:])
		if n > uint64(len(rest)-16) {
			break
		}
		end := 12 + int(n)
		binary.LittleEndian.PutUint32(rest[end:], crc32.Checksum(rest[:end], crc32.MakeTable(crc32.Castagnoli)))
		rest = rest[end+4:]
	}
	return data
}

// GraphSearch searches along the graph of an hnsw index, never by comparing
// with every vector.
func GraphSearch(ix Index, q []float32, k, ef int) []Neighbor {
	h := ix.(*hnsw)
	w := newWalker(h)
	w.ask(q)
	w.top = topK{k: min(k, h.live), radius: infinite}
	h.searchGraph(w, max(ef, k))
	order(w.top.heap)
	return w.top.heap
}
