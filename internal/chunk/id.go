// Package chunk cuts texts that are too long for an encoder into chunks, and numbers chunks. Start with [New]
// and [Splitter.Split]: chunks end at sentences, or at the breaks that the caller gives. [ID] makes the
// number of a chunk from the ordinal of its document's version and its position in it.
package chunk

import "cmp"

// A chunk is the unit that indexes find: a whole document, or a part of a long one. Its id has the ordinal of
// the document's version in the low bits, and above them the number of the chunk, from 0. So the id of a
// document with one chunk is its ordinal.
const ordBits = 44

// ID is the id of chunk n, from 0, of the version ord.
func ID(ord uint64, n int) uint64 { return uint64(n)<<ordBits | ord }

// Ord is the ordinal of the version that a chunk belongs to.
func Ord(id uint64) uint64 { return id & (1<<ordBits - 1) }

// Number is the number of a chunk among its document's, from 0.
func Number(id uint64) int { return int(id >> ordBits) }

// Compare orders chunks by document and number.
func Compare(a, b uint64) int { return cmp.Or(cmp.Compare(Ord(a), Ord(b)), cmp.Compare(a, b)) }
