// Package snapshot is the file format of derived state: named sections, written as a whole or not at all,
// mapped when they are opened, and checked block by block when a block is first read (docs/format.md). Start
// with [Write], or with [Open], [File.Section] and [Section.Bytes]. Call [Guard] around all code that reads
// mapped memory: it turns a fault into an error. A File is safe for concurrent use and its memory is valid
// until Close. Damage is ErrDamaged, a file of another kind or version is ErrForeign.
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

// blockOf is the number of bytes under one checksum, by the digit of the format. The first read of a row
// reads its whole block, so blocks are small.
var blockOf = map[byte]int{'2': 64 << 10, '3': 8 << 10, written: blockSize}

const (
	written   = '4' // the digit of the format that is written
	packed    = '5' // that of WritePacked
	blockSize = 1 << 10
)

var (
	// ErrDamaged says that bytes differ from what was written, or cannot be read.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrForeign says that a file is intact but has another format, kind or version than requested.
	ErrForeign = errors.New("snapshot is of another kind")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header says what a file holds.
type Header struct {
	Kind     string   // kind of content, for example "words"; 1 to 64 bytes
	Version  uint32   // version of the sections' content
	Seq      uint64   // sequence number of the commit that the content was derived from
	Database [16]byte // UUID of the database
	History  [16]byte // digest of the database's commits up to Seq
}
