package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/engine/internal/tokens"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Damage in a mapped snapshot is found when it is first read. The call that meets it gets
// an error, and the maintainer rebuilds the part from the store.

// damages returns the parts that an error names.
func damages(err error) (p parts) {
	if errors.Is(err, fault.ErrInvalid) { // a file that the caller brought
		return 0
	}
	for sentinel, q := range map[error]parts{
		index.ErrCorrupt: vectors, inverted.ErrCorrupt: words | impacts, columns.ErrCorrupt: metadata, modulate.ErrCorrupt: sums | bridges, tokens.ErrCorrupt: codes,
	} {
		if errors.Is(err, sentinel) {
			p |= q
		}
	}
	if p == 0 && errors.Is(err, snapshot.ErrDamaged) { // a fault under a mapping
		p = everything
	}
	return p
}

// Repair turns the error of a call that met damage in derived state into an ErrCorrupt,
// and starts the repair of the part. It reports whether there was such damage.
func (d *DB) Repair(err *error) bool {
	if *err == nil || errors.Is(*err, store.ErrCorrupt) {
		return false
	}
	p := damages(*err)
	if (p.has(sums|bridges) || errors.Is(*err, modulate.ErrPassage)) && d.lost.Swap(false) {
		p |= vectors // that these read
	}
	if p == 0 {
		return false
	}
	*err = fmt.Errorf("%w: %w; it is being made anew from the stored documents, try again", store.ErrCorrupt, *err)
	d.damaged.Or(uint32(p))
	d.warn("derived state is damaged and made anew from the store", "reason", *err)
	d.wake()
	return true
}

// Damaged reports whether an error comes from damage in derived state.
func Damaged(err error) bool { return damages(err) != 0 }

// repair rebuilds damaged parts. Commits wait for it, searches do not.
func (d *DB) repair(ctx context.Context, _ *State) (bool, error) {
	p := parts(d.damaged.Swap(0))
	if p == 0 {
		return false, nil
	}
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	defer d.turn.unlock()
	if p.has(sums|bridges) && !p.has(vectors) {
		// They read vectors, and say so badly when one of these cannot be read.
		if guarded(func() error { return d.now.Vectors.Verify(ctx) }) != nil {
			if ctx.Err() != nil {
				d.damaged.Or(uint32(p))
				return false, ctx.Err()
			}
			p |= vectors
		}
	}
	cur, old := *d.now, d.now.Vectors
	if p.has(bridges) { // built anew where they are wanted
		cur.Local, cur.LocalSeq, cur.Fresh = nil, 0, nil
	}
	if p.has(vectors) {
		d.before.Store(old) // the sums that are made anew read the new ones
	}
	next, err := d.rebuild(ctx, &cur, p&everything, d.maintainer.report)
	if err != nil {
		d.vectors.Store(old)
		d.before.CompareAndSwap(old, nil)
		d.damaged.Or(uint32(p))
		return false, err
	}
	if p.has(bridges) {
		d.finish(&d.localBacklog)
	}
	d.publish(next, nil)
	d.unsaved = true // the file is to be replaced
	d.maintainer.retry()
	return true, nil
}

func guarded(f func() error) (err error) {
	defer snapshot.Guard(&err)()
	return f()
}

// verifier is a part that can check itself completely.
type verifier interface {
	Verify(ctx context.Context) error
}

// Proof is the result of Verify for the derived state.
type Proof struct {
	Problems    []string
	Unreachable int // vectors that a search can never reach
	Vectors     int // held to the stored ones, with their codes
	// Of the token sums, and of the cells of local bridges, a sample is recounted.
	SumsRecounted, Sums   int
	CellsRecounted, Cells int
}

// remedy ends the description of a damaged part.
const remedy = "it is made anew when its file in " + folder + " is removed"

// Verify checks every part of a state against its checksums and for consistency, and then
// against the records: each vector and its codes, the postings and lengths of each text,
// the values of each document's metadata, the tokens of each chunk, and a recomputed
// sample of sums, factor and cells. Errors: those of the store, that of ctx within some
// milliseconds.
func (d *DB) Verify(ctx context.Context, s *State, progress func(stage string, done, total int)) (proof Proof, err error) {
	if n := s.View.Len(); s.Live.Len() != n || s.Columns.Len() != n {
		proof.Problems = append(proof.Problems, fmt.Sprintf("derived state holds %d documents and metadata of %d, where %d are stored", s.Live.Len(), s.Columns.Len(), n))
	}
	for _, p := range []struct {
		name string
		part any
	}{{s.Vectors.Kind, s.Vectors.Index}, {fileWords, s.Words}, {fileImpacts, s.Impacts}, {fileColumns, s.Columns}, {fileSums, s.Sums}, {fileLocal, s.Local}} {
		v, ok := p.part.(verifier)
		if !ok || p.name == fileLocal && s.Local == nil {
			continue
		}
		err := guarded(func() error { return v.Verify(ctx) })
		if ctx.Err() != nil {
			return proof, ctx.Err()
		}
		if err != nil {
			proof.Problems = append(proof.Problems, fmt.Sprintf("%s does not fit together: %v; %s", p.name, err, remedy))
		}
	}
	proof.SumsRecounted, proof.Sums = s.Sums.Sampled()
	err = guarded(func() (err error) {
		proof.Unreachable, err = s.Vectors.Unreachable(ctx)
		return err
	})
	if err != nil && (ctx.Err() != nil || !Damaged(err)) {
		return proof, err
	}
	return proof, d.prove(ctx, s, &proof, progress)
}
