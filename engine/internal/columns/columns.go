// Package columns answers filters over the metadata of many documents.
package columns

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/metadata"
)

// Columns hold the metadata of all documents so that a filter is answered
// without reading one: derived state, made of the store alone.
//
// Every value is a *term*: the path it stands at, its kind and its text, kept
// once however many documents have it. A document is the list of its terms'
// numbers. A condition is asked once about every term of its paths; then one
// pass over the lists gives the documents, four bytes a value. So a filter
// costs its distinct values and a scan of small numbers, never a parse of JSON,
// and nothing is sorted or kept for filters that nobody asks. Answers are kept
// and brought up to date by what was added and deleted since (columns_match.go).
//
// Add, Delete and load need exclusive use; Match, Len and WriteTo may run
// beside each other. A Matches never changes and may outlive the lock.
type Columns struct {
	terms dictionary
	ords  []uint64 // slot -> ordinal, ascending
	ends  []uint64 // slot -> end of its terms in posts
	posts []uint32 // distinct terms of each document, ascending
	live  []uint64 // bit a slot
	dead  int      // slots that are not live
	gone  []uint32 // deleted slots, in the order of deletion

	cache matchCache
	list  []uint32 // terms of the document that is being added
	key   []byte   // text of the number that is being added
}

// ErrOrder answers an ordinal that was added before, or after a higher one.
var ErrOrder = errors.New("ordinals must ascend")

// ErrFull answers a document beyond what 32 bits can number.
var ErrFull = errors.New("too many distinct values of metadata; split the database")

const (
	// MaxOrd bounds ordinals, for the sake of tables over them: 275 thousand
	// million versions.
	MaxOrd = 1 << 38
	// maxTerms leaves room for the terms and paths of one document.
	maxTerms = math.MaxUint32 - 1<<30
)

func New() *Columns {
	c := &Columns{}
	c.terms.init()
	return c
}

// Len is the number of documents.
func (c *Columns) Len() int { return len(c.ords) - c.dead }

// After is the number of documents whose ordinal is above ord.
func (c *Columns) After(ord uint64) int {
	n := 0
	for slot := len(c.ords) - 1; slot >= 0 && c.ords[slot] > ord; slot-- {
		if c.alive(slot) {
			n++
		}
	}
	return n
}

// Add takes in a document's metadata as JSON; nothing, null and {} are a
// document without any. Ordinals must ascend from one Add to the next, as the
// store gives them. Errors: ErrOrder, metadata.ErrNoObject, ErrFull; then nothing
// has changed.
// Cost: reading the JSON, some microseconds.
func (c *Columns) Add(ord uint64, raw []byte) error {
	if n := len(c.ords); n > 0 && ord <= c.ords[n-1] || ord >= MaxOrd {
		return fmt.Errorf("metadata of version %d: %w", ord, ErrOrder)
	}
	if len(c.terms.all) > maxTerms || len(c.terms.paths) > maxTerms || len(c.ords) > maxTerms {
		return fmt.Errorf("metadata of version %d: %w", ord, ErrFull)
	}
	m, err := metadata.Parse(raw)
	if err != nil {
		return fmt.Errorf("metadata of version %d: %w", ord, err)
	}
	c.list = c.list[:0]
	for key, v := range m {
		c.flatten(c.terms.path(rootPath, key), v)
	}
	slices.Sort(c.list)
	c.put(ord, slices.Compact(c.list))
	return nil
}

// flatten appends the terms of v, which stands at path, to c.list.
func (c *Columns) flatten(path uint32, v any) {
	switch v := v.(type) {
	case nil:
		c.term(path, filter.Null, "")
	case bool:
		if v {
			c.term(path, filter.True, "")
		} else {
			c.term(path, filter.False, "")
		}
	case string:
		c.term(path, filter.String, v)
	case json.Number:
		c.term(path, filter.Number, v.String())
	case []any:
		if len(v) == 0 {
			c.term(path, filter.Empty, "")
		}
		for _, e := range v {
			c.flatten(path, e)
		}
	case map[string]any:
		if len(v) == 0 {
			c.term(path, filter.Empty, "")
		}
		for key, e := range v {
			c.flatten(c.terms.path(path, key), e)
		}
	}
}

func (c *Columns) term(path uint32, kind filter.Kind, text string) {
	c.key = append(c.key[:0], text...)
	c.list = append(c.list, c.terms.intern(path, kind, c.key))
}

// put appends a slot.
func (c *Columns) put(ord uint64, terms []uint32) {
	slot := len(c.ords)
	if slot&63 == 0 {
		c.live = append(c.live, 0)
	}
	c.live[slot>>6] |= 1 << (slot & 63)
	c.ords = append(c.ords, ord)
	c.posts = append(c.posts, terms...)
	c.ends = append(c.ends, uint64(len(c.posts)))
}

// of returns the terms of a slot.
func (c *Columns) of(slot int) []uint32 {
	from := uint64(0)
	if slot > 0 {
		from = c.ends[slot-1]
	}
	return c.posts[from:c.ends[slot]]
}

func (c *Columns) alive(slot int) bool { return c.live[slot>>6]>>(slot&63)&1 == 1 }

// Delete takes a document out and says whether it was there. Cost: O(log n),
// and every time that as many are dead as alive, one pass over all.
func (c *Columns) Delete(ord uint64) bool {
	slot, ok := slices.BinarySearch(c.ords, ord)
	if !ok || !c.alive(slot) {
		return false
	}
	c.live[slot>>6] &^= 1 << (slot & 63)
	c.gone = append(c.gone, uint32(slot))
	if c.dead++; c.dead > 1024 && c.dead > c.Len() {
		c.compact()
	}
	return true
}

// compact drops what only dead documents had, and the answers that number
// slots in the old way.
func (c *Columns) compact() {
	to := c.compacted()
	c.terms, c.ords, c.ends, c.posts, c.live, c.dead, c.gone = to.terms, to.ords, to.ends, to.posts, to.live, 0, nil
	c.cache.clear()
}

// compacted returns a copy without what only dead documents had.
func (c *Columns) compacted() *Columns {
	to := New()
	renamed := make([]uint32, len(c.terms.all)) // number in to, and 1
	paths := make([]uint32, len(c.terms.paths))
	for slot, ord := range c.ords {
		if !c.alive(slot) {
			continue
		}
		to.list = to.list[:0]
		for _, t := range c.of(slot) {
			if renamed[t] == 0 {
				old := c.terms.all[t]
				renamed[t] = to.terms.intern(to.terms.copyPath(&c.terms, old.path, paths), old.kind, c.terms.text(t)) + 1
			}
			to.list = append(to.list, renamed[t]-1)
		}
		slices.Sort(to.list)
		to.put(ord, to.list)
	}
	return to
}

// matchCache keeps the answers that were asked for last.
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

// get returns the answer to key, perhaps an old one, or nil.
func (c *matchCache) get(key string) *Matches {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.key == key {
			c.entries = append(slices.Delete(c.entries, i, i+1), e)
			return e.m
		}
	}
	return nil
}

// put keeps an answer, and forgets those that were not used for longest until
// all fit. One that takes more than a quarter of the room is not kept.
func (c *matchCache) put(key string, m *Matches) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.DeleteFunc(c.entries, func(e cached) bool {
		if e.key == key {
			c.bytes -= e.size()
		}
		return e.key == key
	})
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

func (c *matchCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.bytes = nil, 0
}

func (e cached) size() int { return len(e.key) + e.m.size() }
