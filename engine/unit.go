package engine

import (
	"cmp"
	"fmt"

	"github.com/lexsem/lexsem/store"
)

// A unit is what the indexes find: a document, or one chunk of a long one. Its
// number has the ordinal of the document's version in the low bits and the
// chunk, from 0, above them; so a document of one piece is known by its ordinal.
const unitBits = 44

func unitOf(ord uint64, chunk int) uint64 { return uint64(chunk)<<unitBits | ord }

// ordOf is the ordinal of the version that a unit belongs to.
func ordOf(unit uint64) uint64 { return unit & (1<<unitBits - 1) }

// chunkOf is the number of a unit among its document's chunks, from 0.
func chunkOf(unit uint64) int { return int(unit >> unitBits) }

// compareUnits orders units by document and chunk.
func compareUnits(a, b uint64) int {
	return cmp.Or(cmp.Compare(ordOf(a), ordOf(b)), cmp.Compare(a, b))
}

// unitsOfRows are the units of version ord as far as its rows tell.
func unitsOfRows(dst []version, ord uint64, rows []store.Row) []version {
	for i, r := range rows {
		dst = append(dst, version{ord: unitOf(ord, i), vector: r.Vector, tokens: r.Tokens})
	}
	return dst
}

// unitsOfText are the units of version ord as far as its text tells.
func unitsOfText(dst []version, ord uint64, d *store.Document) []version {
	for i, r := range d.Rows {
		v := version{ord: unitOf(ord, i), text: chunkText(d, r)}
		if i == 0 {
			v.metadata = d.Metadata
		}
		dst = append(dst, v)
	}
	return dst
}

// unitsOf are the units of version ord of a document that was read whole.
func unitsOf(ord uint64, d *store.Document) []version {
	vs := unitsOfText(nil, ord, d)
	for i, r := range d.Rows {
		vs[i].vector, vs[i].tokens = r.Vector, r.Tokens
	}
	return vs
}

// chunkRow is the part of a document's text that a unit stands for.
func chunkRow(d *store.Document, unit uint64) (store.Row, error) {
	if chunkOf(unit) >= len(d.Rows) {
		return store.Row{}, fmt.Errorf("%w: version %d has no chunk %d", store.ErrCorrupt, ordOf(unit), chunkOf(unit))
	}
	return d.Rows[chunkOf(unit)], nil
}

// chunkText is what the words see of a chunk: the title and its part of the text.
// The encoder sees the same, but for titles that leave the text no room.
func chunkText(d *store.Document, r store.Row) string {
	return passageText(d.Title, d.Text[r.Start:r.End])
}
