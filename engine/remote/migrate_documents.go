package remote

import (
	"context"
	"fmt"
	"iter"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// migrated is a document in migration, with its position in the source.
type migrated struct {
	passages []Passage
	ordinal  uint64 // of an engine
}

func (d migrated) id() string { return d.passages[0].ID }

// stored yields the documents of one state of a database whose ordinals exceed after.
func stored(ctx context.Context, e *engine.Engine, a *text.Analyzer, after uint64) iter.Seq2[migrated, error] {
	return func(yield func(migrated, error) bool) {
		for r, err := range e.Records(ctx, after) {
			var d migrated
			if err == nil {
				d, err = passagesOf(r, a)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// passagesOf converts a stored document to passages.
func passagesOf(s engine.Record, a *text.Analyzer) (migrated, error) {
	d := migrated{ordinal: s.Ordinal}
	facts, err := filter.Facts(s.Metadata)
	if err != nil {
		return d, fmt.Errorf("%w: metadata of %q: %v", engine.ErrCorrupt, s.ID, err)
	}
	lines := chunk.Lines{Text: s.Text}
	for i, row := range s.Rows {
		p := Passage{PassageID: PassageID{s.ID, i}, Chunks: len(s.Rows), Title: s.Title, Text: s.Text[row.Start:row.End], Start: row.Start,
			Line: lines.At(row.Start), Metadata: string(s.Metadata), Facts: facts, Vector: row.Vector, Tokens: row.Tokens}
		p.analyse(a)
		d.passages = append(d.passages, p)
	}
	d.passages[0].Truncated = int(s.Truncated)
	if len(s.Rows) > 1 {
		d.passages[0].Whole = s.Text
	}
	return d, nil
}

// scanned yields the documents of a Backend after an id.
func scanned(ctx context.Context, b Backend, after string) iter.Seq2[migrated, error] {
	return func(yield func(migrated, error) bool) {
		var d migrated
		for p, err := range b.Scan(ctx, engine.Filter{}, ScanOptions{After: after}) {
			if err != nil {
				yield(migrated{}, err)
				return
			}
			if len(d.passages) > 0 && d.id() != p.ID {
				if !yield(d, nil) {
					return
				}
				d = migrated{}
			}
			d.passages = append(d.passages, p)
		}
		if len(d.passages) > 0 {
			yield(d, nil)
		}
	}
}

// recordsOf converts documents of a Backend to records with dim dimensions.
func recordsOf(docs []migrated, dim int) ([]store.Document, error) {
	records := make([]store.Document, len(docs))
	for i, d := range docs {
		first := d.passages[0]
		if len(d.passages) != first.Chunks || first.Chunk != 0 {
			return nil, fmt.Errorf("%w: document %q has %d of %d chunks; write it anew there", engine.ErrCorrupt, first.ID, len(d.passages), first.Chunks)
		}
		r := store.Document{ID: first.ID, Title: first.Title, Text: first.Text, Truncated: int32(first.Truncated)}
		if first.Chunks > 1 {
			r.Text = first.Whole
		}
		if first.Metadata != "" {
			r.Metadata = []byte(first.Metadata)
		}
		for _, p := range d.passages {
			if p.Start < 0 || p.Start+len(p.Text) > len(r.Text) || len(p.Vector) != dim {
				return nil, fmt.Errorf("%w: document %q, chunk %d: bytes %d to %d of a text of %d, a vector of length %d", engine.ErrCorrupt, p.ID, p.Chunk, p.Start, p.Start+len(p.Text), len(r.Text), len(p.Vector))
			}
			r.Rows = append(r.Rows, store.Row{Start: p.Start, End: p.Start + len(p.Text), Vector: p.Vector, Tokens: p.Tokens})
		}
		records[i] = r
	}
	return records, nil
}
