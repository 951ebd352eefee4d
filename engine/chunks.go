package engine

import (
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/store"
)

// chunksOfRows are the chunks of version ord as far as its rows tell.
func chunksOfRows(dst []version, ord uint64, rows []store.Row) []version {
	for i, r := range rows {
		dst = append(dst, version{ord: chunk.ID(ord, i), vector: r.Vector, tokens: r.Tokens})
	}
	return dst
}

// chunksOfText are the chunks of version ord as far as its text tells.
func chunksOfText(dst []version, ord uint64, d *store.Document) []version {
	for i, r := range d.Rows {
		v := version{ord: chunk.ID(ord, i), text: chunkText(d, r)}
		if i == 0 {
			v.metadata = d.Metadata
		}
		dst = append(dst, v)
	}
	return dst
}

// chunksOf are the chunks of version ord of a document that was read whole.
func chunksOf(ord uint64, d *store.Document) []version {
	vs := chunksOfText(nil, ord, d)
	for i, r := range d.Rows {
		vs[i].vector, vs[i].tokens = r.Vector, r.Tokens
	}
	return vs
}

// chunkRow is the part of a document's text that a chunk stands for.
func chunkRow(d *store.Document, id uint64) (store.Row, error) {
	if chunk.Number(id) >= len(d.Rows) {
		return store.Row{}, fmt.Errorf("%w: version %d has no chunk %d", store.ErrCorrupt, chunk.Ord(id), chunk.Number(id))
	}
	return d.Rows[chunk.Number(id)], nil
}

// chunkText is what the words see of a chunk: the title and its part of the text.
// The encoder sees the same, but for titles that leave the text no room.
func chunkText(d *store.Document, r store.Row) string {
	return chunk.Passage(d.Title, d.Text[r.Start:r.End])
}
