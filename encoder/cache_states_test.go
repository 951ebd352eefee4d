package encoder_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/cachefile"
)

const both = encoder.NeedDense | encoder.NeedHidden

// stated gives each text states of its own, of lengths from nothing to the largest numbers, and
// vectors whose last bits are of the call, as those of some runtimes are of the batch.
type stated struct {
	counting
	calls atomic.Int64
}

func newStated() *stated { return &stated{counting: counting{Encoder: encoder.NewHash(cacheDim)}} }

func (s *stated) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	call := s.calls.Add(1)
	out, err := s.counting.Encode(ctx, role, in, need)
	for i := range out {
		if out[i].Dense != nil {
			out[i].Dense[0] += float32(call) * 1e-7
		}
		if out[i].Hidden != nil {
			out[i].Hidden = statesOf(in[i].Text, len(out[i].Tokens.IDs))
		}
	}
	return out, err
}

// statesOf are those of a text of n tokens.
func statesOf(text string, n int) []float32 {
	var seed uint64
	for _, b := range []byte(text) {
		seed = seed*31 + uint64(b)
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	var x []float32
	for range n {
		size := [...]float64{1, 1, 1, 0, 1e-40, 1e-30, 1e30, 3e38, 40}[rng.IntN(9)]
		for range cacheDim {
			v := rng.NormFloat64() * size
			if rng.IntN(20) == 0 {
				v *= 8 // one that stands out
			}
			x = append(x, float32(max(-size, min(v/9, size))))
		}
	}
	return x
}

func openStates(t testing.TB, dir string, o encoder.CacheOptions) (*encoder.Cache, *stated) {
	t.Helper()
	inner := newStated()
	return cacheOf(t, inner, dir, o), inner
}

func statesFile(dir string) string {
	return filepath.Join(dir, encoder.NewHash(cacheDim).Fingerprint().Digest()+".states")
}

// checkStates asks for texts and holds the states to those of the encoder.
func checkStates(t testing.TB, c *encoder.Cache, texts []string, need encoder.Need) []encoder.Output {
	t.Helper()
	out, err := c.Encode(context.Background(), encoder.Passage, encoder.Texts(texts...), need)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		fresh := statesOf(texts[i], len(o.Tokens.IDs))
		if len(o.Tokens.IDs) < 2 || len(o.Hidden) != len(fresh) || (o.Dense != nil) != (need&encoder.NeedDense != 0) {
			t.Fatalf("%q: %d tokens, %d numbers of states, want %d; %d of the vector", texts[i], len(o.Tokens.IDs), len(o.Hidden), len(fresh), len(o.Dense))
		}
		for r := 0; r < len(fresh); r += cacheDim {
			var top float64
			for _, x := range fresh[r : r+cacheDim] {
				top = max(top, math.Abs(float64(x)))
			}
			for k := r; k < r+cacheDim; k++ {
				if d := math.Abs(float64(fresh[k]) - float64(o.Hidden[k])); !(d <= max(top/250, 1e-36)) {
					t.Fatalf("%q: %g is kept as %g in a row up to %g", texts[i], fresh[k], o.Hidden[k], top)
				}
			}
		}
	}
	return out
}

// phrases are texts of several lengths.
func phrases(from, to int) []string {
	texts := numbered(from, to)
	for i := range texts {
		texts[i] += strings.Repeat(" and more", (from+i)%7)
	}
	return texts
}

// TestCacheStates: texts in any order, with states or without, from the file or not: the states
// are within their bound and always the same, so are the vectors, and nothing is encoded twice.
func TestCacheStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 30 {
		dir := t.TempDir()
		vectors, states := map[string][]float32{}, map[string][]float32{}
		have := map[string]encoder.Need{} // what is in the files
		for range 1 + rng.IntN(3) {
			c, inner := openStates(t, dir, encoder.CacheOptions{})
			for range 4 {
				need := [...]encoder.Need{encoder.NeedDense, encoder.NeedHidden, both}[rng.IntN(3)]
				var texts []string
				for range rng.IntN(12) {
					texts = append(texts, phrases(0, 30)[rng.IntN(30)])
				}
				missing := map[string]bool{}
				for _, text := range texts {
					if have[text]&need != need {
						missing[text] = true
						have[text] |= need | encoder.NeedDense
					}
				}
				inner.texts.Store(0)
				var out []encoder.Output
				if need == encoder.NeedDense {
					var err error
					if out, err = c.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), need); err != nil {
						t.Fatal(err)
					}
				} else {
					out = checkStates(t, c, texts, need)
				}
				if n := inner.texts.Load(); n != int64(len(missing)) {
					t.Fatalf("%d texts encoded, want %d", n, len(missing))
				}
				for i, o := range out {
					if !reflect.DeepEqual(o.Tokens, c.Tokenize(encoder.Passage, texts[i])) {
						t.Fatalf("tokens of %q", texts[i])
					}
					for _, of := range []struct {
						need encoder.Need
						got  []float32
						seen map[string][]float32
					}{{encoder.NeedDense, o.Dense, vectors}, {encoder.NeedHidden, o.Hidden, states}} {
						if need&of.need == 0 {
							if of.got != nil {
								t.Fatal("more than was asked for")
							}
							continue
						}
						if before, ok := of.seen[texts[i]]; ok && !slices.Equal(before, of.got) {
							t.Fatalf("%q: other numbers than before", texts[i])
						}
						of.seen[texts[i]] = slices.Clone(of.got)
						clear(of.got) // they belong to the caller
					}
				}
			}
			closeCache(t, c)
		}
	}
}

