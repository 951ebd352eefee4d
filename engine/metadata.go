package engine

import (
	"fmt"

	"github.com/lexsem/lexsem/store"
)

// metadata decodes a stored document's metadata. Numbers come back as
// json.Number, so that none loses digits on its way.
func metadata(d *store.Document) (map[string]any, error) {
	if len(d.Metadata) == 0 {
		return nil, nil
	}
	m, err := parseMetadata(d.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%w: metadata of %q: %v", store.ErrCorrupt, clip(d.ID), err)
	}
	return m, nil
}
