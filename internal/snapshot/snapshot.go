// Package snapshot is the container of derived state on disk: a file of named
// sections that is written whole or not at all, mapped at open, and checked
// block by block when a block is first read.
//
//	header    magic "LEXSNAP4", version of the sections (4), sequence number
//	          (8), database (16), history (16), length of kind (2), kind, zeros
//	          up to 4092, CRC-32C of all that (4)
//	data      payloads of the sections, each from a multiple of 64 bytes on,
//	          zeros between them
//	sections  for each: tag (8, zeros behind), first byte of the payload from
//	          the beginning of the file (8), length (8)
//	sums      CRC-32C of each KiB of data, a block (4 each)
//	trailer   length of data (8), number of sections (4), magic "SNAPEND4",
//	          CRC-32C of sections, sums and the trailer before it (4)
//
// All numbers are little-endian. Every byte is covered by one of the sums. Files
// of formats 2 and 3, with that digit in both magics and blocks of 64 and 8 KiB,
// are read as well.
package snapshot

import (
	"errors"
	"hash/crc32"
)

const (
	magic     = "LEXSNAP" // and the digit of the format
	endMagic  = "SNAPEND" // likewise
	page      = 4096
	align     = 64
	maxKind   = 64
	maxTag    = 8
	entrySize = maxTag + 8 + 8
	endSize   = 8 + 4 + 8 + 4
)

// blockOf is how many bytes have a checksum of their own, by the digit of the format. Who reads a
// row for the first time reads its block, so blocks are small.
var blockOf = map[byte]int{'2': 64 << 10, '3': 8 << 10, written: blockSize}

const (
	written   = '4' // the digit of the format that is written
	blockSize = 1 << 10
)

var (
	// ErrDamaged says that bytes are not those that were written, or cannot be
	// read.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrForeign says that a file is whole but something else than was asked
	// for: another format, kind or version.
	ErrForeign = errors.New("snapshot is of another kind")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header tells what a file holds.
type Header struct {
	Kind     string   // what it is, for example "words"; 1 to 64 bytes
	Version  uint32   // of what the sections hold
	Seq      uint64   // sequence number of the commit that it was derived from
	Database [16]byte // UUID of the database
	History  [16]byte // digest of the database's commits up to Seq
}