func TestCacheStatesCounts(t *testing.T) {
	dir := t.TempDir()
	c, _ := openStates(t, dir, encoder.CacheOptions{})
	checkStates(t, c, phrases(0, 10), both)
	checkStates(t, c, phrases(5, 15), both)
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(phrases(0, 12)...), encoder.NeedDense); err != nil {
		t.Fatal(err)
	}
	if s, want := c.Stats(), (encoder.CacheStats{Hits: 17, StateHits: 5, Misses: 15, Vectors: 15, States: 15}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	closeCache(t, c)
	c, _ = openStates(t, dir, encoder.CacheOptions{})
	if s := c.Stats(); s.Vectors != 15 || s.States != 0 { // not opened yet
		t.Errorf("%+v", s)
	}
	checkStates(t, c, phrases(0, 1), encoder.NeedHidden)
	if s, want := c.Stats(), (encoder.CacheStats{Hits: 1, StateHits: 1, Vectors: 15, States: 15}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// TestCacheStatesOfPassagesAlone: other requests go to the encoder, whole, and leave no file; nor
// does an encoder without states, whose error comes through as it is.
func TestCacheStatesOfPassagesAlone(t *testing.T) {
	dir := t.TempDir()
	c, inner := openStates(t, dir, encoder.CacheOptions{})
	fresh := func(c *encoder.Cache, role encoder.Role, need encoder.Need) {
		t.Helper()
		out, err := c.Encode(t.Context(), role, encoder.Texts("a question"), need)
		if err != nil || !slices.Equal(out[0].Hidden, statesOf("a question", len(out[0].Tokens.IDs))) {
			t.Errorf("states of a query or without a cache: %v", err)
		}
	}
	for range 2 {
		fresh(c, encoder.Query, both)
		fresh(c, encoder.Query, encoder.NeedHidden)
	}
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), both|encoder.NeedLogits); !errors.Is(err, encoder.ErrNoLogits) {
		t.Error(err)
	}
	if n := inner.texts.Load(); n != 5 {
		t.Errorf("%d texts encoded, want 5", n)
	}
	closeCache(t, c)
	c, inner = openStates(t, dir, encoder.CacheOptions{MaxStateBytes: -1})
	for range 2 {
		fresh(c, encoder.Passage, both)
	}
	if n := inner.texts.Load(); n != 2 {
		t.Errorf("none are kept: %d texts encoded, want 2", n)
	}
	closeCache(t, c)
	calls := 0
	c, err := encoder.NewCache(encoder.Func("vectors alone", cacheDim, func(_ context.Context, texts []string) ([][]float32, error) {
		calls++
		return make([][]float32, len(texts)), nil
	}), dir, encoder.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, got := c.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), both)
	_, want := encoder.Func("vectors alone", cacheDim, nil).Encode(t.Context(), encoder.Passage, encoder.Texts("a"), both)
	if !errors.Is(got, encoder.ErrNoHidden) || got.Error() != want.Error() || calls != 0 || c.Stats().Misses != 0 {
		t.Errorf("%v, want %v; %d calls, %+v", got, want, calls, c.Stats())
	}
	closeCache(t, c)
	if c, err = encoder.NewCache(blind{encoder.NewHash(cacheDim)}, dir, encoder.CacheOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), both); err != errBlind {
		t.Errorf("%v, want %v as it is", err, errBlind)
	}
	closeCache(t, c)
	if found, err := filepath.Glob(filepath.Join(dir, "*.states*")); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}

