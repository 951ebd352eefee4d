package state

import (
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/store"
)

// Missing turns the absence of a record that the state has into damage.
func Missing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %v", store.ErrCorrupt, err)
	}
	return err
}

// ChunkRow is the part of a document's text that belongs to a chunk.
func ChunkRow(d *store.Document, id uint64) (store.Row, error) {
	if chunk.Number(id) >= len(d.Rows) {
		return store.Row{}, fmt.Errorf("%w: version %d has no chunk %d", store.ErrCorrupt, chunk.Ord(id), chunk.Number(id))
	}
	return d.Rows[chunk.Number(id)], nil
}
