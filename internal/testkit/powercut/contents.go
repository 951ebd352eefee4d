//go:build linux

package powercut

import "maps"

const (
	pageSize   = 4096
	sectorSize = 512 // what a disk writes whole or not at all
)

// contents are the bytes of a file. Pages that are not there are zeros.
type contents struct {
	size  int64
	pages map[int64]*[pageSize]byte // never written to while another contents has them
	own   map[int64]bool            // pages that no other has
}

// clone shares the pages.
func (c *contents) clone() contents {
	c.own = nil
	return contents{size: c.size, pages: maps.Clone(c.pages)}
}

// page returns a page to write to.
func (c *contents) page(i int64) *[pageSize]byte {
	if c.pages == nil {
		c.pages = map[int64]*[pageSize]byte{}
	}
	if c.own == nil {
		c.own = map[int64]bool{}
	}
	switch p := c.pages[i]; {
	case p == nil:
		c.pages[i] = new([pageSize]byte)
	case !c.own[i]:
		q := *p
		c.pages[i] = &q
	}
	c.own[i] = true
	return c.pages[i]
}

func (c *contents) write(data []byte, off int64) {
	c.size = max(c.size, off+int64(len(data)))
	c.put(data, off)
}

// put is write without changing the size.
func (c *contents) put(data []byte, off int64) {
	data = data[:max(0, min(int64(len(data)), c.size-off))]
	for len(data) > 0 {
		n := copy(c.page(off / pageSize)[off%pageSize:], data)
		data, off = data[n:], off+int64(n)
	}
}

func (c *contents) read(dest []byte, off int64) int {
	n := int(max(0, min(int64(len(dest)), c.size-off)))
	for at := 0; at < n; {
		i, from := (off+int64(at))/pageSize, (off+int64(at))%pageSize
		if p := c.pages[i]; p != nil {
			at += copy(dest[at:n], p[from:])
			continue
		}
		end := min(n, at+int(pageSize-from))
		clear(dest[at:end])
		at = end
	}
	return n
}

// resize cuts the contents, or appends zeros.
func (c *contents) resize(size int64) {
	if size < c.size {
		for i := range c.pages {
			if i*pageSize >= size {
				delete(c.pages, i)
				delete(c.own, i)
			}
		}
		if from := size % pageSize; from > 0 && c.pages[size/pageSize] != nil {
			clear(c.page(size / pageSize)[from:])
		}
	}
	c.size = size
}