var errBlind = fmt.Errorf("blind: %w", encoder.ErrNoHidden)

// blind gives no states, and knows its probe vectors.
type blind struct{ *encoder.Hash }

func (b blind) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if need&encoder.NeedHidden != 0 {
		return nil, errBlind
	}
	return b.Hash.Encode(ctx, role, in, need)
}

// spoiled gives states that are none.
type spoiled struct {
	*encoder.Hash
	spoil func([]float32) []float32
}

func (s spoiled) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := s.Hash.Encode(ctx, role, in, need)
	for i := range out {
		out[i].Hidden = s.spoil(out[i].Hidden)
	}
	return out, err
}

// TestCacheKeepsNoSpoiledStates: what cannot be kept is given as it came, for the caller to judge, and is asked for again.
func TestCacheKeepsNoSpoiledStates(t *testing.T) {
	for name, spoil := range map[string]func([]float32) []float32{
		"short": func(x []float32) []float32 { return x[:cacheDim] },
		"torn":  func(x []float32) []float32 { return x[:len(x)-1] },
		"none":  func(x []float32) []float32 { return nil },
		"NaN":   func(x []float32) []float32 { x[3] = float32(math.NaN()); return x },
		"inf":   func(x []float32) []float32 { x[3] = float32(math.Inf(-1)); return x },
	} {
		c, err := encoder.NewCache(spoiled{encoder.NewHash(cacheDim), spoil}, t.TempDir(), encoder.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := encoder.NewHash(cacheDim).Encode(t.Context(), encoder.Passage, encoder.Texts("some text"), both)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts("some text"), both)
			if w := spoil(slices.Clone(want[0].Hidden)); err != nil || fmt.Sprint(got[0].Hidden) != fmt.Sprint(w) || !slices.Equal(got[0].Dense, want[0].Dense) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if s := c.Stats(); s.States != 0 || s.Misses != 2 || s.Vectors != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		closeCache(t, c)
	}
}

// TestCacheStatesDamage cuts the file at every position and flips every byte of it: never a
// wrong state, never an error, and what is there afterwards is whole.
func TestCacheStatesDamage(t *testing.T) {
	dir := t.TempDir()
	texts := numbered(0, 4)
	c, _ := openStates(t, dir, encoder.CacheOptions{})
	want := checkStates(t, c, texts, both)
	closeCache(t, c)
	path := statesFile(dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := 16 + 4 + 4 + len(want[0].Tokens.IDs)*(4+cacheDim) + 4
	header := len(whole) - 4*record
	var damaged int64
	try := func(b []byte) (anew int64) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			c, inner := openStates(t, dir, encoder.CacheOptions{})
			if got := checkStates(t, c, texts, both); !reflect.DeepEqual(got, want) {
				t.Fatal("other states, or vectors")
			}
			if damaged += c.Stats().Damaged; anew > 0 && inner.texts.Load() > 0 {
				t.Fatal("encoded again after the repair")
			}
			anew += inner.texts.Load()
			closeCache(t, c)
		}
		return anew
	}
	step := 29
	if testing.Short() {
		step = 83
	}
	for n := 0; n < len(whole); n += step {
		if anew, there := try(whole[:n]), max(0, n-header)/record; n >= header && anew != int64(4-there) {
			t.Fatalf("cut in record %d: %d texts encoded anew", there, anew)
		}
	}
	if damaged != 0 {
		t.Errorf("cut files: %d damaged records", damaged)
	}
	flips := []int{header + record, header + record + 15, header + record + 16, header + record + 18, header + record + 23} // in a head
	for n := 0; n < len(whole); n += step {
		flips = append(flips, n)
	}
	for _, n := range flips {
		b := slices.Clone(whole)
		b[n] ^= 0x10
		anew := try(b)
		at, in := (n-header)/record, (n-header)%record
		switch {
		case n < header:
		case in < 24 && anew != int64(4-at): // where it ends is not known
			t.Fatalf("byte %d, in the head of record %d: %d texts encoded anew", n, at, anew)
		case in >= 24 && anew != 1:
			t.Fatalf("byte %d of record %d: %d texts encoded anew", in, at, anew)
		}
	}
	if damaged == 0 {
		t.Error("no flipped byte was counted")
	}
	if err := os.WriteFile(path, whole[:len(whole)-3], 0o644); err != nil {
		t.Fatal(err)
	}
	c, _ = openStates(t, dir, encoder.CacheOptions{})
	checkStates(t, c, texts[:1], encoder.NeedHidden)
	closeCache(t, c)
	if info, err := os.Stat(path); err != nil || info.Size() != int64(len(whole)-record) {
		t.Errorf("a torn record was not cut off: %v bytes, want %d (%v)", info.Size(), len(whole)-record, err)
	}
}

