package encoder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/filelock"
)

// DefaultCacheBytes is the size at which a Cache drops its oldest half unless
// CacheOptions say otherwise: about 690,000 vectors of dimension 384.
const DefaultCacheBytes = 1 << 30

// CacheOptions shape a Cache. The zero value is a good default.
type CacheOptions struct {
	// MaxBytes bounds the file; before it would grow beyond, the oldest half
	// is dropped. 0 means DefaultCacheBytes.
	MaxBytes int64
}

// CacheStats count what a Cache did since it was opened.
type CacheStats struct {
	Hits     int64 // texts whose vector came from the file
	Misses   int64 // texts that were encoded
	Damaged  int64 // records that failed their checksum; encoded anew
	Vectors  int   // vectors in the file
	ReadOnly bool  // whether another process holds the file, so nothing is added to it
}

// Cache is an Encoder that keeps the dense vectors of another one in a file,
// so that a text is encoded once in the life of the file. Only requests for
// NeedDense alone are answered from it; all others go to the inner encoder.
//
// The first process to open a file writes to it; others that open it meanwhile
// read what was there, add nothing, and encode the rest. The file may be
// deleted at any time while no process has it open.
//
// Safe for concurrent use. An entry costs about 60 bytes of memory; a hit
// costs one read of the file.
type Cache struct {
	inner Encoder
	print Fingerprint
	path  string
	max   int64

	mu     sync.Mutex
	file   *vectorFile // nil after Close
	lock   *os.File    // nil if read-only
	broken error       // why nothing is written any more
	stats  CacheStats
}

// NewCache opens or makes the file of inner's vector space in dir, which is
// made if absent. The Cache owns inner from then on and closes it. A file that
// belongs to an encoder of other vectors, or has a damaged header, is started
// anew. On an error inner stays open.
func NewCache(inner Encoder, dir string, o CacheOptions) (*Cache, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultCacheBytes
	}
	print := inner.Fingerprint()
	c := &Cache{inner: inner, print: print, max: o.MaxBytes, path: filepath.Join(dir, print.Digest()+".vectors")}
	if print.Dim < 1 || print.Dim > 1<<20 {
		return nil, fmt.Errorf("open vector cache: dimension %d; use an encoder of 1 to %d", print.Dim, 1<<20)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open vector cache: %w; choose a folder that can be written", err)
	}
	lock, err := os.OpenFile(c.path+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open vector cache: %w; choose a folder that can be written", err)
	}
	switch err = filelock.Try(lock, true); {
	case err == nil:
		c.lock = lock
		err = c.openForWriting()
	case errors.Is(err, filelock.ErrHeld) || errors.Is(err, errors.ErrUnsupported): // without locks, no process may write
		c.stats.ReadOnly = true
		err = errors.Join(c.openForReading(), lock.Close())
	default:
		err = errors.Join(err, lock.Close())
	}
	if err != nil {
		if c.lock != nil {
			err = errors.Join(err, filelock.Release(c.lock))
		}
		return nil, fmt.Errorf("open vector cache %s: %w", c.path, err)
	}
	return c, nil
}

func (c *Cache) openForWriting() error {
	f, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	c.file, err = readVectorFile(f, c.print)
	if errors.Is(err, errCacheHeader) {
		c.file, err = newVectorFile(f, c.print)
	}
	if err == nil {
		err = f.Truncate(c.file.size()) // cut a torn record
	}
	if err != nil {
		c.file = nil
		return errors.Join(err, f.Close())
	}
	return nil
}

