package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/lexsem/lexsem/internal/cachefile"
	"github.com/lexsem/lexsem/internal/filelock"
	"github.com/lexsem/lexsem/internal/private"
)

const (
	// defaultCacheBytes is the default of CacheOptions.MaxBytes: about 690,000 vectors of dimension
	// 384.
	defaultCacheBytes = 1 << 30
	// defaultCacheStateBytes is the default of CacheOptions.MaxStateBytes: the token states of about
	// 55,000 passages of 100 tokens at dimension 384, which take one processor minutes to encode.
	defaultCacheStateBytes = 2 << 30
)

// ErrCacheWrite is wrapped by the error of Cache.Close that says why some vectors or token states were
// not kept.
var ErrCacheWrite = errors.New("write vector cache")

// CacheOptions are the options of a Cache. The zero value is a good default.
type CacheOptions struct {
	// MaxBytes bounds the file of vectors. When it would grow larger, the oldest half is dropped. 0
	// means defaultCacheBytes.
	MaxBytes int64
	// MaxStateBytes bounds the file of token states in the same way. 0 means defaultCacheStateBytes. A
	// negative value keeps no states: requests for them go to the inner encoder.
	MaxStateBytes int64
}

// CacheStats counts the work of a Cache since it was opened.
type CacheStats struct {
	Hits      int64 // texts answered from the files
	StateHits int64 // of these, texts answered with token states
	Misses    int64 // texts that were encoded
	Damaged   int64 // records with a wrong checksum, which were encoded again
	Vectors   int   // vectors in the file
	States    int   // texts with token states in their file; 0 until states are first requested
	ReadOnly  bool  // another process holds the files, so nothing is added to them
}

// Cache is an Encoder that keeps the dense vectors of another encoder in a file, and the token states
// of passages in a second file. So each text is encoded once in the lifetime of the files. The cache
// answers requests for texts: NeedDense, and for the role Passage also NeedHidden, alone or with
// NeedDense. All other requests go to the inner encoder. These include the states of queries, which
// are short and seldom repeat.
//
// A state is stored as one signed byte a component and a scale a row. Each component differs from the
// encoder's by less than 1/250 of the largest component of its row, or by less than 1e-36. This also
// holds for a text that was just encoded, so results do not depend on the content of the file. Vectors
// are stored exactly; a request for both returns the same bits as a request for the vector alone.
//
// The first process to open the files writes to them. Other processes that open them meanwhile read
// the existing entries, add nothing, and encode the rest. The files may be deleted while no process
// has them open.
//
// An encoder that does not know its probe vectors, such as a remote one, is asked for them together
// with the first texts. If they differ from the probe vectors of the file, no stored vector is
// returned and the file is started again.
//
// Safe for concurrent use. Each entry takes about 60 bytes of memory for each file. A hit costs one
// read of the file of vectors, or two reads of the file of states, which is opened when states are
// first requested.
type Cache struct {
	inner     Encoder
	max       int64             // bytes of states; negative: none
	lock      *os.File          // nil if read-only
	asked     map[cacheKey]bool // the probe texts, if they are asked for; these are never in the files
	turn      chan struct{}     // holds a value while they are
	writing   chan struct{}     // holds a value while a file is opened, written or replaced
	dir, name string            // of the files, without what ends their names

	mu      sync.Mutex  // held for no read or write of records
	print   Fingerprint // of the files; with the probe vectors once they are proved
	proved  bool        // the encoder's probe vectors are those of the files
	closed  bool
	vectors *cacheFile
	states  *cacheFile // nil until they are asked for
	stats   CacheStats
}

// NewCache opens or creates, in dir, the files for inner's vector space. It creates dir if needed.
// Only the owner can read the folder and its cache files; existing files are tightened. The Cache then
// owns inner and closes it. A file of an encoder with other vectors, or with a damaged header, is
// started again. After an error inner stays open.
func NewCache(inner Encoder, dir string, o CacheOptions) (*Cache, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultCacheBytes)
	o.MaxStateBytes = cmp.Or(o.MaxStateBytes, defaultCacheStateBytes)
	print := inner.Fingerprint()
	c := &Cache{
		inner: inner, print: print, max: o.MaxStateBytes, dir: dir, name: print.Digest(),
		turn: make(chan struct{}, 1), writing: make(chan struct{}, 1), proved: print.Probed(),
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
	if err := private.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("open vector cache: %w; choose a folder that can be written", err)
	}
	ours := private.Ours{Files: private.Named(cachefile.Vectors, cachefile.States, cachefile.Vectors+".lock", cachefile.Vectors+".new", cachefile.States+".new"), Shared: true}
	if err := private.Tighten(dir, ours); err != nil {
		return nil, fmt.Errorf("open vector cache: %w", err)
	}
	lock, err := os.OpenFile(cachefile.Lock(dir, c.name), os.O_RDWR|os.O_CREATE, private.File)
	if err != nil {
		return nil, fmt.Errorf("open vector cache: %w; choose a folder that can be written", err)
	}
	c.vectors = &cacheFile{layout: vectorLayout(print.Dim), path: c.pathOf(cachefile.Vectors), max: o.MaxBytes}
	switch err = filelock.Try(lock, true); {
	case err == nil:
		c.lock = lock
		err = c.vectors.open(print, true)
		if err == nil && c.proved && c.vectors.header == 0 {
			err = c.vectors.begin(print)
		}
	case errors.Is(err, filelock.ErrHeld) || errors.Is(err, errors.ErrUnsupported): // without locks, no process may write
		c.stats.ReadOnly = true
		err = errors.Join(c.vectors.open(print, false), lock.Close())
	default:
		err = errors.Join(err, lock.Close())
	}
	if err != nil {
		err = errors.Join(err, c.vectors.close())
		if c.lock != nil {
			err = errors.Join(err, filelock.Release(c.lock))
		}
		return nil, fmt.Errorf("open vector cache %s: %w", c.vectors.path, err)
	}
	return c, nil
}

func (c *Cache) pathOf(suffix string) string { return filepath.Join(c.dir, c.name+suffix) }

// Stats returns the counts since the cache was opened.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	if !c.closed {
		s.Vectors = len(c.vectors.index)
	}
	if !c.closed && c.states != nil {
		s.States = len(c.states.index)
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

// Window returns how many texts the inner encoder prefers in one call, 0 if it does not say.
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
	return c.closed
}

// Close closes the files and the inner encoder, after pending writes. It also returns the error that
// kept the cache from writing.
func (c *Cache) Close() error {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.closed = true
	var err error
	for _, v := range []*cacheFile{c.vectors, c.states} {
		if v == nil {
			continue
		}
		if v.broken != nil {
			err = errors.Join(err, fmt.Errorf("%w %s: %w", ErrCacheWrite, v.path, v.broken))
		}
		err = errors.Join(err, v.close())
	}
	if c.lock != nil {
		err = errors.Join(err, filelock.Release(c.lock))
	}
	return errors.Join(err, c.inner.Close())
}
