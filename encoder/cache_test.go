package encoder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
)

const cacheDim = 32

// recordBytes is the size of a record: key, vector, checksum.
const recordBytes = 16 + 4*cacheDim + 4

// counting counts the texts that reach the encoder below the cache.
type counting struct {
	encoder.Encoder
	texts atomic.Int64
}

func (c *counting) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	c.texts.Add(int64(len(in)))
	return c.Encoder.Encode(ctx, role, in, need)
}

func openCache(t testing.TB, dir string, o encoder.CacheOptions) (*encoder.Cache, *counting) {
	t.Helper()
	inner := &counting{Encoder: encoder.NewHash(cacheDim)}
	return cacheOf(t, inner, dir, o), inner
}

// cacheOf opens the cache of an encoder until the test ends.
func cacheOf(t testing.TB, inner encoder.Encoder, dir string, o encoder.CacheOptions) *encoder.Cache {
	t.Helper()
	c, err := encoder.NewCache(inner, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, encoder.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

func closeCache(t testing.TB, c *encoder.Cache) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func cacheFile(t testing.TB, dir string) string {
	t.Helper()
	return filepath.Join(dir, encoder.NewHash(cacheDim).Fingerprint().Digest()+".vectors")
}

func numbered(from, to int) []string {
	var texts []string
	for i := from; i < to; i++ {
		texts = append(texts, fmt.Sprintf("text number %d", i))
	}
	return texts
}

func checkVectors(t testing.TB, c encoder.Encoder, texts []string) {
	t.Helper()
	want := dense(t, encoder.NewHash(cacheDim), texts...)
	for i, v := range dense(t, c, texts...) {
		if len(v) != cacheDim || dot(v, want[i]) < 0.9999 {
			t.Fatalf("wrong vector for %q", texts[i])
		}
	}
}

func TestCacheConforms(t *testing.T) {
	dir := t.TempDir()
	open := func(t *testing.T) encoder.Encoder {
		c, err := encoder.NewCache(encoder.NewHash(64), dir, encoder.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Run("empty", func(t *testing.T) { encodertest.Run(t, open) })
	t.Run("filled", func(t *testing.T) { encodertest.Run(t, open) })
}

func TestCacheServes(t *testing.T) {
	dir := t.TempDir()
	c, inner := openCache(t, dir, encoder.CacheOptions{})
	checkVectors(t, c, append(numbered(0, 10), numbered(0, 10)...)) // each twice in a batch
	if got := inner.texts.Load(); got != 10 {
		t.Errorf("%d texts encoded, want 10", got)
	}
	checkVectors(t, c, numbered(5, 15))
	if got := inner.texts.Load(); got != 15 {
		t.Errorf("%d texts encoded, want 15", got)
	}
	if s := c.Stats(); s.Hits != 5 || s.Misses != 25 || s.Vectors != 15 {
		t.Errorf("stats %+v", s)
	}
	// Roles are kept apart.
	if _, err := c.Encode(t.Context(), encoder.Query, encoder.Texts(numbered(0, 1)...), encoder.NeedDense); err != nil || inner.texts.Load() != 16 {
		t.Errorf("a query was answered with a passage's vector (%v)", err)
	}
	closeCache(t, c)
	c, inner = openCache(t, dir, encoder.CacheOptions{})
	checkVectors(t, c, numbered(0, 15))
	if got := inner.texts.Load(); got != 0 {
		t.Errorf("%d texts encoded after reopening, want 0", got)
	}
}

// TestCacheDamage cuts and flips the file at every position of its first
// records: never a wrong vector, never an error.
func TestCacheDamage(t *testing.T) {
	dir := t.TempDir()
	c, _ := openCache(t, dir, encoder.CacheOptions{})
	checkVectors(t, c, numbered(0, 4))
	closeCache(t, c)
	path := cacheFile(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := len(whole) - 4*recordBytes
	var damaged, anew int64
	try := func(b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, inner := openCache(t, dir, encoder.CacheOptions{})
		checkVectors(t, c, numbered(0, 4))
		damaged += c.Stats().Damaged
		anew += inner.texts.Load()
		inner.texts.Store(0)
		closeCache(t, c)
		c, inner = openCache(t, dir, encoder.CacheOptions{})
		checkVectors(t, c, numbered(0, 4))
		if n := inner.texts.Load(); n != 0 {
			t.Fatalf("%d texts encoded again after the repair", n)
		}
		closeCache(t, c)
	}
	step := 11
	if testing.Short() {
		step = 41
	}
	for n := 0; n < len(whole); n += step {
		try(whole[:n])
	}
	if damaged != 0 || anew == 0 {
		t.Errorf("cut files: %d damaged records, %d texts encoded; want none and some", damaged, anew)
	}
	for n := 0; n < len(whole); n += step {
		b := append([]byte(nil), whole...)
		b[n] ^= 0x10
		anew = 0
		try(b)
		if n >= header && anew != 1 {
			t.Errorf("byte %d of a record flipped: %d texts encoded anew, want 1", (n-header)%recordBytes, anew)
		}
	}
	if damaged == 0 {
		t.Error("no flipped byte was counted")
	}
}

func TestCacheBound(t *testing.T) {
	dir := t.TempDir()
	const room = 100 * recordBytes
	bound := int64(len(headerOf(t)) + room)
	c, inner := openCache(t, dir, encoder.CacheOptions{MaxBytes: bound})
	for i := range 35 {
		checkVectors(t, c, numbered(10*i, 10*i+10))
		if info, err := os.Stat(cacheFile(t, dir)); err != nil || info.Size() > bound {
			t.Fatalf("%v, %v; the bound is %d", info.Size(), err, bound)
		}
	}
	inner.texts.Store(0)
	checkVectors(t, c, numbered(310, 350)) // the newest are there still
	if n := inner.texts.Load(); n != 0 {
		t.Errorf("%d of the newest 40 texts were dropped", n)
	}
	checkVectors(t, c, numbered(1000, 1200)) // more than fits at once
	closeCache(t, c)
	c, _ = openCache(t, dir, encoder.CacheOptions{MaxBytes: bound})
	checkVectors(t, c, numbered(0, 350))
}

func headerOf(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	c, _ := openCache(t, dir, encoder.CacheOptions{})
	closeCache(t, c)
	b, err := os.ReadFile(cacheFile(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCacheTwoAtOnce: the second to open reads, and adds nothing.
func TestCacheTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	a, _ := openCache(t, dir, encoder.CacheOptions{})
	checkVectors(t, a, numbered(0, 10))
	b, inner := openCache(t, dir, encoder.CacheOptions{})
	checkVectors(t, b, numbered(0, 20))
	if !b.Stats().ReadOnly || a.Stats().ReadOnly || inner.texts.Load() != 10 {
		t.Errorf("second: %+v, %d texts encoded", b.Stats(), inner.texts.Load())
	}
	checkVectors(t, a, numbered(20, 30))
	checkVectors(t, b, numbered(0, 30))
	closeCache(t, a)
	closeCache(t, b)
	c, inner := openCache(t, dir, encoder.CacheOptions{})
	if c.Stats().ReadOnly || c.Stats().Vectors != 20 {
		t.Errorf("third: %+v", c.Stats())
	}
	checkVectors(t, c, numbered(0, 30))
	if inner.texts.Load() != 10 {
		t.Errorf("%d texts encoded, want 10", inner.texts.Load())
	}
}

// other has the name of a Hash but other vectors.
type other struct{ *encoder.Hash }

func (o other) Fingerprint() encoder.Fingerprint {
	f := o.Hash.Fingerprint()
	for i := range f.Probe {
		f.Probe[i] = f.Probe[(i+1)%len(f.Probe)]
	}
	return f
}

func TestCacheOfAnotherEncoder(t *testing.T) {
	dir := t.TempDir()
	c, _ := openCache(t, dir, encoder.CacheOptions{})
	checkVectors(t, c, numbered(0, 10))
	closeCache(t, c)
	d, err := encoder.NewCache(other{encoder.NewHash(cacheDim)}, dir, encoder.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := d.Stats().Vectors; n != 0 {
		t.Errorf("%d vectors of another encoder were taken over", n)
	}
	closeCache(t, d)
}

func TestCacheConcurrent(t *testing.T) {
	c, _ := openCache(t, t.TempDir(), encoder.CacheOptions{MaxBytes: 200 * recordBytes})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				texts := numbered(10*(g+i), 10*(g+i)+20)
				want := dense(t, encoder.NewHash(cacheDim), texts...)
				out, err := c.Encode(context.Background(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
				if err != nil {
					t.Error(err)
					return
				}
				for k := range out {
					if dot(out[k].Dense, want[k]) < 0.9999 {
						t.Errorf("wrong vector for %q", texts[k])
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestCacheFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.NewCache(encoder.NewHash(8), file, encoder.CacheOptions{}); err == nil {
		t.Error("a file was taken for a folder")
	}
}
