package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
)

// Vectors of texts are kept below the cache folder, a file a model, so that commands
// that encode documents encode a text once. Queries are never looked up there:
// opening a file costs a pass over it.

// vectorCacheMiB is the default bound of all files together.
const vectorCacheMiB = 1024

// vectorCacheFlag declares --vector-cache.
func vectorCacheFlag(f *flags) *int {
	return f.int("vector-cache", vectorCacheMiB, "`MIB`most that vectors of texts take in the cache folder, so that unchanged texts are not encoded again; 0 keeps none")
}

// vectorCacheDir is where the vectors are kept.
func (a *app) vectorCacheDir() (string, error) {
	dir, err := a.cacheDir()
	return filepath.Join(dir, "vectors"), err
}

// cached is an encoder that keeps the vectors it gives. The file of its model gets at
// most half of the bound, those of others the rest, so that one model does not drive
// out all others. The hash encoder is faster than a file. That nothing can be kept is
// said, and no reason to encode nothing.
func (a *app) cached(enc encoder.Encoder, mib int) encoder.Encoder {
	if _, hash := enc.(*encoder.Hash); hash || mib == 0 {
		return enc
	}
	dir, err := a.vectorCacheDir()
	half := int64(mib) << 19
	if err == nil {
		err = encoder.TrimCaches(dir, enc, half)
	}
	var c *encoder.Cache
	if err == nil {
		c, err = encoder.NewCache(enc, dir, encoder.CacheOptions{MaxBytes: half})
	}
	if err != nil {
		a.notKept(err)
		return enc
	}
	return c
}

func (a *app) notKept(err error) {
	fmt.Fprintf(a.Stderr, "vectors of texts are not kept: %s\n", oneLine(err.Error()))
}

// closeEncoder closes an encoder; that its vectors could not be kept is said alone.
func (a *app) closeEncoder(enc encoder.Encoder) error {
	err := enc.Close()
	if errors.Is(err, encoder.ErrCacheWrite) {
		a.notKept(err)
		return nil
	}
	return err
}

// fromCache is how many texts an encoder had the vectors of, and how many it was asked
// for.
func fromCache(enc encoder.Encoder) (hits, texts int64) {
	c, ok := enc.(*encoder.Cache)
	if !ok {
		return 0, 0
	}
	s := c.Stats()
	return s.Hits, s.Hits + s.Misses
}

// cacheLine is the line of a report for what fromCache returned.
func cacheLine(hits, texts int64) string {
	if texts == 1 {
		return "the text had its vector from an earlier run"
	}
	return fmt.Sprintf("%s of %s texts had their vectors from an earlier run", thousands(int(hits)), thousands(int(texts)))
}

// checkVectorCache refuses bounds that are none.
func checkVectorCache(mib int) error {
	if mib < 0 || mib > 1<<20 {
		return usagef("--vector-cache %d: use MiB from 1 to %d, or 0 to keep none", mib, 1<<20)
	}
	return nil
}
