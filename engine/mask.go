package engine

import (
	"github.com/lexsem/lexsem/engine/internal/chunk"
)

// mask hides from searches what the vector index holds beyond the state that
// they see: it takes the versions of a commit in before the commit becomes
// that state, and gives up ended ones after.
type mask struct {
	from uint64              // versions from this ordinal on are not there yet; 0: all are
	gone map[uint64]struct{} // ordinals of versions that are there no more
}

// maskNew hides what changes made.
func maskNew(changes []change) *mask {
	for _, c := range changes {
		if c.New != 0 {
			return &mask{from: c.New} // ordinals ascend
		}
	}
	return nil
}

// maskGone hides versions that have ended.
func maskGone(gone []version) *mask {
	if len(gone) == 0 {
		return nil
	}
	m := &mask{gone: make(map[uint64]struct{}, len(gone))}
	for _, v := range gone {
		m.gone[chunk.Ord(v.ord)] = struct{}{}
	}
	return m
}

// setMask makes m the mask of searches that begin from now on.
func (e *Engine) setMask(m *mask) {
	e.mu.Lock()
	e.mask = m
	e.mu.Unlock()
}

// over returns the verdict on chunks that a search of the vector index needs
// under a filter's verdict, nil for none. A filter lets only versions of the
// state through.
func (m *mask) over(allow func(uint64) bool) func(uint64) bool {
	switch {
	case allow != nil || m == nil:
		return allow
	case m.from != 0:
		return func(id uint64) bool { return chunk.Ord(id) < m.from }
	}
	return func(id uint64) bool { _, ended := m.gone[chunk.Ord(id)]; return !ended }
}
