package engine

import (
	"context"

	"github.com/lexsem/lexsem/store"
)

// Stats describes the database. It reads every document to count those whose
// text was cut, about a second for 100,000.
func (e *Engine) Stats(ctx context.Context) (Stats, error) {
	done, err := e.use()
	if err != nil {
		return Stats{}, err
	}
	defer done()
	bytes, err := e.st.DiskBytes()
	if err != nil {
		return Stats{}, err
	}
	truncated := 0
	err = e.st.ScanDocuments(ctx, 0, func(_ uint64, d *store.Document) error {
		if d.Truncated > 0 {
			truncated++
		}
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	bridges, err := e.bridgeStats()
	if err != nil {
		return Stats{}, err
	}
	s := Stats{
		Dir: e.dir, Documents: e.view.Len(), Chunks: e.vectors.Len(), Seq: e.seq, Dim: e.fp.Dim,
		Index: e.vectors.name, Metric: metric, Encoder: e.fp, Truncated: truncated,
		DiskBytes: bytes, Bridges: bridges, Default: e.best(false),
		FormatMajor: e.st.Manifest().Major,
	}
	return s, nil
}
