// Package section reads and writes sequences of sections, the layout of the
// snapshots of derived state. A section is a tag of four bytes, the length of
// the payload as uint64, the payload, and the CRC-32C of all three as uint32;
// all numbers little-endian. A section "PAD " holds zeros and may stand before
// any other, so that what follows is aligned.
package section

import "hash/crc32"

const (
	pad  = "PAD "
	end  = "END "
	head = 12 // bytes before a payload
	foot = 4  // bytes behind it
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
