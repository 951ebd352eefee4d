package engine

import "context"

// Compact frees the disk space of replaced and deleted documents. The engine also does so by itself when they take more
// space than live documents. If ctx ends, the work continues in the background.
//
// Searches run meanwhile; writes wait for short moments. Errors: ErrNoSpace if the disk has no room for a second copy
// of the tables; ErrReadOnly. Cost: reading and writing all live data once.
func (e *Engine) Compact(ctx context.Context) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return e.db.Compact(ctx)
}
