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
	"time"

	"github.com/lexsem/lexsem/internal/filelock"
)

// DefaultCacheBytes is the size at which a Cache drops its oldest half unless
// CacheOptions say otherwise: about 690,000 vectors of dimension 384.
const DefaultCacheBytes = 1 << 30

// ErrCacheWrite is wrapped by the error of Cache.Close that says why not all vectors
// were kept.
var ErrCacheWrite = errors.New("write vector cache")

// vectorsSuffix ends the name of a cache's file.
const vectorsSuffix = ".vectors"

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
// NeedDense alone for texts alone are answered from it; all others go to the inner
// encoder.
//
// The first process to open a file writes to it; others that open it meanwhile
// read what was there, add nothing, and encode the rest. The file may be
// deleted at any time while no process has it open.
//
// An encoder that does not know its probe vectors, such as one behind a URL, is asked
// for them beside the first texts that it is asked for. Where they are not those that
// filled the file, nothing of it is given away, and it is started anew.
//
// Safe for concurrent use. An entry costs about 60 bytes of memory; a hit
// costs one read of the file.
type Cache struct {
	inner Encoder
	print Fingerprint // of the file; with the probe vectors once they are proved
	path  string
	max   int64
	asked map[cacheKey]bool // the probe texts, if they are asked for; these are never in the file
	turn  chan struct{}     // holds a value while they are

	mu     sync.Mutex
	proved bool        // the encoder's probe vectors are those of the file
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
	c := &Cache{
		inner: inner, print: print, max: o.MaxBytes, path: filepath.Join(dir, print.Digest()+vectorsSuffix),
		turn: make(chan struct{}, 1), proved: print.Probed(),
	}
	if !c.proved {
		c.asked = map[cacheKey]bool{}
		for _, text := range ProbeTexts {
			c.asked[keyOf(Passage, text)] = true
		}
	}
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
	switch {
	case errors.Is(err, errCacheHeader) && !c.proved: // the header is written once it is known
		c.file, err = &vectorFile{f: f, dim: c.print.Dim}, nil
	case errors.Is(err, errCacheHeader):
		c.file, err = newVectorFile(f, c.print)
	case err == nil:
		err = f.Truncate(c.file.size()) // cut a torn record
	}
	if now := time.Now(); err == nil {
		err = os.Chtimes(c.path, now, now) // by which TrimCaches sees that it is in use
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
func (c *Cache) Encode(ctx context.Context, role Role, in []Input, need Need) ([]Output, error) {
	texts, err := TextsOf(in)
	if need != NeedDense || err != nil {
		if c.isClosed() {
			return nil, ErrClosed
		}
		return c.inner.Encode(ctx, role, in, need)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !c.isProved() {
		select {
		case c.turn <- struct{}{}:
			defer func() { <-c.turn }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !c.isProved() {
			return c.first(ctx, role, texts)
		}
	}
	return c.encode(ctx, role, texts)
}

// first is encode for an encoder whose probe vectors are not known yet.
func (c *Cache) first(ctx context.Context, role Role, texts []string) ([]Output, error) {
	if role != Passage {
		probes, err := c.inner.Encode(ctx, Passage, Texts(ProbeTexts[:]...), NeedDense)
		if err == nil {
			_, err = c.prove(probes)
		}
		if err != nil {
			return nil, err
		}
		return c.encode(ctx, role, texts)
	}
	n := len(texts)
	out, err := c.encode(ctx, role, append(slices.Clip(texts), ProbeTexts[:]...)) // in one call: another costs its time
	if err != nil {
		return nil, err
	}
	same, err := c.prove(out[n:])
	if err != nil {
		return nil, err
	}
	if !same {
		return c.encode(ctx, role, texts)
	}
	keys := make([]cacheKey, n)
	for i, text := range texts {
		keys[i] = keyOf(role, text)
	}
	return out[:n], c.store(keys, out[:n])
}

// prove compares the vectors of the probe texts with those that filled the file, and
// begins it anew where it is not of them. same says that what it gave away stands.
func (c *Cache) prove(probes []Output) (same bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return false, ErrClosed
	}
	for i, o := range probes {
		if len(o.Dense) != c.print.Dim {
			return false, c.lengthError(o.Dense)
		}
		c.print.Probe[i] = slices.Clone(o.Dense)
	}
	c.proved = true
	same = len(c.file.index) == 0
	if old := c.file.print; old.Probed() && Check("cache", old, c.print) == nil {
		return true, nil
	}
	if !same { // what was found is not given away
		c.stats.Hits, c.stats.Misses = 0, 0
	}
	if c.lock != nil {
		f := c.file.f
		if c.file, c.broken = newVectorFile(f, c.print); c.broken == nil {
			return same, nil
		}
		c.file = &vectorFile{f: f} // nothing is found and nothing written
	} else {
		c.file = &vectorFile{f: c.file.f, dim: c.print.Dim}
	}
	return same, nil
}

// encode is Encode for vectors alone. Positions in its errors are those of texts.
func (c *Cache) encode(ctx context.Context, role Role, texts []string) ([]Output, error) {
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
	var from []int // position of each in texts
	at := map[cacheKey]int{}
	for _, i := range missing {
		if _, ok := at[keys[i]]; !ok {
			at[keys[i]] = len(ask)
			ask = append(ask, texts[i])
			askKeys = append(askKeys, keys[i])
			from = append(from, i)
		}
	}
	if len(ask) > 0 {
		got, err := c.inner.Encode(ctx, role, Texts(ask...), NeedDense)
		var one *TextError
		if errors.As(err, &one) && one.Text >= 0 && one.Text < len(from) {
			return nil, &TextError{Text: from[one.Text], Err: one.Err}
		}
		if err != nil {
			return nil, err
		}
		if len(got) != len(ask) {
			return nil, fmt.Errorf("%w: %d outputs for %d texts", ErrContract, len(got), len(ask))
		}
		if c.isProved() {
			if err := c.store(askKeys, got); err != nil {
				return nil, err
			}
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
		if c.asked[key] {
			missing = append(missing, i)
			continue
		}
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
		if len(got[i].Dense) != c.print.Dim {
			return c.lengthError(got[i].Dense)
		}
		if c.file.has(key) || c.asked[key] || CheckDense(got[i].Dense, c.print.Dim) != nil { // has: another goroutine was quicker
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

func (c *Cache) lengthError(v []float32) error {
	return fmt.Errorf("%w: %s gave a vector of length %d, not %d", ErrContract, c.print.Model, len(v), c.print.Dim)
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
func (c *Cache) Fingerprint() Fingerprint { return c.inner.Fingerprint() }

// Window is how many texts the inner encoder likes to be given at once; 0 if it does
// not say.
func (c *Cache) Window() int {
	if w, ok := c.inner.(interface{ Window() int }); ok {
		return w.Window()
	}
	return 0
}

func (c *Cache) isProved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proved
}

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
		err = fmt.Errorf("%w %s: %w", ErrCacheWrite, c.path, c.broken)
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
