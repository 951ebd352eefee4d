// Package recent keeps the values that searches asked for lately, in bounded memory. Start with [New].
package recent

import "sync"

// Cache keeps values by number. It has two generations: when the younger reaches half of the size, it becomes the
// older, and the previous older one is dropped. Safe for concurrent use.
type Cache[V any] struct {
	most int

	mu         sync.Mutex
	young, old map[uint64]entry[V]
	size       int // of young
}

type entry[V any] struct {
	value V
	size  int
}

// New is a Cache of at most this size, in the unit of Put.
func New[V any](most int) *Cache[V] { return &Cache[V]{most: most, young: map[uint64]entry[V]{}} }

// Most is the maximum size of c.
func (c *Cache[V]) Most() int { return c.most }

// Len returns how many values c keeps.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.young) + len(c.old)
}

// Get returns the value of a number, zero if it is not kept.
func (c *Cache[V]) Get(id uint64) (v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.young[id]
	if !ok {
		if x, ok = c.old[id]; ok {
			delete(c.old, id)
			c.put(id, x)
		}
	}
	return x.value
}

// Put stores a value, unless its number already has one or the value exceeds half of the total size.
func (c *Cache[V]) Put(id uint64, v V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[id]; !ok && size <= c.most/2 {
		c.put(id, entry[V]{v, size})
	}
}

func (c *Cache[V]) put(id uint64, x entry[V]) {
	if c.size += x.size; c.size > c.most/2 {
		c.old, c.young, c.size = c.young, map[uint64]entry[V]{}, x.size
	}
	c.young[id] = x
}

// Clear forgets all.
func (c *Cache[V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.size = map[uint64]entry[V]{}, nil, 0
}
