package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errRecord is the cause inside a *CorruptError of a value that its checksum
// or its decoder refused.
var errRecord = errors.New("record does not decode")

// seal appends the CRC32C of database, key and payload to the payload, so that a
// value that turns up under another key or in another database is noticed too.
// seed is the database's, see UUID.seed; 0 leaves the database out.
func seal(seed uint32, key, payload []byte) []byte {
	crc := crc32.Update(crc32.Update(seed, castagnoli, key), castagnoli, payload)
	return binary.LittleEndian.AppendUint32(payload, crc)
}

// unseal returns the payload of a sealed value.
func unseal(seed uint32, key, value []byte) ([]byte, error) {
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

// seed is the beginning of the checksums of a database's values.
func (u UUID) seed() uint32 { return crc32.Checksum(u[:], castagnoli) }

// The first byte of documents and rows: one row, several, or any number with a
// media type (documents) or codes (rows).
const (
	recordVersion  = 1
	recordVersionN = 2
	recordVersionX = 3
)

func versionFor(rows int, more bool) byte {
	switch {
	case more:
		return recordVersionX
	case rows > 1:
		return recordVersionN
	}
	return recordVersion
}

// encodeDocument appends the text side of d: version, truncated, id, title,
// text, metadata, each of the latter with its length before it; in version 3 the
// media type likewise and the number of rows; of several rows their number, and
// for each the distance of its start from the one before and its length.
func encodeDocument(dst []byte, d *Document) []byte {
	dst = append(dst, versionFor(len(d.Rows), d.Media != ""))
	dst = binary.AppendVarint(dst, int64(d.Truncated))
	for _, s := range []string{d.ID, d.Title, d.Text} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Metadata)))
	dst = append(dst, d.Metadata...)
	if d.Media != "" {
		dst = binary.AppendUvarint(dst, uint64(len(d.Media)))
		dst = append(dst, d.Media...)
	}
	if d.Media != "" || len(d.Rows) > 1 {
		dst = binary.AppendUvarint(dst, uint64(len(d.Rows)))
	}
	if len(d.Rows) > 1 {
		last := 0
		for _, r := range d.Rows {
			dst = binary.AppendUvarint(dst, uint64(r.Start-last))
			dst = binary.AppendUvarint(dst, uint64(r.End-r.Start))
			last = r.Start
		}
	}
	return dst
}

// decodeDocument fills the text side of d. It copies what it keeps.
func decodeDocument(p []byte, d *Document) error {
	r := reader{p: p}
	v := r.byte()
	if v < recordVersion || v > recordVersionX {
		return fmt.Errorf("%w: document version %d", errRecord, v)
	}
	truncated := r.varint()
	d.ID, d.Title, d.Text = string(r.bytes()), string(r.bytes()), string(r.bytes())
	d.Metadata = nil
	if m := r.bytes(); len(m) > 0 {
		d.Metadata = append([]byte(nil), m...)
	}
	d.Truncated = int32(truncated)
	d.Media = ""
	rows := uint64(1)
	var err error
	if v == recordVersionX {
		d.Media = string(r.bytes())
	}
	if v > recordVersion {
		if rows, err = r.rows(v); err != nil {
			return err
		}
	}
	d.Rows = []Row{{End: len(d.Text)}}
	if rows > 1 {
		if err := decodeSpans(&r, d, rows); err != nil {
			return err
		}
	}
	if v == recordVersionX && r.err == nil && d.Media == "" {
		return fmt.Errorf("%w: no media type", errRecord)
	}
	if err := r.finish(); err != nil {
		return err
	}
	if int64(d.Truncated) != truncated {
		return fmt.Errorf("%w: number out of range", errRecord)
	}
	return nil
}

// decodeSpans fills the bytes that each of several rows stands for.
func decodeSpans(r *reader, d *Document, n uint64) error {
	d.Rows = make([]Row, n)
	var start uint64
	for i := range d.Rows {
		start += r.uvarint()
		length := r.uvarint()
		if size := uint64(len(d.Text)); start > size || length > size-start {
			return fmt.Errorf("%w: chunk %d lies outside the text", errRecord, i)
		}
		d.Rows[i].Start, d.Rows[i].End = int(start), int(start+length)
	}
	return r.err
}

