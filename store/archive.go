package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"time"

	"github.com/lexsem/lexsem/internal/limit"
)

// A backup is a chain of parts: the first has a whole state, and each further one the additions
// and deletions up to a later state. A part is a sequence of frames between a header and an
// end. The end has a digest of the part; the header has that of the previous part. format.md
// describes the bytes.
const (
	archiveMagic   = "LEXSEMBK"
	archiveVersion = 1
	frameMax       = 1 << 20                    // bytes of a payload
	frameHead      = 1 + 4                      // kind, length
	endPayload     = 3*8 + sha256.Size          // documents in the part, live ones, length so far, digest
	endSize        = frameHead + endPayload + 4 // of the last frame
)

// Kinds of frames, in their order in a part.
const (
	frameHeader    = 'H' // JSON of partHeader
	frameSurvivors = 'S' // runs of ordinals of the parts before that are still live
	frameBridge    = 'B' // name of a file of a fitted bridge
	frameBytes     = 'b' // more of that file
	frameTerms     = 'T' // terms of the vocabulary that no part before has
	frameBasis     = 'C' // length and beginning of a basis of codes that no part before has
	frameBasisMore = 'c' // more of that basis
	frameDocument  = 'D' // ordinal, lengths of its two records, and their beginning
	frameMore      = 'd' // more of the records
	frameEnd       = 'E'
)

// maxOrdinal is the highest accepted ordinal, as in package columns.
const maxOrdinal = 1 << 38

// maxSeq bounds sequence numbers, far below an overflow.
const maxSeq = 1 << 56

// place is a state in the history of a database: the sequence number of its last commit, the
// digest there, the first free ordinal, the number of terms in the vocabulary, and the number
// of bases of codes.
type place struct {
	Seq     uint64  `json:"seq"`
	History History `json:"history"`
	Next    uint64  `json:"next"`
	Terms   uint64  `json:"terms,omitempty"`
	Bases   uint64  `json:"bases,omitempty"`
}

// partHeader begins a part.
type partHeader struct {
	Part     int             `json:"part"` // from 1
	UUID     UUID            `json:"uuid"` // of the database that was backed up
	From     *place          `json:"from,omitempty"`
	To       place           `json:"to"`
	Previous string          `json:"previous,omitempty"` // digest of the part before, in hexadecimal
	Created  time.Time       `json:"created"`
	Manifest json.RawMessage `json:"manifest"`
}

// partEnd is the last frame of a part.
type partEnd struct {
	documents, live uint64 // in the part; in its state
	length          uint64 // of the part before this frame
	digest          [sha256.Size]byte
}

// ErrBackup says that a backup is damaged or that the data is no backup. *backupError wraps it.
var ErrBackup = errors.New("file is a damaged backup or no backup")

// backupError describes what is wrong with a backup. No part of the backup was restored.
type backupError struct {
	Part int // number of the part, from 1
	What string
	Err  error // cause, or nil
}

// Error names the part and the remedy.
func (e *backupError) Error() string {
	s := fmt.Sprintf("part %d of the backup cannot be used: %s", e.Part, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Part > 1 {
		return s + fmt.Sprintf("; the %d before may be whole: restore those alone, or use another backup", e.Part-1)
	}
	return s + "; use another backup"
}

// Unwrap returns ErrBackup and the cause, for errors.Is.
func (e *backupError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrBackup}
	}
	return []error{ErrBackup, e.Err}
}

// partWriter writes one part.
type partWriter struct {
	w         io.Writer
	sum       hash.Hash
	length    uint64
	documents uint64
	buf       []byte
}

func newPartWriter(w io.Writer, h partHeader) (*partWriter, error) {
	p := &partWriter{w: w, sum: sha256.New()}
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(raw) > frameMax {
		return nil, fmt.Errorf("header of %d bytes: %w", len(raw), ErrTooLarge)
	}
	if err := p.write(binary.LittleEndian.AppendUint32([]byte(archiveMagic), archiveVersion)); err != nil {
		return nil, err
	}
	return p, p.frame(frameHeader, raw)
}

func (p *partWriter) write(b []byte) error {
	p.sum.Write(b)
	n, err := p.w.Write(b)
	p.length += uint64(n)
	return err
}

// frame writes kind, length, payload, and a CRC of these.
func (p *partWriter) frame(kind byte, payload []byte) error {
	p.buf = append(p.buf[:0], kind)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(len(payload)))
	p.buf = append(p.buf, payload...)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, crc32.Checksum(p.buf, castagnoli))
	return p.write(p.buf)
}

