package store

import "encoding/binary"

// Keys. Numbers are big-endian, so that iteration is in numeric order.
//
//	s                      state of the last commit
//	m                      manifest
//	d ord(8) part(2)       document: id, title, text, metadata
//	v ord(8) part(2)       row: vector and token ids
//	i id                   current ordinal of an id
//	x ord(8)               sequence at which a version died
//	l seq(8) n(4)          change-log entry n of batch seq
//	c seq(8)               commit record of batch seq
//	t n(8)                 terms of the vocabulary from number n on
//	b n(8) part(2)         basis n of the codes of rows
const (
	prefixDocument = 'd'
	prefixRow      = 'v'
	prefixID       = 'i'
	prefixDeath    = 'x'
	prefixLog      = 'l'
	prefixCommit   = 'c'
	prefixTerms    = 't'
	prefixBasis    = 'b'
)

var (
	keyState    = []byte{'s'}
	keyManifest = []byte{'m'}
)

// maxParts is how many parts the part number of a key can count.
const maxParts = 1 << 16

func partKey(prefix byte, ord uint64, part int) []byte {
	k := make([]byte, 11)
	k[0] = prefix
	binary.BigEndian.PutUint64(k[1:], ord)
	binary.BigEndian.PutUint16(k[9:], uint16(part))
	return k
}

func numberKey(prefix byte, n uint64) []byte {
	k := make([]byte, 9)
	k[0] = prefix
	binary.BigEndian.PutUint64(k[1:], n)
	return k
}

func logKey(seq uint64, n uint32) []byte {
	k := make([]byte, 13)
	k[0] = prefixLog
	binary.BigEndian.PutUint64(k[1:], seq)
	binary.BigEndian.PutUint32(k[9:], n)
	return k
}

func idKey(id string) []byte {
	k := make([]byte, 1+len(id))
	k[0] = prefixID
	copy(k[1:], id)
	return k
}

// keyNumber returns the first number of a key, its part (or entry) number, and whether
// the key has the right length for its prefix.
func keyNumber(key []byte) (n uint64, part uint32, ok bool) {
	if len(key) < 9 {
		return 0, 0, false
	}
	n = binary.BigEndian.Uint64(key[1:])
	switch key[0] {
	case prefixDocument, prefixRow, prefixBasis:
		if len(key) != 11 {
			return 0, 0, false
		}
		return n, uint32(binary.BigEndian.Uint16(key[9:])), true
	case prefixLog:
		if len(key) != 13 {
			return 0, 0, false
		}
		return n, binary.BigEndian.Uint32(key[9:]), true
	}
	return n, 0, len(key) == 9
}
