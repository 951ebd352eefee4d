package tokens

import "sync"

// MostCached bounds the codes that a Cache keeps by default.
const MostCached = 16 << 20

// Cache keeps codes that searches have read lately, since reading them from the store takes longer than comparing
// them. It has two generations: when the younger has half of the bytes, it becomes the older, and the older is
// forgotten. Safe for concurrent use.
type Cache struct {
	most int // bytes

	mu         sync.Mutex
	young, old map[uint64][]byte // by chunk
	bytes      int               // of young
}

// NewCache is a Cache of at most so many bytes.
func NewCache(most int) *Cache { return &Cache{most: most, young: map[uint64][]byte{}} }

// Most is how many bytes c keeps at most.
func (c *Cache) Most() int { return c.most }

// Get returns the codes of a chunk, nil if they are not kept. They must not be changed.
func (c *Cache) Get(id uint64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if codes := c.young[id]; codes != nil {
		return codes
	}
	codes := c.old[id]
	if codes != nil {
		c.put(id, codes)
	}
	return codes
}

// Put keeps a copy of the codes of a chunk.
func (c *Cache) Put(id uint64, codes []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young[id] == nil && len(codes) <= c.most/2 {
		c.put(id, append([]byte(nil), codes...))
	}
}

func (c *Cache) put(id uint64, codes []byte) {
	if c.bytes += len(codes); c.bytes > c.most/2 {
		c.old, c.young, c.bytes = c.young, map[uint64][]byte{}, len(codes)
	}
	c.young[id] = codes
}

// Clear forgets all.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = map[uint64][]byte{}, nil, 0
}