// document writes the two records of a version.
func (p *partWriter) document(ord uint64, text, rows []byte) error {
	head := appendNumbers(make([]byte, 0, 24+len(text)+len(rows)), ord, uint64(len(text)), uint64(len(rows)))
	all := append(append(head, text...), rows...)
	kind := byte(frameDocument)
	for ; len(all) > 0; kind = frameMore {
		n := min(len(all), frameMax)
		if err := p.frame(kind, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	p.documents++
	return nil
}

// end writes the last frame and returns it.
func (p *partWriter) end(live uint64) (partEnd, error) {
	e := partEnd{documents: p.documents, live: live, length: p.length}
	numbers := appendNumbers(nil, e.documents, e.live, e.length)
	p.sum.Write(numbers)
	e.digest = [sha256.Size]byte(p.sum.Sum(nil))
	return e, p.frame(frameEnd, append(numbers, e.digest[:]...))
}

func decodeEnd(b []byte) (e partEnd, err error) {
	if len(b) != endPayload {
		return e, fmt.Errorf("an end of %d bytes", len(b))
	}
	e.digest = [sha256.Size]byte(b[24:])
	return e, decodeNumbers(b[:24], &e.documents, &e.live, &e.length)
}

// partReader reads the frames of a chain of parts.
type partReader struct {
	r      io.Reader
	sum    hash.Hash
	length uint64
	buf    bytes.Buffer // the last frame without its head
}

// begin reads the magic of a part: io.EOF if nothing follows.
func (p *partReader) begin() error {
	var b [len(archiveMagic) + 4]byte
	if _, err := io.ReadFull(p.r, b[:]); err != nil {
		return err
	}
	if string(b[:len(archiveMagic)]) != archiveMagic {
		return errors.New("it does not begin as a backup does")
	}
	if v := binary.LittleEndian.Uint32(b[len(archiveMagic):]); v != archiveVersion {
		return fmt.Errorf("%w: it is of version %d, this program reads %d; use a newer version of the program", ErrVersion, v, archiveVersion)
	}
	p.sum, p.length = sha256.New(), uint64(len(b))
	p.sum.Write(b[:])
	return nil
}

// reset begins a part that is not read from its start.
func (p *partReader) reset() { p.sum, p.length = sha256.New(), 0 }

// next reads a frame; its payload is valid until the next call. Memory: the longest payload, at
// most frameMax.
func (p *partReader) next() (kind byte, payload []byte, err error) {
	defer func() {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
	}()
	var head [frameHead]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > frameMax {
		return 0, nil, fmt.Errorf("a frame of %d bytes, at most %d are allowed", n, frameMax)
	}
	p.buf.Reset() // which grows with what is there, not with what is claimed
	if _, err := io.CopyN(&p.buf, p.r, int64(n)+4); err != nil {
		return 0, nil, err
	}
	payload, tail := p.buf.Bytes()[:n], p.buf.Bytes()[n:]
	crc := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload)
	if crc != binary.LittleEndian.Uint32(tail) {
		return 0, nil, errors.New("checksum mismatch")
	}
	if head[0] == frameEnd && n == endPayload {
		p.sum.Write(payload[:24])
	} else {
		p.sum.Write(head[:])
		p.sum.Write(p.buf.Bytes())
		p.length += frameHead + uint64(n) + 4
	}
	return head[0], payload, nil
}

// end checks the last frame of a part.
func (p *partReader) end(payload []byte) (e partEnd, err error) {
	if e, err = decodeEnd(payload); err != nil {
		return e, err
	}
	if e.length != p.length || !bytes.Equal(e.digest[:], p.sum.Sum(nil)) {
		return e, errors.New("its digest differs")
	}
	return e, nil
}

// decodeHeader reads the header of a part.
func decodeHeader(payload []byte) (h partHeader, m Manifest, err error) {
	if err := json.Unmarshal(payload, &h); err != nil {
		return h, m, err
	}
	if err := json.Unmarshal(h.Manifest, &m); err != nil {
		return h, m, fmt.Errorf("manifest: %w", err)
	}
	switch {
	case h.To.Seq > maxSeq || h.To.Next < 1 || h.To.Next > maxOrdinal:
		return h, m, fmt.Errorf("impossible state: sequence %d, ordinals below %d", h.To.Seq, h.To.Next)
	case h.To.Terms > maxTerms:
		return h, m, fmt.Errorf("a vocabulary of %d terms, at most %d are possible", h.To.Terms, uint64(maxTerms))
	case h.To.Bases > limit.Bases:
		return h, m, fmt.Errorf("%d bases of codes, at most %d are possible", h.To.Bases, limit.Bases)
	case h.From != nil && (h.From.Seq > h.To.Seq || h.From.Next > h.To.Next || h.From.Terms > h.To.Terms || h.From.Bases > h.To.Bases):
		return h, m, fmt.Errorf("its state is older than its base: sequence %d, base %d", h.To.Seq, h.From.Seq)
	case m.Dim < 0 || m.Dim > limit.Dim:
		return h, m, fmt.Errorf("dimension %d is not within 0 to %d", m.Dim, limit.Dim)
	case m.Major > formatMajor:
		return h, m, fmt.Errorf("%w: records of format %d, this program reads up to %d; use a newer version of the program", ErrVersion, m.Major, formatMajor)
	}
	return h, m, nil
}
