package encoder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/cachefile"
)

// source is an encoder that does not know its probe vectors, as those behind a URL, and
// may begin to answer otherwise.
type source struct {
	*encoder.Hash
	turned, broken bool
	refused        string
	calls, texts   int
}

func (s *source) Fingerprint() encoder.Fingerprint {
	f := s.Hash.Fingerprint()
	f.Probe = [4][]float32{}
	return f
}

func (s *source) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	s.calls++
	s.texts += len(in)
	for i := range in {
		if in[i].Text == s.refused {
			return nil, &encoder.TextError{Text: i, Err: errors.New("refused")}
		}
	}
	out, err := s.Hash.Encode(ctx, role, in, need)
	for i := range out {
		if v := out[i].Dense; s.turned {
			v[0], v[1], v[2] = v[1], v[2], v[0]+0.2
		}
		if s.broken {
			clear(out[i].Dense)
		}
	}
	return out, err
}

func openSource(t *testing.T, dir string, turned bool) (*encoder.Cache, *source) {
	t.Helper()
	s := &source{Hash: encoder.NewHash(cacheDim), turned: turned}
	c, err := encoder.NewCache(s, dir, encoder.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Fingerprint().Probed() {
		t.Fatal("the fingerprint has probe vectors that the encoder does not know")
	}
	return c, s
}

// ask encodes texts, and holds the vectors to those of a source without a cache.
func ask(t *testing.T, c *encoder.Cache, role encoder.Role, turned bool, texts []string) {
	t.Helper()
	got, err := c.Encode(t.Context(), role, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	want, err := (&source{Hash: encoder.NewHash(cacheDim), turned: turned}).Encode(t.Context(), role, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil || len(got) != len(texts) {
		t.Fatal(len(got), err)
	}
	for i := range texts {
		if c := dot(got[i].Dense, want[i].Dense) / dot(want[i].Dense, want[i].Dense); c < 0.9999 || c > 1.0001 {
			t.Fatalf("%q: a vector of another source: %v", texts[i], c)
		}
	}
}

// TestCacheOfASource: what a source behind a URL gave is given again only once it
// has shown that it still gives the same.
func TestCacheOfASource(t *testing.T) {
	dir := t.TempDir()
	check := func(when string, c *encoder.Cache, s *source, calls, texts int, hits int64) {
		t.Helper()
		if s.calls != calls || s.texts != texts || c.Stats().Hits != hits {
			t.Errorf("%s: %d calls of %d texts, want %d of %d; %+v, want %d hits", when, s.calls, s.texts, calls, texts, c.Stats(), hits)
		}
	}
	c, s := openSource(t, dir, false)
	ask(t, c, encoder.Passage, false, numbered(0, 10))
	check("first", c, s, 1, 14, 0)
	ask(t, c, encoder.Passage, false, numbered(5, 12))
	check("more", c, s, 2, 16, 5)
	ask(t, c, encoder.Passage, false, append(numbered(0, 1), encoder.ProbeTexts[:]...)) // always asked for
	check("probe texts", c, s, 3, 20, 6)
	closeCache(t, c)

	c, s = openSource(t, dir, false)
	ask(t, c, encoder.Passage, false, numbered(0, 12))
	check("reopened", c, s, 1, 4, 12)
	closeCache(t, c)

	c, s = openSource(t, dir, false)
	ask(t, c, encoder.Query, false, numbered(0, 1))
	ask(t, c, encoder.Passage, false, numbered(0, 12))
	check("with a query first", c, s, 2, 5, 12)
	// A second one reads, and finds itself to be another.
	reader, rs := openSource(t, dir, true)
	ask(t, reader, encoder.Passage, true, numbered(0, 12))
	check("turned, reading", reader, rs, 2, 4+12, 0)
	closeCache(t, reader)
	closeCache(t, c)

	c, s = openSource(t, dir, true)
	ask(t, c, encoder.Passage, true, numbered(10, 20))
	check("turned", c, s, 2, 8+4+10, 0)
	ask(t, c, encoder.Passage, true, numbered(0, 20))
	closeCache(t, c)
	c, s = openSource(t, dir, true)
	ask(t, c, encoder.Passage, true, numbered(0, 20))
	check("turned, reopened", c, s, 1, 4, 20)
	closeCache(t, c)
}

// TestCacheKeepsNoRefusal: an error names the place of the text in the caller's slice,
// and neither it nor a vector that is none is kept.
func TestCacheKeepsNoRefusal(t *testing.T) {
	dir := t.TempDir()
	c, s := openSource(t, dir, false)
	ask(t, c, encoder.Passage, false, numbered(0, 3))
	s.refused = "text number 7"
	var refused *encoder.TextError
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(numbered(0, 10)...), encoder.NeedDense); !errors.As(err, &refused) || refused.Text != 7 {
		t.Fatalf("%v", err)
	}
	s.refused, s.broken = "", true
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(numbered(0, 10)...), encoder.NeedDense); err != nil {
		t.Fatal(err)
	}
	s.broken = false
	ask(t, c, encoder.Passage, false, numbered(0, 10))
	closeCache(t, c)
}

// TestTrimCaches removes what was not used for longest, and nothing that is in use.
func TestTrimCaches(t *testing.T) {
	dir := t.TempDir()
	if files, err := cachefile.Files(filepath.Join(dir, "none")); err != nil || len(files) > 0 {
		t.Fatal(files, err)
	}
	fill := func(dim int) encoder.Encoder {
		enc := encoder.NewHash(dim)
		c, err := encoder.NewCache(enc, dir, encoder.CacheOptions{})
		if err == nil {
			_, err = c.Encode(t.Context(), encoder.Passage, encoder.Texts(numbered(0, 10)...), encoder.NeedDense)
		}
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(time.Duration(dim-100) * time.Hour) // the smaller, the older
		if err := os.Chtimes(filepath.Join(dir, enc.Fingerprint().Digest()+".vectors"), then, then); err != nil {
			t.Fatal(err)
		}
		return enc
	}
	var encs []encoder.Encoder
	for dim := 10; dim < 15; dim++ {
		encs = append(encs, fill(dim))
	}
	held, err := encoder.NewCache(encoder.NewHash(11), dir, encoder.CacheOptions{}) // the newest now
	if err != nil {
		t.Fatal(err)
	}
	files, err := cachefile.Files(dir)
	if err != nil || len(files) != 5 || filepath.Base(files[0].Path) != encs[1].Fingerprint().Digest()+".vectors" {
		t.Fatalf("%v, %v", files, err)
	}
	left := func(want ...int) {
		t.Helper()
		files, err := cachefile.Files(dir)
		there := map[string]bool{}
		for _, f := range files {
			there[filepath.Base(f.Path)] = true
		}
		for _, i := range want {
			if !there[encs[i].Fingerprint().Digest()+".vectors"] {
				t.Errorf("file %d is gone", i)
			}
		}
		if err != nil || len(files) != len(want) {
			t.Errorf("%d files, want %d: %v", len(files), len(want), err)
		}
	}
	if err := cachefile.Trim(dir, encs[0].Fingerprint().Digest(), files[0].Bytes+files[1].Bytes, 0); err != nil {
		t.Fatal(err)
	}
	left(0, 1, 4) // the own, the one in use, and the newest
	if err := cachefile.Trim(dir, encs[0].Fingerprint().Digest(), 0, 0); err != nil {
		t.Fatal(err)
	}
	left(0, 1)
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cachefile.Trim(dir, encs[0].Fingerprint().Digest(), 0, 0); err != nil {
		t.Fatal(err)
	}
	left(0)
}
