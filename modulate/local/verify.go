package local

import "context"

// Verify checks all that lies in a file, and that the cells hold the passages that
// the table of passages puts there. Errors: modulate.ErrCorrupt, that of ctx within
// a cell. Cost: one read of the cells, and a search in the table for each passage.
func (b *Bridges) Verify(ctx context.Context) error {
	n := 0
	for i, s := range b.cells {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ids, err := guarded(func() ([]uint64, error) {
			c := s.loaded.Load()
			if c == nil {
				var err error
				if c, err = s.at.read(s, b.dim, b.vocab); err != nil {
					return nil, err
				}
			}
			return c.ids, nil
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if at, ok := b.Cell(id); !ok || at != i {
				return corrupt("passage %d of cell %d is in cell %d of the table (%v)", id, i, at, ok)
			}
		}
		n += len(ids)
	}
	if n != b.n {
		return corrupt("cells of %d passages where there are %d", n, b.n)
	}
	if b.words.file == nil {
		return nil
	}
	_, err := guarded(func() (struct{}, error) { return struct{}{}, b.words.file.Check(0, b.words.file.Len()) })
	return err
}
