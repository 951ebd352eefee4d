package columns

import (
	"slices"
	"sync"
)

// state is a position in a lineage: the number of rows, and of deletions so far.
type state struct{ rows, gone int }

func (c *Columns) state() state { return state{c.rows.len(), len(c.gone)} }

// before reports whether s is t or comes before it.
func (s state) before(t state) bool { return s.rows <= t.rows && s.gone <= t.gone }

// matchCache keeps the most recently used answers of one lineage. Its lock is held only
// for lookups and insertions.
type matchCache struct {
	mu      sync.Mutex
	entries []cached // the one used last is the last
	bytes   int
}

type cached struct {
	key string
	m   *Matches
}

// Limits of a matchCache.
const (
	cacheEntries = 64
	cacheBytes   = 16 << 20
)

// get returns the answer to key at a state or an earlier one, or nil.
func (c *matchCache) get(key string, at state) *Matches {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.key == key {
			c.entries = append(slices.Delete(c.entries, i, i+1), e)
			if e.m.at.before(at) {
				return e.m
			}
		}
	}
	return nil
}

// put stores an answer unless there is a later one, and removes the least recently used
// ones until all fit. An answer of more than a quarter of the space is not stored.
func (c *matchCache) put(key string, m *Matches) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.entries, func(e cached) bool { return e.key == key }); i >= 0 {
		if m.at.before(c.entries[i].m.at) {
			return
		}
		c.bytes -= c.entries[i].size()
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	e := cached{key, m}
	if e.size() > cacheBytes/4 {
		return
	}
	c.entries = append(c.entries, e)
	c.bytes += e.size()
	for len(c.entries) > cacheEntries || c.bytes > cacheBytes {
		c.bytes -= c.entries[0].size()
		c.entries = slices.Delete(c.entries, 0, 1)
	}
}

// adopt copies the answers of another lineage at an equal state.
func (c *matchCache) adopt(from *matchCache, there, here state) {
	from.mu.Lock()
	entries := slices.Clone(from.entries)
	from.mu.Unlock()
	for _, e := range entries {
		if e.m.at == there {
			m := *e.m
			m.at = here
			c.put(e.key, &m)
		}
	}
}

func (c *matchCache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.bytes)
}

func (e cached) size() int { return len(e.key) + e.m.size() }
