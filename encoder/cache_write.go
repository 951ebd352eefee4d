package encoder

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/lexsem/lexsem/internal/cachefile"
	"github.com/lexsem/lexsem/internal/private"
)

// startWriting waits for the turn to write.
func (c *Cache) startWriting(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cache) endWriting() { <-c.writing }

// openStates opens the file of states at the first call, once the probe vectors are known. If it cannot
// be opened, no states are found or written, and Close returns the reason.
func (c *Cache) openStates(ctx context.Context) error {
	c.mu.Lock()
	open := c.states != nil
	c.mu.Unlock()
	if open {
		return nil
	}
	if err := c.startWriting(ctx); err != nil {
		return err
	}
	defer c.endWriting()
	c.mu.Lock()
	open, closed, print := c.states != nil, c.closed, c.print
	c.mu.Unlock()
	if open {
		return nil
	}
	if closed {
		return ErrClosed
	}
	v := &cacheFile{layout: stateLayout(print.Dim), path: c.pathOf(cachefile.States), max: c.max}
	write := c.lock != nil
	if _, err := os.Stat(v.path); errors.Is(err, os.ErrNotExist) {
		write = false // it is made with the first states: many encoders have none
	}
	if err := v.open(print, write); err != nil {
		v = &cacheFile{layout: v.layout, path: v.path, max: c.max, broken: errors.Join(err, v.close())}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = v
	return nil
}

// keep writes the records of keys that a file does not have yet.
func (c *Cache) keep(ctx context.Context, v *cacheFile, fresh records) error {
	if c.lock == nil || len(fresh.keys) == 0 {
		return nil
	}
	if err := c.startWriting(ctx); err != nil {
		return err
	}
	defer c.endWriting()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	var size int64
	var r records
	for i, key := range fresh.keys {
		if _, ok := v.index[key]; ok { // another goroutine was quicker
			continue
		}
		r.add(key, fresh.data[i])
		size += int64(len(fresh.data[i]))
	}
	if v.broken == nil && v.header == 0 {
		v.broken = v.begin(c.print)
	}
	c.mu.Unlock()
	if v.header+size > v.max { // one batch beyond all bounds
		return nil
	}
	for v.broken == nil && v.end+size > v.max {
		c.fail(v, c.shrink(v))
	}
	if v.broken != nil {
		return nil
	}
	at, end, err := v.write(r.data)
	if err != nil {
		c.fail(v, err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, key := range r.keys {
		v.index[key] = at[i]
	}
	v.end = end
	return nil
}

// fail records why a file is no longer written, if err is not nil.
func (c *Cache) fail(v *cacheFile, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.broken = err
}

// shrink replaces a file by its newer half, which is written while searches go on. Both are closed
// around the rename, as Windows renames no open file. If the rename fails (on Windows while another
// process reads the file), the whole file stays.
func (c *Cache) shrink(v *cacheFile) error {
	c.mu.Lock()
	places := slices.Collect(maps.Values(v.index))
	c.mu.Unlock()
	temp := v.path + ".new"
	half, err := v.half(temp, places)
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err = v.f.Close()
	if e := os.Rename(temp, v.path); e != nil {
		err = errors.Join(err, e, os.Remove(temp))
	} else {
		v.header, v.end, v.index = half.header, half.end, half.index
	}
	f, e := os.OpenFile(v.path, os.O_RDWR, private.File)
	if e != nil { // nothing is found and nothing written
		f = nil
		clear(v.index)
	}
	v.f = f
	return errors.Join(err, e)
}