// openForReading takes what the writing process has written so far; that there
// is nothing yet is no error.
func (c *Cache) openForReading() error {
	c.file = &vectorFile{dim: c.print.Dim}
	f, err := os.Open(c.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := readVectorFile(f, c.print)
	if err == nil {
		c.file = v
		return nil
	}
	if errors.Is(err, errCacheHeader) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Encode implements Encoder. Texts that are not in the file are encoded in one
// call of the inner encoder, each once however often it occurs. A failure to
// write does not fail the call: the cache then stops writing, and Close
// returns the reason.
func (c *Cache) Encode(ctx context.Context, role Role, texts []string, need Need) ([]Output, error) {
	if need != NeedDense {
		if c.isClosed() {
			return nil, ErrClosed
		}
		return c.inner.Encode(ctx, role, texts, need)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]Output, len(texts))
	keys := make([]cacheKey, len(texts))
	for i, text := range texts {
		keys[i] = keyOf(role, text)
	}
	missing, err := c.lookUp(out, keys)
	if err != nil {
		return nil, err
	}
	var ask []string
	var askKeys []cacheKey
	at := map[cacheKey]int{}
	for _, i := range missing {
		if _, ok := at[keys[i]]; !ok {
			at[keys[i]] = len(ask)
			ask = append(ask, texts[i])
			askKeys = append(askKeys, keys[i])
		}
	}
	if len(ask) > 0 {
		got, err := c.inner.Encode(ctx, role, ask, NeedDense)
		if err != nil {
			return nil, err
		}
		if err := c.store(askKeys, got); err != nil {
			return nil, err
		}
		for _, i := range missing {
			out[i].Dense = slices.Clone(got[at[keys[i]]].Dense)
		}
	}
	for i, text := range texts {
		out[i].Tokens = c.inner.Tokenize(role, text)
	}
	return out, nil
}

// lookUp fills in the vectors that the file has and returns the positions of
// the others.
func (c *Cache) lookUp(out []Output, keys []cacheKey) (missing []int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil, ErrClosed
	}
	for i, key := range keys {
		vector, damaged, err := c.file.get(key)
		if err != nil {
			return nil, fmt.Errorf("read vector cache: %w; delete %s", err, c.path)
		}
		if damaged {
			c.stats.Damaged++
			delete(c.file.index, key)
		}
		if vector == nil {
			missing = append(missing, i)
			c.stats.Misses++
			continue
		}
		c.stats.Hits++
		out[i].Dense = vector
	}
	return missing, nil
}

// store appends the vectors in got, one a key, to the file.
func (c *Cache) store(keys []cacheKey, got []Output) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return ErrClosed
	}
	if c.lock == nil || c.broken != nil {
		return nil
	}
	var fresh []cacheKey
	var records []byte
	for i, key := range keys {
		if len(got[i].Dense) != c.file.dim {
			return fmt.Errorf("encoder %s gave a vector of length %d, not %d; it breaks its contract", c.print.Model, len(got[i].Dense), c.file.dim)
		}
		if c.file.has(key) { // another goroutine was quicker
			continue
		}
		fresh = append(fresh, key)
		records = appendRecord(records, key, got[i].Dense)
	}
	if c.file.size()+int64(len(records)) > c.max {
		if c.broken = c.shrink(); c.broken != nil {
			return nil
		}
		if c.file.size()+int64(len(records)) > c.max { // one batch beyond all bounds
			return nil
		}
	}
	c.broken = c.file.put(fresh, records)
	return nil
}

// shrink replaces the file by its newer half. Both files are closed around the
// rename, as Windows renames no open file. Where the half cannot take the
// place of the whole (on Windows while another process reads the whole), the
// whole stays.
func (c *Cache) shrink() error {
	temp := c.path + ".new"
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	half, err := newVectorFile(f, c.print)
	if err == nil {
		err = c.file.keep(half, c.file.count/2)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	err = c.file.f.Close()
	if e := os.Rename(temp, c.path); e != nil {
		err = errors.Join(err, e, os.Remove(temp))
	}
	if e := c.openForWriting(); e != nil {
		c.file = &vectorFile{dim: c.print.Dim} // nothing is found and nothing written
		err = errors.Join(err, e)
	}
	return err
}

func keyOf(role Role, text string) cacheKey {
	h := sha256.New()
	h.Write([]byte{byte(role)})
	h.Write([]byte(text))
	return cacheKey(h.Sum(nil))
}

// Stats returns what the cache did since it was opened.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	if c.file != nil {
		s.Vectors = len(c.file.index)
	}
	return s
}

// Tokenize implements Encoder.
func (c *Cache) Tokenize(role Role, text string) Tokens { return c.inner.Tokenize(role, text) }

// Dim implements Encoder.
func (c *Cache) Dim() int { return c.inner.Dim() }

// VocabSize implements Encoder.
func (c *Cache) VocabSize() int { return c.inner.VocabSize() }

// Fingerprint implements Encoder.
func (c *Cache) Fingerprint() Fingerprint { return c.print }

func (c *Cache) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file == nil
}

// Close closes the file and the inner encoder. It returns what kept the cache
// from writing, too.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return ErrClosed
	}
	var err error
	if c.broken != nil {
		err = fmt.Errorf("write vector cache %s: %w", c.path, c.broken)
	}
	if c.file.f != nil {
		err = errors.Join(err, c.file.f.Close())
	}
	if c.lock != nil {
		err = errors.Join(err, filelock.Release(c.lock))
	}
	c.file = nil
	return errors.Join(err, c.inner.Close())
}