// encodeRows appends the vectors and the token ids: version, for several rows
// their number, and each as dimension, float32 little-endian, count, zigzag
// differences of consecutive ids. In version 3 the number is always there, and
// behind each row the length of its codes and the codes.
func encodeRows(dst []byte, rows []Row) []byte {
	codes := false
	for _, r := range rows {
		codes = codes || len(r.Codes) > 0
	}
	dst = append(dst, versionFor(len(rows), codes))
	if codes || len(rows) > 1 {
		dst = binary.AppendUvarint(dst, uint64(len(rows)))
	}
	for _, r := range rows {
		dst = encodeRow(dst, r.Vector, r.Tokens)
		if codes {
			dst = binary.AppendUvarint(dst, uint64(len(r.Codes)))
			dst = append(dst, r.Codes...)
		}
	}
	return dst
}

func encodeRow(dst []byte, vector []float32, tokens []int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(vector)))
	for _, x := range vector {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	dst = binary.AppendUvarint(dst, uint64(len(tokens)))
	var last int64
	for _, t := range tokens {
		dst = binary.AppendVarint(dst, int64(t)-last)
		last = int64(t)
	}
	return dst
}

// decodeRows reads the rows of one document into the slice given, whose
// vectors, tokens and codes are used again. Their spans are the document's.
func decodeRows(p []byte, rows []Row) ([]Row, error) {
	r := reader{p: p}
	n := uint64(1)
	var err error
	v := r.byte()
	switch v {
	case recordVersion:
	case recordVersionN, recordVersionX:
		if n, err = r.rows(v); err != nil {
			return rows, err
		}
	default:
		return rows, fmt.Errorf("%w: row version %d", errRecord, v)
	}
	for uint64(cap(rows)) < n {
		rows = append(rows[:cap(rows)], Row{})
	}
	rows = rows[:n]
	for i := range rows {
		row := &rows[i]
		row.Start, row.End = 0, 0
		if row.Vector, row.Tokens, err = decodeRow(&r, row.Vector[:0], row.Tokens[:0]); err != nil {
			return rows, err
		}
		row.Codes = row.Codes[:0]
		if v == recordVersionX {
			row.Codes = append(row.Codes, r.bytes()...)
		}
		if len(row.Codes) == 0 {
			row.Codes = nil
		}
	}
	return rows, r.finish()
}

