package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// migrated is a document on its way, with where it stands in its source.
type migrated struct {
	passages []Passage
	ordinal  uint64 // of an engine
}

func (d migrated) id() string { return d.passages[0].ID }

// migrated yields the documents of one state that were stored behind an ordinal.
func (e *Engine) migrated(ctx context.Context, after uint64) iter.Seq2[migrated, error] {
	return func(yield func(migrated, error) bool) {
		l, err := e.list(ctx, Filter{})
		if err != nil {
			yield(migrated{}, err)
			return
		}
		defer l.view.Close()
		analyzer, err := newAnalyzer(e.st.Manifest().Language)
		if err != nil {
			yield(migrated{}, err)
			return
		}
		for ord := range l.live {
			if ord <= after {
				continue
			}
			var d migrated
			err := ctx.Err()
			if err == nil {
				var s *store.Document
				if s, err = l.view.Get(ord); err != nil {
					err = missing(err)
				} else {
					d, err = e.passagesOf(ord, s, func(text string) (string, int) {
						terms := analyzer.Terms(nil, text)
						return inverted.Spell(terms), len(terms)
					})
				}
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// passagesOf are those of a stored document.
func (e *Engine) passagesOf(ord uint64, s *store.Document, terms func(string) (string, int)) (migrated, error) {
	d := migrated{ordinal: ord}
	facts, err := filter.Facts(s.Metadata)
	if err != nil {
		return d, fmt.Errorf("%w: metadata of %q: %v", ErrCorrupt, s.ID, err)
	}
	for i, row := range s.Rows {
		p := Passage{PassageID: PassageID{s.ID, i}, Chunks: len(s.Rows), Title: s.Title, Text: s.Text[row.Start:row.End], Start: row.Start,
			Line: linesOf(s.Text, row)[0], Metadata: string(s.Metadata), Facts: facts, Vector: row.Vector}
		if e.terms == nil { // numbers of a vocabulary of this database mean nothing elsewhere
			p.Tokens = row.Tokens
		}
		p.Terms, p.Length = terms(chunk.Passage(s.Title, p.Text))
		d.passages = append(d.passages, p)
	}
	d.passages[0].Truncated = int(s.Truncated)
	if len(s.Rows) > 1 {
		d.passages[0].Whole = s.Text
	}
	return d, nil
}

// scanned yields the documents of a Backend behind an id.
func scanned(ctx context.Context, b Backend, after string) iter.Seq2[migrated, error] {
	return func(yield func(migrated, error) bool) {
		var d migrated
		for p, err := range b.Scan(ctx, Filter{}, ScanOptions{After: after}) {
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

// putMigrated stores documents of a Backend in one commit.
func (e *Engine) putMigrated(ctx context.Context, docs []migrated) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	records := make([]record, len(docs))
	for i, d := range docs {
		first := d.passages[0]
		if len(d.passages) != first.Chunks || first.Chunk != 0 {
			return fmt.Errorf("%w: document %q has %d of %d chunks; write it anew there", ErrCorrupt, first.ID, len(d.passages), first.Chunks)
		}
		r := record{Document: store.Document{ID: first.ID, Title: first.Title, Text: first.Text, Truncated: int32(first.Truncated)}}
		if first.Chunks > 1 {
			r.Text = first.Whole
		}
		if first.Metadata != "" {
			r.Metadata = []byte(first.Metadata)
		}
		for _, p := range d.passages {
			if p.Start < 0 || p.Start+len(p.Text) > len(r.Text) || len(p.Vector) != e.fp.Dim {
				return fmt.Errorf("%w: document %q, chunk %d: bytes %d to %d of a text of %d, a vector of length %d", ErrCorrupt, p.ID, p.Chunk, p.Start, p.Start+len(p.Text), len(r.Text), len(p.Vector))
			}
			row := store.Row{Start: p.Start, End: p.Start + len(p.Text), Vector: p.Vector}
			if e.terms == nil {
				row.Tokens = p.Tokens
			}
			r.Rows = append(r.Rows, row)
		}
		records[i] = r
	}
	_, err = e.stage(ctx, records, true)
	return err
}
