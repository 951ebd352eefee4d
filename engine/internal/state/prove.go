package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// prover compares a state's derived parts with the records of the store, and trusts
// nothing in the parts.
type prover struct {
	d       *DB
	s       *State
	proof   *Proof
	chunks  int
	weighed int                  // chunks with impacts
	wrong   map[string]*mismatch // by part
	unread  error                // the first codes of token states that no search can read
}

// mismatch counts the errors of a part.
type mismatch struct {
	n     int
	first string
}

func (p *prover) miss(part, format string, args ...any) {
	m := p.wrong[part]
	if m == nil {
		m = &mismatch{first: fmt.Sprintf(format, args...)}
		p.wrong[part] = m
	}
	m.n++
}

// prove adds all disagreements with the records to the proof. Errors: those of the store,
// that of ctx.
func (d *DB) prove(ctx context.Context, s *State, proof *Proof, progress func(stage string, done, total int)) error {
	p := &prover{d: d, s: s, proof: proof, wrong: map[string]*mismatch{}}
	err := p.attempt(ctx, func() error { return p.rows(ctx, progress) })
	if err == nil {
		err = p.attempt(ctx, func() error { return p.texts(ctx, progress) })
	}
	if err == nil && s.Local != nil {
		err = p.attempt(ctx, func() error { return p.cells(ctx) })
	}
	if err != nil {
		return err
	}
	type held struct {
		part      string
		n, stored int
	}
	parts := []held{{s.Vectors.Kind, s.seen(), p.proof.Vectors}, {fileWords, s.Words.Len(), p.chunks}, {fileImpacts, s.Impacts.Len(), p.weighed}}
	if s.Metric.Directions() {
		parts = append(parts, held{fileSums, s.Sums.Len(), p.proof.Vectors})
	}
	for _, h := range parts {
		if h.n != h.stored && p.chunks >= 0 {
			p.miss(h.part, "it holds %d chunks of %d that are stored", h.n, h.stored)
		}
	}
	if p.unread != nil {
		proof.Problems = append(proof.Problems, p.unread.Error())
	}
	for _, part := range slices.Sorted(maps.Keys(p.wrong)) {
		m := p.wrong[part]
		more := ""
		if m.n > 1 {
			more = fmt.Sprintf(", and %d more mistakes", m.n-1)
		}
		proof.Problems = append(proof.Problems, fmt.Sprintf("%s is not what the documents make: %s%s; %s", part, m.first, more, remedy))
	}
	return nil
}

// attempt runs a part of the proof. Damage in derived state is a problem; Verify has
// already reported it if it named the part.
func (p *prover) attempt(ctx context.Context, do func() error) error {
	err := guarded(do)
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if !Damaged(err) || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	p.chunks = -1 // not all were counted
	if len(p.proof.Problems) == 0 {
		p.proof.Problems = append(p.proof.Problems, fmt.Sprintf("%v; %s", err, remedy))
	}
	return nil
}

// seen is the number of vectors that searches see.
func (s *State) seen() (n int) {
	for id := range s.Vectors.IDs {
		if s.Sees(id) {
			n++
		}
	}
	return n
}

