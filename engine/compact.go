package engine

import "context"

// Compact gives the space of replaced and deleted documents back to the disk. That
// is done by and by as well, when there is more of it than of live documents; this
// does all of it now: it saves the derived state and rewrites the store's tables,
// beside searches and, but for short waits, writes. Cost: reading and writing
// what is live once. If ctx ends it goes on in the background. ErrNoSpace says
// that the disk has no room for the tables a second time, ErrReadOnly that the
// database was opened without the right to write.
func (e *Engine) Compact(ctx context.Context) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return e.db.Compact(ctx)
}
