package engine

import (
	"fmt"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/store"
)

// metadataOf decodes a stored document's metadata. Numbers come back as
// json.Number, so that none loses digits on its way.
func metadataOf(d *store.Document) (map[string]any, error) {
	if len(d.Metadata) == 0 {
		return nil, nil
	}
	m, err := metadata.Parse(d.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%w: metadata of %q: %v", store.ErrCorrupt, fault.Clip(d.ID), err)
	}
	return m, nil
}
