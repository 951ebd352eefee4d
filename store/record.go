package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errRecord is the cause inside a *CorruptError for a value that its checksum or its
// decoder refused.
var errRecord = errors.New("record does not decode")

// addChecksum appends the CRC32C of database, key and payload to the payload, so that a
// value under another key or in another database is also noticed. seed is the database's,
// see UUID.seed; 0 leaves the database out.
func addChecksum(seed uint32, key, payload []byte) []byte {
	crc := crc32.Update(crc32.Update(seed, castagnoli, key), castagnoli, payload)
	return binary.LittleEndian.AppendUint32(payload, crc)
}

// payloadOf returns the payload of a stored value and checks its checksum.
func payloadOf(seed uint32, key, value []byte) ([]byte, error) {
	if len(value) < 4 {
		return nil, fmt.Errorf("%w: %d bytes are too short", errRecord, len(value))
	}
	payload := value[:len(value)-4]
	crc := crc32.Update(crc32.Update(seed, castagnoli, key), castagnoli, payload)
	if crc != binary.LittleEndian.Uint32(value[len(payload):]) {
		return nil, fmt.Errorf("%w: checksum mismatch", errRecord)
	}
	return payload, nil
}

// seed is the initial checksum for a database's values.
func (u UUID) seed() uint32 { return crc32.Checksum(u[:], castagnoli) }
