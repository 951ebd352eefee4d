package weaviate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/lexsem/lexsem/engine/remote"
)

// uuidOf is the server's id of a passage. The ids of one document are consecutive, and documents are ordered
// by the digests of their ids.
func uuidOf(id remote.PassageID) string {
	sum := sha256.Sum256([]byte(id.ID))
	return uuid([12]byte(sum[:12]), uint32(id.Chunk))
}

// uuid makes a UUID from 96 bits and a number.
func uuid(bits [12]byte, n uint32) string {
	h := hex.EncodeToString(binary.BigEndian.AppendUint32(bits[:], n))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// between returns the bounds of a scan: ids from the first, which no passage has, to below the second; ""
// means no end.
func between(o remote.ScanOptions) (from, end string) {
	parts := max(o.Parts, 1)
	bound := func(part int) string {
		var bits [12]byte
		binary.BigEndian.PutUint32(bits[:], uint32(uint64(part)<<32/uint64(parts)))
		return uuid(bits, 0)
	}
	from = bound(o.Part)
	if o.Part+1 < parts {
		end = bound(o.Part + 1)
	}
	if o.After != "" {
		from = max(from, uuidOf(remote.PassageID{ID: o.After, Chunk: 1<<32 - 1}))
	}
	return from, end
}