// rows compares vectors, live versions, postings of tokens and the passages of local
// bridges with the stored rows.
func (p *prover) rows(ctx context.Context, progress func(stage string, done, total int)) error {
	s := p.s
	lists, err := s.Sums.Lists(ctx)
	if err != nil {
		return err
	}
	fresh := map[uint64]bool{}
	for _, id := range s.Fresh {
		fresh[id] = true
	}
	done, chunks, encoded := 0, 0, 0
	var terms []text.Term
	err = s.View.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
		if done++; done%progressStep == 0 {
			progress("vectors", done, s.View.Len())
		}
		if !s.Live.Has(ord) {
			p.miss(fileLive, "version %d is stored and not live", ord)
		}
		for i, row := range rows {
			if chunks++; chunks%proveLook == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			id := chunk.ID(ord, i)
			if len(row.Vector) == 0 { // it is made later
				if s.Vectors.Has(id) {
					p.miss(s.Vectors.Kind, "chunk %d of version %d has a vector, and none is stored", i, ord)
				}
				continue
			}
			encoded++
			if len(row.Impacts) > 0 {
				p.weighed++
				if terms, err = inverted.ImpactTerms(terms[:0], row.Impacts); err != nil {
					return fmt.Errorf("%w: chunk %d of version %d: %w", store.ErrCorrupt, i, ord, err)
				}
				if ok, err := s.Impacts.Holds(id, terms); err != nil {
					return err
				} else if !ok {
					p.miss(fileImpacts, "chunk %d of version %d has other impacts", i, ord)
				}
			}
			if !s.Metric.Holds(s.Vector(id), row.Vector) {
				p.miss(s.Vectors.Kind, "the vector of chunk %d of version %d is not the stored one", i, ord)
			}
			if s.Metric.Directions() && !lists(id, row.Tokens) {
				p.miss(fileSums, "chunk %d of version %d has other tokens", i, ord)
			}
			if n := s.Tokens.Bytes(id); n != len(row.Codes) {
				p.miss(fileTokens, "chunk %d of version %d has %d bytes of token states, where %d are stored", i, ord, n, len(row.Codes))
			}
			if check := p.d.o.CheckCodes; check != nil && p.unread == nil {
				if err := check(row.Codes); err != nil {
					p.unread = fmt.Errorf("the stored token states of chunk %d of version %d cannot be read: %w", i, ord, err)
				}
			}
			if s.Local != nil && !s.Local.Has(id) && !fresh[id] {
				p.miss(fileLocal, "chunk %d of version %d is missing", i, ord)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.chunks, p.proof.Vectors = chunks, encoded
	return nil
}

const (
	// progressStep is the number of documents between two reports, proveLook the number
	// of chunks between two looks at the context, a few milliseconds apart.
	progressStep = 256
	proveLook    = 256
)

// texts compares words and columns with texts and metadata.
func (p *prover) texts(ctx context.Context, progress func(stage string, done, total int)) error {
	s := p.s
	checker := s.Columns.Checker()
	var terms []text.Term
	done := 0
	return s.View.ScanDocuments(ctx, 0, func(ord uint64, doc *store.Document) error {
		if done++; done%progressStep == 0 {
			progress("texts", done, s.View.Len())
		}
		for i, v := range VersionsOf(ord, doc) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			terms = p.d.words(terms[:0], v)
			ok, err := s.Words.Holds(v.ID, terms)
			if err != nil {
				return err
			}
			if !ok {
				p.miss(fileWords, "chunk %d of document %q has other words", i, doc.ID)
			}
			if i > 0 {
				continue
			}
			if ok, err = checker.Holds(ord, v.Metadata); err != nil && !errors.Is(err, columns.ErrCorrupt) {
				return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
			} else if err != nil {
				return err
			}
			if !ok {
				p.miss(fileColumns, "document %q has other metadata", doc.ID)
			}
		}
		return nil
	})
}

// cells recomputes a sample of the cells of local bridges from the stored tokens.
func (p *prover) cells(ctx context.Context) error {
	s := p.s
	p.proof.Cells = s.Local.Cells()
	n, err := s.Local.Recount(ctx, func(id uint64) ([]int32, bool, error) {
		if !s.Sees(id) {
			return nil, false, nil
		}
		rows, err := s.View.Rows(ctx, chunk.Ord(id))
		if err != nil {
			return nil, false, err
		}
		i := chunk.Number(id)
		if i >= len(rows) {
			return nil, false, nil
		}
		return rows[i].Tokens, true, nil
	})
	p.proof.CellsRecounted = n
	if err != nil && Damaged(err) && !errors.Is(err, store.ErrCorrupt) {
		p.miss(fileLocal, "%v", err)
		return nil
	}
	return err
}
