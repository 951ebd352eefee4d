package pgvector

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
)

// split returns the keys and the chunks of ids.
func split(ids []remote.PassageID) (keys []pgtype.UUID, chunks []int32) {
	keys, chunks = make([]pgtype.UUID, len(ids)), make([]int32, len(ids))
	for i, id := range ids {
		keys[i], chunks[i] = keyOf(id.ID), int32(id.Chunk)
	}
	return keys, chunks
}

// named selects the passages p of documents d that are the at-th of those that split made, from the
// values at from on.
func named(from int) string {
	return fmt.Sprintf(`FROM unnest($%d::uuid[], $%d::int[]) WITH ORDINALITY AS a(key, chunk, at)
		JOIN {s}.documents d ON d.key = a.key JOIN {s}.passages p ON p.document = d.n AND p.chunk = a.chunk`, from, from+1)
}

// row is a passage with its position in the request.
type row struct {
	at int
	remote.Passage
}

// columns returns the columns that passage reads. Without vectors the large columns are omitted.
func columns(at string, vectors bool) string {
	c := at + ", d.id, d.title, d.whole, d.metadata, d.exact, d.chunks, p.chunk, p.start, p.line, p.length, p.truncated, p.text, p.terms, p.exact"
	if vectors {
		return c + ", p.tokens, p.vector::real[]"
	}
	return c + ", NULL::int[], NULL::real[]"
}

func passage(r pgx.CollectableRow) (p row, err error) {
	var document, exact []byte
	if err := r.Scan(&p.at, &p.ID, &p.Title, &p.Whole, &p.Metadata, &document, &p.Chunks, &p.Chunk, &p.Start, &p.Line, &p.Length, &p.Truncated, &p.Text, &p.Terms, &exact, &p.Tokens, &p.Vector); err != nil {
		return p, err
	}
	if err := restore(document, &p.ID, &p.Title, &p.Whole, &p.Metadata); err != nil {
		return p, err
	}
	if err := restore(exact, &p.Text, &p.Terms); err != nil {
		return p, err
	}
	if p.Chunk > 0 {
		p.Whole = ""
	}
	if p.Facts, err = filter.Facts([]byte(p.Metadata)); err != nil {
		err = fmt.Errorf("%w: metadata of document %q: %v", engine.ErrCorrupt, p.ID, err)
	}
	return p, err
}

// Fetch implements remote.Backend.
func (b *Backend) Fetch(ctx context.Context, ids []remote.PassageID, vectors bool) ([]*remote.Passage, error) {
	out := make([]*remote.Passage, len(ids))
	if len(ids) == 0 {
		return out, ctx.Err()
	}
	keys, chunks := split(ids)
	rows, err := ask(ctx, b, query{text: "SELECT " + columns("a.at - 1", vectors) + " " + named(1), values: []any{keys, chunks}}, passage)
	for _, r := range rows {
		if !vectors {
			r.Whole = ""
		}
		out[r.at] = &r.Passage
	}
	return out, err
}

// Documents implements remote.Backend.
func (b *Backend) Documents(ctx context.Context, ids []string) ([][]remote.Passage, error) {
	out := make([][]remote.Passage, len(ids))
	if len(ids) == 0 {
		return out, ctx.Err()
	}
	rows, err := ask(ctx, b, query{text: "SELECT " + columns("a.at - 1", true) + ` FROM unnest($1::uuid[]) WITH ORDINALITY AS a(key, at)
		JOIN {s}.documents d ON d.key = a.key JOIN {s}.passages p ON p.document = d.n ORDER BY a.at, p.chunk`, values: []any{keysOf(ids)}}, passage)
	for _, r := range rows {
		out[r.at] = append(out[r.at], r.Passage)
	}
	return out, err
}

// page is how many documents a scan reads at once.
const page = 128

// Scan implements remote.Backend. Each page shows the tables as they are when it is read.
func (b *Backend) Scan(ctx context.Context, f engine.Filter, o remote.ScanOptions) iter.Seq2[remote.Passage, error] {
	return func(yield func(remote.Passage, error) bool) {
		from, above := partOf(o)
		values := []any{from, above, page}
		w, err := condition(f, "d.n", &values)
		if err != nil {
			yield(remote.Passage{}, err)
			return
		}
		than := ">="
		if o.After != "" && keyOf(o.After).Bytes == from.Bytes {
			than = ">"
		}
		for {
			q := query{values: values, text: "SELECT " + columns("0", true) + fmt.Sprintf(` FROM (SELECT * FROM {s}.documents d
				WHERE d.key %s $1 AND d.key <= $2 AND %s ORDER BY d.key LIMIT $3) d JOIN {s}.passages p ON p.document = d.n ORDER BY d.key, p.chunk`, than, w)}
			rows, err := ask(ctx, b, q, passage)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(remote.Passage{}, err)
				return
			}
			for i, r := range rows {
				if i%64 == 0 && ctx.Err() != nil {
					yield(remote.Passage{}, ctx.Err())
					return
				}
				if !yield(r.Passage, nil) {
					return
				}
			}
			if len(rows) == 0 {
				return
			}
			values[0], than = keyOf(rows[len(rows)-1].ID), ">"
		}
	}
}

// partOf returns the first and the last key of a scan; After sets the first.
func partOf(o remote.ScanOptions) (from, to pgtype.UUID) {
	parts := uint64(max(o.Parts, 1))
	from, to = pgtype.UUID{Valid: true}, pgtype.UUID{Valid: true}
	binary.BigEndian.PutUint32(from.Bytes[:], uint32(uint64(o.Part)<<32/parts))
	for i := range to.Bytes {
		to.Bytes[i] = 0xff
	}
	binary.BigEndian.PutUint32(to.Bytes[:], uint32(uint64(o.Part+1)<<32/parts-1))
	if o.After != "" {
		if after := keyOf(o.After); string(after.Bytes[:]) >= string(from.Bytes[:]) {
			from = after
		}
	}
	return from, to
}
