package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// The content of the records of a document: its texts and its rows.

// The first byte of documents and rows: one row, several rows, or any number with a media
// type (documents) or codes (rows); or a document with a media type and data.
const (
	recordVersion  = 1
	recordVersionN = 2
	recordVersionX = 3
	recordVersionD = 4
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

// encodeRecords returns the records of the texts and of the rows of d.
func encodeRecords(ctx context.Context, d *Document, short bool) (text, rows []byte, err error) {
	text = encodeDocument(nil, d)
	if short {
		text = shortDocument(text)
	}
	size := len(d.Rows) * (4*len(d.Rows[0].Vector) + 2*len(d.Rows[0].Tokens) + len(d.Rows[0].Codes) + len(d.Rows[0].Impacts) + 16)
	rows, err = encodeRows(ctx, make([]byte, 0, size), d.Rows, short)
	return text, rows, err
}

// encodeDocument appends the texts of d: version, truncated, id, title, text, metadata,
// the last four each with its length before it. In version 3 the media type follows in
// the same way, and the number of rows. For several rows come their number, and for each
// the distance of its start from the previous one and its length. In version 4 the data
// follow everything of version 3, with their length.
func encodeDocument(dst []byte, d *Document) []byte {
	v := versionFor(len(d.Rows), d.Media != "")
	if len(d.Data) > 0 {
		v = recordVersionD
	}
	dst = append(dst, v)
	dst = binary.AppendVarint(dst, int64(d.Truncated))
	for _, s := range []string{d.ID, d.Title, d.Text} {
		dst = appendBytes(dst, s)
	}
	dst = appendBytes(dst, d.Metadata)
	if d.Media != "" {
		dst = appendBytes(dst, d.Media)
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
	if v == recordVersionD {
		dst = appendBytes(dst, d.Data)
	}
	return dst
}

// decodeDocument fills the text side of d. It copies what it keeps.
func decodeDocument(p []byte, d *Document) error {
	p, err := longDocument(p)
	if err != nil {
		return err
	}
	r := reader{p: p}
	v := r.byte()
	if v < recordVersion || v > recordVersionD {
		return fmt.Errorf("%w: document version %d", errRecord, v)
	}
	truncated := r.varint()
	d.ID, d.Title, d.Text = string(r.bytes()), string(r.bytes()), string(r.bytes())
	d.Metadata = nil
	if m := r.bytes(); len(m) > 0 {
		d.Metadata = append([]byte(nil), m...)
	}
	d.Truncated = int32(truncated)
	d.Media, d.Data = "", nil
	rows := uint64(1)
	if v >= recordVersionX {
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
	if v == recordVersionD {
		d.Data = append([]byte(nil), r.bytes()...)
	}
	if v >= recordVersionX && r.err == nil && (d.Media == "" || v == recordVersionD && len(d.Data) == 0) {
		return fmt.Errorf("%w: no media type, or no data", errRecord)
	}
	if err := r.finish(); err != nil {
		return err
	}
	if int64(d.Truncated) != truncated {
		return fmt.Errorf("%w: number out of range", errRecord)
	}
	return nil
}

// decodeSpans sets the byte range of each of several rows.
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

// encodeRows appends the vectors and the token ids: version, for several rows their
// number, and each as dimension, float32 little-endian, count, zigzag differences of
// consecutive ids. In version 3 the number is always present, and each row is followed by
// the length of its codes and the codes. Version 5, of short records, is version 3 with other vectors: before the
// components an exponent, int8, and each component an int16; or the exponent -128 and float32. Version 6 is version 5
// with the impacts of each row after its codes.
func encodeRows(ctx context.Context, dst []byte, rows []Row, short bool) ([]byte, error) {
	codes := false
	for _, r := range rows {
		codes = codes || len(r.Codes) > 0
	}
	v := versionFor(len(rows), codes)
	if short {
		v = recordShort
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return len(r.Impacts) > 0 }) {
		v, short = recordImpacts, true
	}
	dst = append(dst, v)
	if v > recordVersion {
		dst = binary.AppendUvarint(dst, uint64(len(rows)))
	}
	for i, r := range rows {
		if i%64 == 63 {
			if err := ctx.Err(); err != nil {
				return dst, err
			}
		}
		dst = encodeRow(dst, r.Vector, r.Tokens, short)
		if v >= recordVersionX {
			dst = appendBytes(dst, r.Codes)
		}
		if v == recordImpacts {
			dst = appendBytes(dst, r.Impacts)
		}
	}
	return dst, nil
}

func encodeRow(dst []byte, vector []float32, tokens []int32, short bool) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(vector)))
	if short && len(vector) > 0 {
		dst = appendVector(dst, vector)
	} else {
		for _, x := range vector {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(tokens)))
	var last int64
	for _, t := range tokens {
		dst = binary.AppendVarint(dst, int64(t)-last)
		last = int64(t)
	}
	return dst
}

// decodeRows reads the rows of one document into the given slice, whose memory for
// vectors, tokens and codes is reused. Their spans come from the document. Errors: errRecord, that of ctx.
func decodeRows(ctx context.Context, p []byte, rows []Row) ([]Row, error) {
	r := reader{p: p}
	n := uint64(1)
	var err error
	v := r.byte()
	switch v {
	case recordVersion:
	case recordVersionN, recordVersionX, recordShort, recordImpacts:
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
		if i%64 == 63 {
			if err := ctx.Err(); err != nil {
				return rows, err
			}
		}
		row := &rows[i]
		row.Start, row.End = 0, 0
		if row.Vector, row.Tokens, err = decodeRow(&r, v, row.Vector[:0], row.Tokens[:0]); err != nil {
			return rows, err
		}
		row.Codes = row.Codes[:0]
		if v >= recordVersionX {
			row.Codes = append(row.Codes, r.bytes()...)
		}
		if len(row.Codes) == 0 {
			row.Codes = nil
		}
		if row.Impacts = row.Impacts[:0]; v == recordImpacts {
			row.Impacts = append(row.Impacts, r.bytes()...)
		}
		if len(row.Impacts) == 0 {
			row.Impacts = nil
		}
	}
	return rows, r.finish()
}

// decodeRow appends vector and tokens of a row to the slices given.
func decodeRow(r *reader, v byte, vector []float32, tokens []int32) ([]float32, []int32, error) {
	if e, raw := r.vector(v); v >= recordShort {
		vector = appendShort(vector, e, raw)
	} else {
		vector = appendFloats(vector, raw)
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

// join combines the chunks of a document with the rows read for them.
func (d *Document) join(rows []Row) error {
	if len(rows) != len(d.Rows) {
		return fmt.Errorf("%w: %d chunks and %d rows", errRecord, len(d.Rows), len(rows))
	}
	for i, r := range rows {
		d.Rows[i].Vector, d.Rows[i].Tokens, d.Rows[i].Codes, d.Rows[i].Impacts = r.Vector, r.Tokens, r.Codes, r.Impacts
	}
	return nil
}
