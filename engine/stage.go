package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/engine/internal/terms"
	"github.com/lexsem/lexsem/store"
)

// stage writes the records as one commit.
func (e *Engine) stage(ctx context.Context, records []record, replace bool) (AddResult, error) {
	res, err := e.stageAs(ctx, records, replace, !replace || allNew(records))
	if errors.Is(err, errStored) {
		return e.stageAs(ctx, records, replace, false)
	}
	return res, err
}

// errStored: a document that had to be new was stored by another call meanwhile.
var errStored = errors.New("stored meanwhile")

// allNew reports whether no id is stored or occurs twice.
func allNew(records []record) bool {
	seen := make(map[string]struct{}, len(records))
	for i := range records {
		if records[i].stored {
			return false
		}
		seen[records[i].ID] = struct{}{}
	}
	return len(seen) == len(records)
}

// stageAs is stage; with fresh, documents that are not new are an error.
func (e *Engine) stageAs(ctx context.Context, records []record, replace, fresh bool) (AddResult, error) {
	var own *terms.Addition
	if e.terms != nil {
		var err error
		if own, err = e.terms.Add(ctx); err != nil {
			return AddResult{}, fmt.Errorf("reading the vocabulary: %w", err)
		}
		defer own.End()
	}
	b, err := e.st.Begin(ctx)
	if err != nil {
		return AddResult{}, err
	}
	defer discard(b)
	if err := e.storeBases(ctx, b, records); err != nil {
		return AddResult{}, err
	}
	var res AddResult
	put := func(give func(state.Change) error) error {
		return e.putAll(ctx, b, own, records, &res, func(c state.Change) error {
			switch {
			case c.Old == 0 || !fresh:
				return give(c)
			case replace:
				return errStored
			}
			return intake.ErrStored
		})
	}
	if !fresh {
		var changes []state.Change
		if err := put(func(c state.Change) error { changes = append(changes, c); return nil }); err != nil {
			return AddResult{}, err
		}
		if len(changes) == 0 {
			res.Seq, err = b.Commit(ctx)
			return res, err
		}
		res.Seq, err = e.db.Commit(ctx, b, changes)
	} else {
		chunks := 0
		for _, r := range records {
			chunks += len(r.Rows)
		}
		res.Seq, err = e.db.CommitNew(ctx, b, chunks, put)
	}
	if err != nil {
		return AddResult{}, err
	}
	if own != nil {
		own.Keep()
	}
	return res, nil
}

// putAll puts the records into a batch, with their new terms, counts them in res, and
// passes on each change.
func (e *Engine) putAll(ctx context.Context, b *store.Batch, own *terms.Addition, records []record, res *AddResult, give func(state.Change) error) error {
	for i := range records {
		if own != nil && i%numberWindow == 0 {
			if err := e.number(ctx, own, records[i:min(i+numberWindow, len(records))]); err != nil {
				return err
			}
		}
		r := &records[i]
		if r.of != 0 {
			now, err := b.Lookup(ctx, r.ID)
			if err != nil {
				return &DocumentError{Position: i, ID: r.ID, Err: err}
			}
			if now != r.of {
				continue
			}
		}
		if r.same != 0 { // and nobody has changed it meanwhile
			now, err := b.Lookup(ctx, r.ID)
			if err != nil {
				return &DocumentError{Position: i, ID: r.ID, Err: err}
			}
			if now == r.same {
				res.Unchanged++
				continue
			}
		}
		c, err := b.Put(ctx, &r.Document)
		if err == nil {
			err = give(state.Change{Change: c, Now: state.VersionsOf(c.New, &r.Document)})
		}
		if err != nil {
			return &DocumentError{Position: i, ID: r.ID, Err: err}
		}
		if c.Old == 0 {
			res.Added++
		} else {
			res.Replaced++
		}
		if len(r.Rows) > 1 {
			res.Chunked++
			res.Chunks += len(r.Rows)
		}
		if r.Truncated > 0 {
			res.Truncated++
			res.TruncatedTokens += int(r.Truncated)
		}
		if i%1000 == 999 {
			e.report(ctx, Progress{Stage: "store", Done: i + 1, Total: len(records)})
		}
	}
	if own == nil || res.Added+res.Replaced == 0 {
		return nil
	}
	first, fresh := own.Fresh()
	return b.AddTerms(ctx, first, fresh)
}

// numberWindow is the number of documents whose terms are in memory at once.
const numberWindow = 1024

// number sets the numbers of the terms in the rows of documents.
func (e *Engine) number(ctx context.Context, own *terms.Addition, records []record) error {
	distinct := make([][][]string, len(records))
	if err := e.db.Parallel(ctx, len(records), func(i int) {
		if records[i].whole {
			return
		}
		for _, row := range records[i].Rows {
			distinct[i] = append(distinct[i], e.terms.Distinct(state.ChunkText(&records[i].Document, row)))
		}
	}); err != nil {
		return err
	}
	for i, r := range records {
		for j, terms := range distinct[i] {
			r.Rows[j].Tokens = own.Numbers(terms)
		}
	}
	return nil
}
