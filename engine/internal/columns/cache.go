package columns

import (
	"slices"
	"sync"
)

// state is how far a lineage has come: how many rows there are and how many
// were ever deleted.
type state struct{ rows, gone int }

func (c *Columns) state() state { return state{c.rows.len(), len(c.gone)} }

// before says that s comes before t or is t.
func (s state) before(t state) bool { return s.rows <= t.rows && s.gone <= t.gone }

// matchCache keeps the answers that were asked for last, for one lineage. Its
// lock is held for looking up and putting in alone.
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

// put keeps an answer unless there is a later one, and forgets those that were
// not used for longest until all fit. One that takes more than a quarter of the
// room is not kept.
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

// adopt takes over the answers of another lineage at a state that equals one
// of this.
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
