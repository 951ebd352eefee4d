package intake

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/store"
)

// Merges are patches of metadata, grouped by document, in the order in which documents are
// first named. The zero value is empty.
type Merges struct {
	All []Merge
	at  map[string]int
}

// Merge is the patch for the metadata of one document.
type Merge struct {
	ID       string
	Position int // of its first patch
	patches  []map[string]any
}

// Add checks a patch, and gathers it.
func (m *Merges) Add(ctx context.Context, position int, id string, patch map[string]any) error {
	if err := CheckID(id); err != nil {
		return err
	}
	raw, err := metadata.Storable(ctx, patch)
	if err != nil {
		return err
	}
	read, err := yield.Leave(ctx, func() (map[string]any, error) { return metadata.Parse(raw) })
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if err != nil {
		return fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	i, again := m.at[id]
	if !again {
		if m.at == nil {
			m.at = map[string]int{}
		}
		i = len(m.All)
		m.at[id] = i
		m.All = append(m.All, Merge{ID: id, Position: position})
	}
	m.All[i].patches = append(m.All[i].patches, read)
	return nil
}

// Apply merges the patches into stored metadata. Errors: store.ErrCorrupt for metadata that
// cannot be read; those of metadata.Encode.
func (m Merge) Apply(ctx context.Context, raw []byte) (now []byte, changed bool, err error) {
	read, err := yield.Leave(ctx, func() (map[string]any, error) { return metadata.Parse(raw) })
	if ended := ctx.Err(); ended != nil {
		return nil, false, ended
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: metadata of %q: %v", store.ErrCorrupt, fault.Clip(m.ID), err)
	}
	for _, p := range m.patches {
		read = metadata.Merge(read, p)
	}
	if len(read) > 0 { // numbers that are stored already stay
		now, err = metadata.EncodeWithin(ctx, read)
	}
	return now, err == nil && !bytes.Equal(now, raw), err
}
