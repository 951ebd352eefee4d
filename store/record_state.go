package store

import (
	"encoding/binary"
	"fmt"

	"github.com/lexsem/lexsem/internal/limit"
)

// The content of the records of ids, commits and the state, and of the log.

// version is the version of an id since batch seq: ordinal ord (0 means deleted), and the
// size of its records in bytes; truncated says that tokens of it were cut off.
type version struct {
	ord, seq, bytes uint64
	truncated       bool
}

// truncatedBit is set in the size of a version if tokens of it were cut off. In databases
// of format 1 it is never set.
const truncatedBit = 1 << 63

func (v version) size() uint64 {
	if v.truncated {
		return v.bytes | truncatedBit
	}
	return v.bytes
}

func (v *version) split() {
	v.truncated = v.bytes&truncatedBit != 0
	v.bytes &^= truncatedBit
}

// current is the record of an id: its version and the previous one. The previous one is
// valid while the batch of the newer one is not committed, and restores the record if it
// never is.
type current struct{ now, before version }

func (c current) encode() []byte {
	return appendNumbers(nil, c.now.ord, c.now.seq, c.now.size(), c.before.ord, c.before.seq, c.before.size())
}

func decodeCurrent(p []byte) (c current, err error) {
	err = decodeNumbers(p, &c.now.ord, &c.now.seq, &c.now.bytes, &c.before.ord, &c.before.seq, &c.before.bytes)
	c.now.split()
	c.before.split()
	return c, err
}

// at returns the ordinal at sequence seq, 0 for none.
func (c current) at(seq uint64) uint64 {
	if c.now.seq <= seq {
		return c.now.ord
	}
	return c.before.ord
}

// commit is the record of one batch: the number of its log entries, the first free
// ordinal and the number of live documents after it, the size of the versions that it
// ended, and the digest of all commits up to it, with its nonce. Records of format 1 lack
// the size and the digest.
type commit struct {
	entries, nextOrd, live, deadBytes uint64
	nonce                             [16]byte
	history                           History
}

func (c commit) encode() []byte {
	b := appendNumbers(nil, c.entries, c.nextOrd, c.live, c.deadBytes)
	if c.history == (History{}) {
		return b
	}
	return append(append(b, c.nonce[:]...), c.history[:]...)
}

func decodeCommit(p []byte) (c commit, err error) {
	const old, now = 4 * 8, 4*8 + 32
	if len(p) == now {
		c.nonce, c.history = [16]byte(p[old:]), History(p[old+16:])
		if p = p[:old]; c.history == (History{}) {
			return c, fmt.Errorf("%w: no digest", errRecord)
		}
	}
	err = decodeNumbers(p, &c.entries, &c.nextOrd, &c.live, &c.deadBytes)
	return c, err
}

// state is the state after the last durable write. gen counts durable writes of any kind;
// base is the sequence up to which Compact has trimmed; manifestGen is gen at the last
// change of the manifest; liveBytes and deadBytes are the sizes of the records of live
// versions and of dead versions that Compact has not passed.
//
// truncated counts live documents whose tokens were cut off. trimmed is the sequence up
// to which Compact has finished its removals. When the database was last opened after a
// clean end, everything below ordinal safeOrd and up to sequence safeSeq was in Badger's
// tables. newLive counts later live versions, which may be in its logs. history is the
// digest at seq, baseHistory that at base. terms counts the terms of the vocabulary, and
// bases the bases of codes. The record of a database without bases lacks bases, and one
// without a vocabulary lacks both.
type state struct {
	gen, seq, nextOrd, live, base, manifestGen, liveBytes, deadBytes uint64

	truncated, trimmed, safeOrd, safeSeq, newLive uint64
	history, baseHistory                          History
	terms, bases                                  uint64
}

func (s state) encode() []byte {
	b := appendNumbers(nil, s.gen, s.seq, s.nextOrd, s.live, s.base, s.manifestGen, s.liveBytes, s.deadBytes,
		s.truncated, s.trimmed, s.safeOrd, s.safeSeq, s.newLive)
	b = append(append(b, s.history[:]...), s.baseHistory[:]...)
	switch {
	case s.bases > 0:
		b = appendNumbers(b, s.terms, s.bases)
	case s.terms > 0:
		b = appendNumbers(b, s.terms)
	}
	return b
}

func decodeState(p []byte) (s state, err error) {
	const old, now = 8 * 8, 13*8 + 32
	switch len(p) {
	case now + 8:
		if err = decodeNumbers(p[now:], &s.terms); err == nil && s.terms == 0 {
			err = fmt.Errorf("%w: no terms", errRecord)
		}
		p = p[:now]
	case now + 16:
		if err = decodeNumbers(p[now:], &s.terms, &s.bases); err == nil && s.bases == 0 {
			err = fmt.Errorf("%w: no bases", errRecord)
		}
		p = p[:now]
	}
	if err == nil && (s.terms > maxTerms || s.bases > limit.Bases) {
		err = fmt.Errorf("%w: %d terms and %d bases", errRecord, s.terms, s.bases)
	}
	if err != nil {
		return s, err
	}
	switch len(p) {
	case old: // format 1
		err = decodeNumbers(p, &s.gen, &s.seq, &s.nextOrd, &s.live, &s.base, &s.manifestGen, &s.liveBytes, &s.deadBytes)
		s.safeOrd, s.newLive = 1, s.live
	case now:
		s.history, s.baseHistory = History(p[now-32:]), History(p[now-16:])
		err = decodeNumbers(p[:now-32], &s.gen, &s.seq, &s.nextOrd, &s.live, &s.base, &s.manifestGen, &s.liveBytes, &s.deadBytes,
			&s.truncated, &s.trimmed, &s.safeOrd, &s.safeSeq, &s.newLive)
	default:
		err = fmt.Errorf("%w: %d bytes", errRecord, len(p))
	}
	return s, err
}

// encodeChange appends a log entry: operation, new and old ordinal, id.
func encodeChange(dst []byte, c Change) []byte {
	dst = append(dst, c.op())
	dst = binary.AppendUvarint(dst, c.New)
	dst = binary.AppendUvarint(dst, c.Old)
	return append(dst, c.ID...)
}

// op is the operation in a log entry: 1 for a new id, 2 for a new version, 3 for a deleted id.
func (c Change) op() byte {
	switch {
	case c.New == 0:
		return 3
	case c.Old == 0:
		return 1
	}
	return 2
}

func decodeChange(p []byte) (Change, error) {
	r := reader{p: p}
	op, c := r.byte(), Change{New: r.uvarint(), Old: r.uvarint()}
	if r.err != nil {
		return c, r.err
	}
	c.ID = string(r.p)
	if len(c.ID) == 0 || len(c.ID) > limit.IDBytes || op != c.op() || c.New == c.Old {
		return c, fmt.Errorf("%w: impossible log entry", errRecord)
	}
	return c, nil
}