// TestCacheStatesBound: the file stays within its bound, the newest states stay, and the
// vectors, whose bound is another, do.
func TestCacheStatesBound(t *testing.T) {
	dir := t.TempDir()
	const bound = 64 << 10
	c, inner := openStates(t, dir, encoder.CacheOptions{MaxStateBytes: bound})
	most := int64(0)
	for i := range 40 {
		checkStates(t, c, phrases(10*i, 10*i+10), both)
		info, err := os.Stat(statesFile(dir))
		if err != nil || info.Size() > bound {
			t.Fatalf("%v, %v; the bound is %d", info.Size(), err, bound)
		}
		most = max(most, info.Size())
	}
	if most < bound*3/4 {
		t.Errorf("no more than %d bytes of %d were used", most, bound)
	}
	inner.texts.Store(0)
	checkStates(t, c, phrases(350, 400), both)
	if n := inner.texts.Load(); n != 0 {
		t.Errorf("%d of the newest 50 texts were dropped", n)
	}
	checkStates(t, c, phrases(0, 10), both)
	if n := inner.texts.Load(); n != 10 {
		t.Errorf("%d of the oldest 10 texts were encoded", n)
	}
	before := c.Stats().States
	checkStates(t, c, phrases(1000, 1500), both) // more than fits at once drops nothing
	if n := c.Stats().States; n != before {
		t.Errorf("%d states, %d before", n, before)
	}
	closeCache(t, c)
	c, inner = openStates(t, dir, encoder.CacheOptions{MaxStateBytes: bound})
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(phrases(0, 400)...), encoder.NeedDense); err != nil || inner.texts.Load() != 0 {
		t.Errorf("%v; %d vectors were dropped with the states", err, inner.texts.Load())
	}
	checkStates(t, c, phrases(0, 400), both)
	checkStates(t, c, numbered(0, 1), both)
	if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestCacheStatesTwoAtOnce: the second to open reads, and adds nothing.
func TestCacheStatesTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	a, _ := openStates(t, dir, encoder.CacheOptions{})
	early, earlyInner := openStates(t, dir, encoder.CacheOptions{})
	checkStates(t, early, phrases(0, 5), both) // there is no file yet
	checkStates(t, a, phrases(0, 10), both)
	b, inner := openStates(t, dir, encoder.CacheOptions{})
	checkStates(t, b, phrases(0, 20), both)
	if !b.Stats().ReadOnly || inner.texts.Load() != 10 || b.Stats().States != 10 || earlyInner.texts.Load() != 5 {
		t.Errorf("second: %+v, %d texts encoded", b.Stats(), inner.texts.Load())
	}
	checkStates(t, a, phrases(20, 30), both)
	checkStates(t, b, phrases(0, 30), both)
	for _, c := range []*encoder.Cache{a, b, early} {
		closeCache(t, c)
	}
	c, inner := openStates(t, dir, encoder.CacheOptions{})
	checkStates(t, c, phrases(0, 30), both)
	if n := inner.texts.Load(); n != 10 || c.Stats().ReadOnly {
		t.Errorf("third: %d texts encoded, want 10", n)
	}
}

// TestCacheStatesThatCannotBeOpened: texts are encoded, and Close tells why nothing was kept.
func TestCacheStatesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(statesFile(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	c, inner := openStates(t, dir, encoder.CacheOptions{})
	for range 2 {
		checkStates(t, c, phrases(0, 5), both)
	}
	if n := inner.texts.Load(); n != 10 || c.Stats().Vectors != 5 {
		t.Errorf("%d texts encoded; %+v", n, c.Stats())
	}
	if err := c.Close(); !errors.Is(err, encoder.ErrCacheWrite) || !strings.Contains(err.Error(), ".states") {
		t.Error(err)
	}
}

// TestCacheStatesConcurrent: callers at once, in a file that is replaced all the time.
func TestCacheStatesConcurrent(t *testing.T) {
	dir := t.TempDir()
	c, _ := openStates(t, dir, encoder.CacheOptions{MaxBytes: 300 * recordBytes, MaxStateBytes: 128 << 10})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				from := 10 * (g + i)
				checkStates(t, c, phrases(from, from+20), []encoder.Need{both, encoder.NeedHidden}[i%2])
				c.Stats()
			}
		})
	}
	wg.Wait()
	closeCache(t, c)
	for _, call := range []func() error{c.Close, func() error {
		_, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), both)
		return err
	}} {
		if err := call(); !errors.Is(err, encoder.ErrClosed) {
			t.Error(err)
		}
	}
}

