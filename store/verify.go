package store

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Report is the result of Verify.
type Report struct {
	Documents  int // live versions
	Dead       int // replaced or deleted versions that Compact has not removed
	Batches    int // commits in the change log
	LogEntries int
	Problems   []error // at most maxProblems
}

const maxProblems = 100

// errProblems ends Verify when there are too many problems to list.
var errProblems = errors.New("too many problems")

// countNew compares the records that may have been in Badger's logs with the state. Open runs it
// after an unclean end, when Badger has replayed the logs: if the middle of a log is damaged, entries
// are lost although later ones exist. Older records are in tables, whose damage is found by
// checksums.
func (p *pin) countNew() error {
	ctx := context.Background()
	for _, prefix := range []byte{prefixRow, prefixDocument} {
		n, _, err := p.countVersions(ctx, prefix, p.st.safeOrd)
		if err != nil {
			return err
		}
		if n != p.st.newLive {
			return p.s.corrupt(fmt.Sprintf("%d of %d new records of kind %c are there", n, p.st.newLive, prefix), nil)
		}
	}
	if err := errors.Join(p.countTerms(ctx), p.readBases(ctx)); err != nil {
		return err
	}
	return p.countChanged(ctx)
}

// countChanged compares the ids of changes that may have been in Badger's logs with the change log. A
// deleted id may have no record: earlier builds removed it when they undid a batch that had added the
// id again.
func (p *pin) countChanged(ctx context.Context) error {
	bare := map[string]bool{} // ids without a record: whether the last change deleted them
	err := p.log(ctx, max(p.st.base, p.st.safeSeq), func(seq uint64, c Change) error {
		key := idKey(c.ID)
		err := p.s.with(p.txn, key, func(b []byte) error {
			cur, err := decodeCurrent(b)
			if err == nil && cur.now.seq < seq {
				err = fmt.Errorf("%w: of sequence %d, it changed at %d", errRecord, cur.now.seq, seq)
			}
			return p.s.decoded(key, err)
		})
		if errors.Is(err, ErrNotFound) {
			bare[c.ID] = c.New == 0
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for id, deleted := range bare {
		if !deleted {
			return p.s.missing(idKey(id))
		}
	}
	return nil
}

// count compares the numbers of rows, documents and ids with the state, and the log with its commit
// records. It returns the number of rows of dead versions.
func (p *pin) count(ctx context.Context) (dead uint64, err error) {
	for _, prefix := range []byte{prefixRow, prefixDocument} {
		n, gone, err := p.countVersions(ctx, prefix, 1)
		if err != nil {
			return dead, err
		}
		if prefix == prefixRow {
			dead = gone
		}
		if n != p.st.live {
			return dead, p.s.corrupt(fmt.Sprintf("%d of %d records of kind %c are there", n, p.st.live, prefix), nil)
		}
	}
	var ids uint64
	err = p.ids(ctx, "", "", func(_ string, c current) error {
		if c.at(p.st.seq) != 0 {
			ids++
		}
		return nil
	})
	if err != nil {
		return dead, err
	}
	if ids != p.st.live {
		return dead, p.s.corrupt(fmt.Sprintf("%d of %d ids are there", ids, p.st.live), nil)
	}
	return dead, p.log(ctx, p.st.base, func(uint64, Change) error { return nil })
}

// countVersions counts first parts from an ordinal on; it reads only their keys.
func (p *pin) countVersions(ctx context.Context, prefix byte, from uint64) (live, dead uint64, err error) {
	err = p.versions(ctx, prefix, from, math.MaxUint64, func(ord uint64, gone bool) error {
		switch {
		case ord >= p.st.nextOrd:
		case gone:
			dead++
		default:
			live++
		}
		return nil
	})
	return live, dead, err
}

// Verify reads everything and checks table checksums, every record of every version, ids against
// versions, the log, and the counts. progress, if not nil, receives the number of documents checked
// and the total. The report lists the problems; the error is the first of them, or that of ctx. Reads
// and writes continue meanwhile.
func (s *Store) Verify(ctx context.Context, progress func(done, total int)) (r Report, err error) {
	err = s.read(func(p *pin) error { return p.verify(ctx, progress, &r) })
	if err == nil && len(r.Problems) > 0 {
		err = r.Problems[0]
	}
	return r, err
}

func (p *pin) verify(ctx context.Context, progress func(done, total int), r *Report) error {
	problem := func(err error) error {
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		if r.Problems = append(r.Problems, err); len(r.Problems) >= maxProblems {
			return errProblems
		}
		return nil
	}
	err := p.verifyAll(ctx, progress, r, problem)
	if errors.Is(err, errProblems) {
		return nil
	}
	return err
}

func (p *pin) verifyAll(ctx context.Context, progress func(done, total int), r *Report, problem func(error) error) error {
	err := p.s.tables.checkAll(func() error { return p.interrupted(ctx) })
	if err == nil {
		err = p.checkNewTables(ctx)
	}
	if err := problem(err); err != nil {
		return err
	}
	dead, err := p.count(ctx)
	r.Dead = int(dead)
	if err := problem(err); err != nil {
		return err
	}
	if err := problem(p.countTerms(ctx)); err != nil {
		return err
	}
	if err := problem(p.readBases(ctx)); err != nil {
		return err
	}
	if err := p.verifyVersions(ctx, progress, r, problem); err != nil {
		return err
	}
	err = p.ids(ctx, "", "", func(id string, c current) error {
		ord := c.at(p.st.seq)
		if ord == 0 {
			return nil
		}
		d, err := p.text(ctx, ord)
		if errors.Is(err, ErrNotFound) || err == nil && d.ID != id {
			err = p.s.corrupt(fmt.Sprintf("id %q points to version %d, which is not its", id, ord), nil)
		}
		return problem(err)
	})
	if err := problem(err); err != nil {
		return err
	}
	last := p.st.base
	return problem(p.log(ctx, p.st.base, func(seq uint64, c Change) error {
		r.LogEntries++
		if seq != last {
			last = seq
			r.Batches++
		}
		if c.New != 0 {
			if _, err := p.document(ctx, c.New); err != nil {
				return problem(err)
			}
		}
		return nil
	}))
}

func (p *pin) checkDims(ord uint64, rows []Row, m Manifest) error {
	dim := m.Dim
	if d := (Document{Rows: rows}); m.Deferred && d.Deferred() {
		dim = 0
	}
	for _, r := range rows {
		if len(r.Vector) != dim {
			return p.s.corrupt(fmt.Sprintf("version %d has %d dimensions, the database %d", ord, len(r.Vector), dim), nil)
		}
	}
	return nil
}

// verifyVersions reads both records of every version, dead ones included.
func (p *pin) verifyVersions(ctx context.Context, progress func(done, total int), r *Report, problem func(error) error) error {
	m := p.s.Manifest()
	it, err := p.whole(ctx, prefixRow)
	if err != nil {
		return problem(err)
	}
	defer it.Close()
	deaths, err := p.deaths(ctx, 1)
	if err != nil {
		return problem(err)
	}
	defer deaths.it.Close()
	for steps := 0; it.Valid(); it.Next() {
		ord, part, ok := keyNumber(it.Item().Key())
		if !ok || part != 0 || ord >= p.st.nextOrd {
			continue
		}
		if steps++; steps%checkEvery == 0 {
			if err := p.interrupted(ctx); err != nil {
				return err
			}
			if progress != nil {
				progress(r.Documents, int(p.st.live))
			}
		}
		gone, err := deaths.dead(ord)
		if err != nil {
			return problem(err)
		}
		d, err := p.document(ctx, ord)
		if errors.Is(err, ErrNotFound) && gone {
			continue // Compact is on its way
		}
		if err == nil {
			err = p.checkDims(ord, d.Rows, m)
		}
		if err == nil && !gone {
			var cur uint64
			if cur, err = p.lookup(d.ID); err == nil && cur != ord {
				err = p.s.corrupt(fmt.Sprintf("version %d of id %q is live, the id points to %d", ord, d.ID, cur), nil)
			}
		}
		if err := problem(err); err != nil {
			return err
		}
		if !gone {
			r.Documents++
		}
	}
	if progress != nil {
		progress(r.Documents, int(p.st.live))
	}
	return nil
}
