package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/internal/cachefile"
	"github.com/lexsem/lexsem/internal/private"
)

// Vectors of texts, and on request the states of their tokens, are cached in the cache folder, two files a
// model, so that commands encode each document text once. Queries do not use the cache, since opening a file
// costs a pass over it. A database keeps its own vectors and reuses them for edited texts, so the cache serves
// other databases of the same texts.

const (
	// vectorCacheMiB is the default bound of all files of vectors together.
	vectorCacheMiB = 128
	// stateCacheMiB is the bound for token states: 0. For a passage of 100 tokens they take some 26 times as much
	// as vectors, and ten times as much as the codes that databases keep.
	stateCacheMiB = 0
)

// cacheBounds are the limits, in MiB, of cached vectors and of cached token states. The zero value keeps
// none.
type cacheBounds struct{ vectors, states int }

// cacheFlags declares --vector-cache and --state-cache.
func cacheFlags(f *flags) func() cacheBounds {
	vectors := f.int("vector-cache", vectorCacheMiB, "`MIB`most disk space for vectors of texts in the cache folder, which save encoding unchanged texts again; 0 keeps neither vectors nor token states")
	states := f.int("state-cache", stateCacheMiB, "`MIB`most disk space for token states in the cache folder, which save making other databases of the same texts; 0 keeps none, and removes those of the model")
	return func() cacheBounds { return cacheBounds{*vectors, *states} }
}

// keeping is the action of a command with the flags of the cache and --json.
func keeping(f *flags, run func(ctx context.Context, a *app, args []string, asJSON bool) error) action {
	keep := cacheFlags(f)
	asJSON := f.bool("json", "print the result as JSON")
	return func(ctx context.Context, a *app, args []string) error {
		if err := keep().check(); err != nil {
			return err
		}
		a.keep = keep()
		return run(ctx, a, args, *asJSON)
	}
}

// vectorCacheDir is the folder of cached vectors.
func (a *app) vectorCacheDir() (string, error) {
	dir, err := a.cacheDir()
	return filepath.Join(dir, "vectors"), err
}

// cached is an encoder that keeps the vectors and token states it gives. The files of its model
// get at most half of the bounds, those of others the rest, so that one model does not drive
// out all others. The hash encoder and static models are faster than a file. That nothing can be kept is
// said, and no reason to encode nothing.
func (a *app) cached(enc encoder.Encoder, keep cacheBounds) encoder.Encoder {
	_, hash := enc.(*encoder.Hash)
	if table, ok := enc.(*native.Encoder); hash || ok && table.Static() || keep.vectors == 0 {
		return enc
	}
	dir, err := a.vectorCacheDir()
	half, halfStates := int64(keep.vectors)<<19, int64(keep.states)<<19
	if err == nil {
		err = private.Tighten(dir, private.Ours{})
	}
	if err == nil {
		err = cachefile.Trim(dir, enc.Fingerprint().Digest(), half, halfStates)
	}
	var c *encoder.Cache
	if err == nil {
		if halfStates == 0 {
			halfStates = -1 // none
		}
		c, err = encoder.NewCache(enc, dir, encoder.CacheOptions{MaxBytes: half, MaxStateBytes: halfStates})
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

// closeEncoder closes an encoder. A failure of its cache is only a warning.
func (a *app) closeEncoder(enc encoder.Encoder) error {
	err := enc.Close()
	if errors.Is(err, encoder.ErrCacheWrite) {
		a.notKept(err)
		return nil
	}
	return err
}

// fromCache returns how many texts had their vectors in the cache, and how many texts were requested.
func fromCache(enc encoder.Encoder) (hits, texts int64) {
	c, ok := enc.(*encoder.Cache)
	if !ok {
		return 0, 0
	}
	s := c.Stats()
	return s.Hits, s.Hits + s.Misses
}

// cacheLine is the line of a report about the result of fromCache.
func cacheLine(hits, texts int64) string {
	if texts == 1 {
		return "the text had its vector from an earlier run"
	}
	return fmt.Sprintf("%s of %s texts had their vectors from an earlier run", thousands(int(hits)), thousands(int(texts)))
}

// check refuses invalid bounds.
func (b cacheBounds) check() error {
	for _, f := range []struct {
		name string
		mib  int
	}{{"vector-cache", b.vectors}, {"state-cache", b.states}} {
		if f.mib < 0 || f.mib > 1<<20 {
			return usagef("--%s %d: use MiB from 1 to %d, or 0 to keep none", f.name, f.mib, 1<<20)
		}
	}
	return nil
}