// decodeRow appends vector and tokens of a row to the slices given.
func decodeRow(r *reader, vector []float32, tokens []int32) ([]float32, []int32, error) {
	dim := r.uvarint()
	if dim > uint64(len(r.p))/4 {
		return vector, tokens, fmt.Errorf("%w: vector of %d in %d bytes", errRecord, dim, len(r.p))
	}
	raw := r.p[:dim*4]
	r.p = r.p[dim*4:]
	vector = slices.Grow(vector, int(dim))
	for ; len(raw) > 0; raw = raw[4:] {
		vector = append(vector, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	n := r.uvarint()
	if n > uint64(len(r.p)) {
		return vector, tokens, fmt.Errorf("%w: %d tokens in %d bytes", errRecord, n, len(r.p))
	}
	tokens = slices.Grow(tokens, int(n))
	var last int64
	for ; n > 0; n-- {
		last += r.varint()
		if int64(int32(last)) != last {
			return vector, tokens, fmt.Errorf("%w: number out of range", errRecord)
		}
		tokens = append(tokens, int32(last))
	}
	return vector, tokens, r.err
}

// version is what an id has since batch seq: ordinal ord (0 means deleted),
// whose records take bytes; truncated says that tokens of it were cut off.
type version struct {
	ord, seq, bytes uint64
	truncated       bool
}

// truncatedBit is in the number of bytes of a version of which tokens were cut
// off. In databases of format 1 it is never set.
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

// current is the record of an id: its version and the one before. The latter
// answers while the batch of the former is not committed, and restores the
// record if it never is.
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

// commit is the record of one batch: how many log entries it has, the first
// free ordinal and the number of live documents after it, the bytes of the
// versions that it ended, and the digest of all commits up to it with the nonce
// that went into it. Those of format 1 have neither.
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

// state is what the last durable write left. gen counts durable writes of any
// kind; base is the sequence up to which Compact has trimmed; manifestGen is
// gen at the last change of the manifest; liveBytes and deadBytes are the sizes
// of the records of live versions and of dead ones that Compact has not passed.
//
// truncated counts live documents of which tokens were cut off. trimmed is the
// sequence up to which Compact has removed what it is to remove. Everything
// below ordinal safeOrd and up to sequence safeSeq lay in Badger's tables when
// the database was last opened after a clean end; newLive of the live versions
// are later ones, which may lie in its logs. history is the digest at seq,
// baseHistory that at base. terms counts the vocabulary's; the record of a database
// without one does not have it.
type state struct {
	gen, seq, nextOrd, live, base, manifestGen, liveBytes, deadBytes uint64

	truncated, trimmed, safeOrd, safeSeq, newLive uint64
	history, baseHistory                          History
	terms                                         uint64
}

func (s state) encode() []byte {
	b := appendNumbers(nil, s.gen, s.seq, s.nextOrd, s.live, s.base, s.manifestGen, s.liveBytes, s.deadBytes,
		s.truncated, s.trimmed, s.safeOrd, s.safeSeq, s.newLive)
	b = append(append(b, s.history[:]...), s.baseHistory[:]...)
	if s.terms > 0 {
		b = appendNumbers(b, s.terms)
	}
	return b
}

func decodeState(p []byte) (s state, err error) {
	const old, now = 8 * 8, 13*8 + 32
	if len(p) == now+8 {
		if err := decodeNumbers(p[now:], &s.terms); err != nil {
			return s, err
		}
		if s.terms == 0 || s.terms > maxTerms {
			return s, fmt.Errorf("%w: %d terms", errRecord, s.terms)
		}
		p = p[:now]
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
	dst = append(dst, byte(c.Op))
	dst = binary.AppendUvarint(dst, c.New)
	dst = binary.AppendUvarint(dst, c.Old)
	return append(dst, c.ID...)
}

func decodeChange(p []byte) (Change, error) {
	r := reader{p: p}
	c := Change{Op: Op(r.byte()), New: r.uvarint(), Old: r.uvarint()}
	if r.err != nil {
		return c, r.err
	}
	c.ID = string(r.p)
	ok := len(c.ID) > 0 && len(c.ID) <= MaxIDBytes
	switch c.Op {
	case Insert:
		ok = ok && c.New != 0 && c.Old == 0
	case Update:
		ok = ok && c.New != 0 && c.Old != 0
	case Delete:
		ok = ok && c.New == 0 && c.Old != 0
	default:
		ok = false
	}
	if !ok {
		return c, fmt.Errorf("%w: impossible log entry", errRecord)
	}
	return c, nil
}

func appendNumbers(dst []byte, ns ...uint64) []byte {
	for _, n := range ns {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func decodeNumbers(p []byte, ns ...*uint64) error {
	if len(p) != 8*len(ns) {
		return fmt.Errorf("%w: %d bytes, want %d", errRecord, len(p), 8*len(ns))
	}
	for i, n := range ns {
		*n = binary.LittleEndian.Uint64(p[8*i:])
	}
	return nil
}

// reader decodes from the front of p and remembers the first error, after
// which it yields zeros.
type reader struct {
	p   []byte
	err error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: ends early", errRecord)
	}
	r.p = nil
}

func (r *reader) byte() byte {
	if len(r.p) == 0 {
		r.fail()
		return 0
	}
	b := r.p[0]
	r.p = r.p[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	n, k := binary.Uvarint(r.p)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.p = r.p[k:]
	return n
}

func (r *reader) varint() int64 {
	n, k := binary.Varint(r.p)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.p = r.p[k:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.p)) {
		r.fail()
		return nil
	}
	b := r.p[:n]
	r.p = r.p[n:]
	return b
}

// rows reads how many rows a record of a version has. Of several, each takes two
// bytes or more.
func (r *reader) rows(version byte) (uint64, error) {
	n := r.uvarint()
	if n < 1 || n == 1 && version == recordVersionN || n > MaxRows || n > 1 && n > uint64(len(r.p))/2 {
		return 0, fmt.Errorf("%w: %d rows in %d bytes", errRecord, n, len(r.p))
	}
	return n, nil
}

func (r *reader) finish() error {
	if r.err == nil && len(r.p) > 0 {
		r.err = fmt.Errorf("%w: %d bytes too many", errRecord, len(r.p))
	}
	return r.err
}