// TestCacheStatesOfASource: a source that answers otherwise than it did gets none of its old states.
func TestCacheStatesOfASource(t *testing.T) {
	dir := t.TempDir()
	states := func(turned bool, calls, texts int) {
		t.Helper()
		c, s := openSource(t, dir, turned)
		out, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(numbered(0, 10)...), both)
		if err != nil || len(out) != 10 || len(out[9].Hidden) != len(out[9].Tokens.IDs)*cacheDim {
			t.Fatal(err)
		}
		if s.calls != calls || s.texts != texts {
			t.Errorf("%d calls of %d texts, want %d of %d", s.calls, s.texts, calls, texts)
		}
		ask(t, c, encoder.Passage, turned, numbered(0, 10))
		if s.calls != calls {
			t.Error("the vectors were not kept")
		}
		closeCache(t, c)
	}
	states(false, 2, 4+10)
	states(false, 1, 4)
	c, s := openSource(t, dir, true)
	if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(numbered(0, 10)...), encoder.NeedHidden); err != nil || s.texts != 4+10 {
		t.Errorf("%d texts, %v; none of the states are of this source", s.texts, err)
	}
	closeCache(t, c)
	states(true, 1, 4)
	// The probe texts are asked for each time.
	c, s = openSource(t, dir, true)
	for range 2 {
		if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(encoder.ProbeTexts[:]...), both); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Stats(); s.texts != 12 || n.States != 10 || n.Vectors != 10 || n.Misses != 0 {
		t.Errorf("%d texts, want 12; %+v", s.texts, n)
	}
	closeCache(t, c)
}

// TestTrimCachesOfStates: states have a bound of their own, and go with no file that is in use.
func TestTrimCachesOfStates(t *testing.T) {
	dir := t.TempDir()
	fill := func(dim int) encoder.Encoder {
		enc := encoder.NewHash(dim)
		c, err := encoder.NewCache(enc, dir, encoder.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Encode(t.Context(), encoder.Passage, encoder.Texts(numbered(0, 10)...), both); err != nil {
			t.Fatal(err)
		}
		closeCache(t, c)
		for _, suffix := range []string{".vectors", ".states"} {
			then := time.Now().Add(time.Duration(dim-100) * time.Hour) // the smaller, the older
			if err := os.Chtimes(filepath.Join(dir, enc.Fingerprint().Digest()+suffix), then, then); err != nil {
				t.Fatal(err)
			}
		}
		return enc
	}
	own, held, old, young := fill(10), fill(11), fill(12), fill(13)
	writer, err := encoder.NewCache(encoder.NewHash(11), dir, encoder.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := func(want ...string) {
		t.Helper()
		files, err := cachefile.Files(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			if f.States != strings.HasSuffix(f.Path, ".states") {
				t.Error(f)
			}
			got = append(got, filepath.Base(f.Path))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("left are %v, want %v", got, want)
		}
	}
	v := func(e encoder.Encoder) string { return e.Fingerprint().Digest() + ".vectors" }
	s := func(e encoder.Encoder) string { return e.Fingerprint().Digest() + ".states" }
	const all = 1 << 20
	left(v(own), s(own), v(held), s(held), v(old), s(old), v(young), s(young))
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := cachefile.Trim(dir, own.Fingerprint().Digest(), all, size(s(young))); err != nil {
		t.Fatal(err)
	}
	left(v(own), s(own), v(held), s(held), v(old), v(young), s(young))
	if err := cachefile.Trim(dir, own.Fingerprint().Digest(), 0, all); err != nil {
		t.Fatal(err)
	}
	left(v(own), s(own), v(held), s(held), s(young))
	if err := cachefile.Trim(dir, own.Fingerprint().Digest(), 0, 0); err != nil {
		t.Fatal(err)
	}
	left(v(own), v(held), s(held))
	closeCache(t, writer)
	if err := cachefile.Trim(dir, own.Fingerprint().Digest(), 0, 0); err != nil {
		t.Fatal(err)
	}
	left(v(own))
	held, old, young = fill(11), fill(12), fill(13)
	if err := cachefile.Trim(dir, own.Fingerprint().Digest(), all, size(s(young))+size(s(held))); err != nil {
		t.Fatal(err)
	}
	left(v(own), v(held), s(held), v(old), v(young), s(young)) // what goes makes room for older ones
}
