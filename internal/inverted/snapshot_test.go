package inverted_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/internal/text"
)

var tags = []string{"w.head", "w.text", "w.textat", "w.textix", "w.lists", "w.terms", "w.dead", "w.blocks", "w.posts", "w.ids", "w.idix", "w.lens", "w.fwdat", "w.fwd"}

var small = inverted.Options{Analysis: "a"}

// sample is an index with full blocks, a tail, removed documents, and ids that
// do not ascend.
func sample(t testing.TB) *inverted.Words {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	e := newWords(t, small).Edit()
	for i := range uint64(300) {
		id := i
		if i%3 == 0 {
			id |= 1 << 44
		}
		if err := e.Add(id, randomDoc(r, 40)); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint64(40) {
		if _, err := e.Remove([]uint64{7 * id}); err != nil {
			t.Fatal(err)
		}
	}
	return e.Done()
}

// sectionsOf are the payloads of a snapshot.
func sectionsOf(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, tag := range tags {
		s, err := f.Section(tag)
		if errors.Is(err, snapshot.ErrDamaged) { // of the other form
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out[tag] = bytes.Clone(s.Raw())
	}
	return out
}

// sealed is a snapshot of sections, whatever they hold, with right checksums.
func sealed(t testing.TB, sections map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, snapshot.Header{Kind: "words"})
	for _, tag := range tags {
		if s, ok := sections[tag]; ok {
			w.Begin(tag)
			if _, err := w.Write(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// use calls everything on an index, and returns the errors.
func use(t testing.TB, x *inverted.Words) (errs []error) {
	t.Helper()
	keep := func(err error) bool {
		if err != nil {
			errs = append(errs, err)
		}
		return err == nil
	}
	ctx := t.Context()
	query := terms("w0", "w1", "w2", "w7", "w30", "other")
	ids := []uint64{0, 1, 2, 5, 8, 9, 100, 299, 3 | 1<<44, 150 | 1<<44, 999}
	for _, k := range []int{1, 20, 1000} {
		_, err := x.Search(ctx, nil, query, k, nil)
		keep(err)
	}
	keep(x.Scores(ctx, make([]float64, len(ids)), query, ids))
	keep(x.Match(ctx, make([]inverted.Match, len(ids)), query, ids))
	x.UB(query)
	x.IDF("w3")
	for n := range min(x.Terms(), 8) {
		if x.Term(n); x.DF(n) > 0 {
			_, err := x.Some(n, 5)
			keep(err)
			_, _, err = x.Together(ctx, n, max(n-1, 0), 5)
			keep(err)
		}
	}
	for _, id := range ids {
		_, _, err := x.Explain(nil, query, id)
		keep(err)
		_, err = x.PairNumbers(nil, id)
		keep(err)
		_, err = x.Has(id)
		keep(err)
	}
	e := x.Edit()
	ok := keep(e.Add(1000, query)) && keep(e.Add(5, query))
	if ok {
		_, err := e.Remove(ids[2:])
		ok = keep(err)
	}
	if next := e.Done(); ok {
		_, err := next.Search(ctx, nil, query, 20, nil)
		keep(err)
		if c, err := x.Compacted(ctx); keep(err) {
			_, err := next.Rebase(x, c)
			keep(err)
		}
		keep(save(next))
	} else if next != x {
		t.Error("an edit that met damage has made a value")
	}
	keep(x.Verify(ctx))
	return errs
}

func save(x *inverted.Words) error {
	w := snapshot.NewWriter(io.Discard, snapshot.Header{Kind: "words"})
	if err := x.Save(w); err != nil {
		return err
	}
	return w.Close()
}

// TestSnapshotDamage flips a bit of every byte of every section: opening, or the
// call that meets it, fails with ErrCorrupt, and nothing else is wrong.
func TestSnapshotDamage(t *testing.T) {
	x := sample(t)
	if errs := use(t, x); errs != nil {
		t.Fatal(errs)
	}
	data := saved(t, x)
	query := terms("w0", "w1", "w5", "w33")
	want, err := x.Search(t.Context(), nil, query, 300, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, d []byte) {
		t.Helper()
		x, err := open(small, d)
		if err == nil {
			var got []inverted.Scored
			if got, err = x.Search(t.Context(), nil, query, 300, nil); err == nil && !slices.Equal(got, want) {
				t.Fatalf("%s: another answer", what)
			}
			if err = x.Verify(t.Context()); err == nil {
				t.Fatalf("%s: Verify is content", what)
			}
		}
		if !errors.Is(err, inverted.ErrCorrupt) && !errors.Is(err, snapshot.ErrDamaged) && !errors.Is(err, snapshot.ErrForeign) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for tag, section := range sectionsOf(t, data) {
		at := bytes.Index(data, section)
		for i := at; i < at+len(section); i += 1 + len(section)/200 {
			d := bytes.Clone(data)
			d[i] ^= 1 << (i % 8)
			check(fmt.Sprintf("%s, byte %d", tag, i-at), d)
		}
	}
}

// TestSnapshotMissing: an index of which a section lacks does not open.
func TestSnapshotMissing(t *testing.T) {
	for _, tag := range tags {
		s := sectionsOf(t, saved(t, sample(t)))
		if _, there := s[tag]; !there {
			continue
		}
		delete(s, tag)
		if _, err := open(small, sealed(t, s)); !errors.Is(err, inverted.ErrCorrupt) {
			t.Errorf("%s: %v", tag, err)
		}
	}
}

func TestSnapshotOfOther(t *testing.T) {
	data := saved(t, sample(t))
	for _, o := range []inverted.Options{{Analysis: "b"}, {}, {Analysis: "a", K1: 1.3, B: .75}, {Analysis: "a", K1: 1.2}} {
		if _, err := open(o, data); !errors.Is(err, inverted.ErrMismatch) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s := sectionsOf(t, data)
	s["w.head"][0]++
	if _, err := open(small, sealed(t, s)); !errors.Is(err, inverted.ErrMismatch) {
		t.Error(err)
	}
	if _, err := open(inverted.Options{K1: -1}, data); !errors.Is(err, inverted.ErrOptions) {
		t.Error(err)
	}
}

// failing fails once n bytes have passed.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestSaveError(t *testing.T) {
	x := sample(t)
	for n := 0; n < 12<<10; n += 1 << 10 {
		w := snapshot.NewWriter(&failing{n}, snapshot.Header{Kind: "words"})
		err := x.Save(w)
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

// lie changes numbers of sections as data says: a section, a place and four
// bytes each, which are put there or added to what is there.
func lie(s map[string][]byte, data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		b := s[tags[int(data[0]&0x7f)%len(tags)]]
		if len(b) < 4 {
			continue
		}
		at := int(binary.LittleEndian.Uint16(data[1:])) * 4 % (len(b) - 3)
		if data[3]&1 != 0 {
			at = (at + int(data[3]>>1)) % (len(b) - 3)
		}
		v := binary.LittleEndian.Uint32(data[4:])
		if data[0]&0x80 != 0 {
			v = binary.LittleEndian.Uint32(b[at:]) + uint32(int32(v)>>28)
		}
		binary.LittleEndian.PutUint32(b[at:], v)
	}
}

// tell opens an index whose numbers lie, and uses it: every error is typed,
// nothing panics, and what is taken for it is bounded.
func tell(t testing.TB, o inverted.Options, sections map[string][]byte, data []byte) (sound bool) {
	s := map[string][]byte{}
	for tag, b := range sections {
		s[tag] = bytes.Clone(b)
	}
	lie(s, data)
	file := sealed(t, s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x, err := open(o, file)
	errs := []error{err}
	if err == nil {
		errs = use(t, x)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Fatalf("%x: %d bytes allocated for %d", data, used, len(file))
	}
	for _, err := range errs {
		if !errors.Is(err, inverted.ErrCorrupt) && !errors.Is(err, inverted.ErrMismatch) && !errors.Is(err, inverted.ErrTerm) {
			t.Fatalf("%x: %v", data, err)
		}
	}
	return len(errs) == 0
}

// TestLies is FuzzLies over random lies, some of which Verify must have found, of words and of impacts.
func TestLies(t *testing.T) {
	lies(t, small, sample(t))
	lies(t, impacts, weighed(t))
}

var impacts = inverted.ImpactOptions("a")

// weighed is sample with impacts of words.
func weighed(t testing.TB) *inverted.Words {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	e := newWords(t, impacts).Edit()
	for i := range uint64(300) {
		var ws []inverted.Weighted
		for term := range int32(200) {
			if r.IntN(8) == 0 {
				ws = append(ws, inverted.Weighted{Term: term, Weight: 3 * r.Float32()})
			}
		}
		terms, err := inverted.ImpactTerms(nil, inverted.AppendImpacts(nil, ws))
		if err == nil {
			err = e.Add(i, terms)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Remove([]uint64{3, 44, 205}); err != nil {
		t.Fatal(err)
	}
	return e.Done()
}

// TestImpactsSnapshot: an index of impacts is the same after it was saved, opened and compacted, and takes few bytes
// for a word of a passage, however large its weight is. Another kind of index does not open it.
func TestImpactsSnapshot(t *testing.T) {
	x := weighed(t)
	if errs := use(t, x); errs != nil {
		t.Fatal(errs)
	}
	data := saved(t, x)
	y, err := open(impacts, data)
	if err != nil {
		t.Fatal(err)
	}
	z, err := y.Compacted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	query := x.ImpactQuery([]inverted.Weighted{{Term: 3, Weight: 2}, {Term: 77, Weight: .4}, {Term: 150, Weight: 1}})
	want, err := x.Search(t.Context(), nil, query, 50, nil)
	if err != nil || len(want) != 50 {
		t.Fatalf("%d found, %v", len(want), err)
	}
	for i, other := range []*inverted.Words{y, z} {
		if errs := use(t, other); errs != nil {
			t.Errorf("%d: %v", i, errs)
		}
		if got, err := other.Search(t.Context(), nil, query, 50, nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: another answer, %v", i, err)
		}
	}
	if n := len(sectionsOf(t, data)["w.fwd"]); n > 300*25*3 {
		t.Errorf("300 passages of 25 words have forward lists of %d bytes", n)
	}
	if _, err := open(inverted.Options{K1: 1000, Analysis: "a"}, data); !errors.Is(err, inverted.ErrMismatch) {
		t.Errorf("opened as words: %v", err)
	}
}

func lies(t *testing.T, o inverted.Options, x *inverted.Words) {
	sections := sectionsOf(t, saved(t, x))
	r := rand.New(rand.NewPCG(6, 6))
	n, sound := 300, 0
	if trial.Long() {
		n = 700
	}
	for range n {
		data := make([]byte, 8*(1+r.IntN(3)))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if r.IntN(2) == 0 { // a small number
			copy(data[5:], []byte{0, 0, 0})
		}
		if tell(t, o, sections, data) {
			sound++
		}
	}
	// What is not found is what Verify does not look at: entries of tables that
	// no term and no id leads to, and lies that change nothing.
	if sound > n/5 {
		t.Errorf("%d of %d lies were not found", sound, n)
	}
}

// FuzzLies: whatever numbers a snapshot with right checksums holds, calls give
// typed errors or answers.
func FuzzLies(f *testing.F) {
	sections := sectionsOf(f, saved(f, sample(f)))
	f.Add([]byte{4, 1, 0, 0, 255, 255, 255, 255})
	f.Add([]byte{0x84, 1, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) { tell(t, small, sections, data) })
}

// TestVerify finds postings that disagree with the documents, though each is
// sound in itself.
func TestVerify(t *testing.T) {
	e := newWords(t, small).Edit()
	for id := range uint64(3) {
		if err := e.Add(id, terms("a", "b")); err != nil {
			t.Fatal(err)
		}
	}
	x := e.Done()
	if err := x.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := sectionsOf(t, saved(t, x))
	for _, c := range []struct {
		tag string
		at  int
		to  byte
	}{
		{"w.posts", 0, 2},  // term a is in document 1 first
		{"w.terms", 1, 2},  // two documents have a
		{"w.fwd", 2, 2},    // document 0 is b b
		{"w.lens", 0, 3},   // and has three terms
		{"w.ids", 0, 9},    // and is document 9
		{"w.head", 36, 7},  // there are seven terms in all
		{"w.text", 0, 'b'}, // term a is b, as the other one
	} {
		b := bytes.Clone(s[c.tag])
		s[c.tag][c.at] = c.to
		y, err := open(small, sealed(t, s))
		if err != nil {
			t.Fatalf("%s: %v", c.tag, err)
		}
		if err := y.Verify(t.Context()); !errors.Is(err, inverted.ErrCorrupt) {
			t.Errorf("%s: %v", c.tag, err)
		}
		s[c.tag] = b
	}
}

// TestOpenIsFast: opening does not depend on the number of documents, but for
// that of the terms; and an edit of one document on a snapshot copies little.
func TestOpenIsFast(t *testing.T) {
	e := newWords(t, small).Edit()
	doc := make([]text.Term, 20)
	r := rand.New(rand.NewPCG(1, 1))
	for id := range uint64(10_000) {
		for i := range doc {
			doc[i].Text = zipf(r, 3000)
		}
		if err := e.Add(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "words")
	if err := snapshot.Write(path, snapshot.Header{Kind: "words"}, e.Done().Save); err != nil {
		t.Fatal(err)
	}
	const most = 10 * time.Millisecond
	best := time.Hour
	var x *inverted.Words
	for try := 0; try < 3 || try < 50 && best > most; try++ { // the machine may be busy
		start := time.Now()
		f, err := snapshot.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if x, err = inverted.OpenWords(small, f); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
		defer f.Close()
	}
	if best > most {
		t.Errorf("opening 10,000 documents takes %v", best)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := uint64(10_000)
	for range 20 {
		e := x.Edit()
		if err := e.Add(n, doc); err != nil {
			t.Fatal(err)
		}
		x, n = e.Done(), n+1
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) / 20; used > 64<<10 {
		t.Errorf("an edit of one document allocates %d bytes", used)
	}
}

// TestShortTerms: any change of the short form of terms is found, by opening or by Verify, and by no panic.
func TestShortTerms(t *testing.T) {
	e := newWords(t, small).Edit()
	for id := range uint64(300) { // with full blocks
		if err := e.Add(id, terms("a", "bb", fmt.Sprint("c", id%3))); err != nil {
			t.Fatal(err)
		}
	}
	s := sectionsOf(t, saved(t, e.Done()))
	if len(s["w.terms"]) == 0 || s["w.lists"] != nil {
		t.Fatal("few terms are not saved in the short form")
	}
	if x, err := open(small, sealed(t, s)); err != nil {
		t.Fatal(err)
	} else if err := x.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, was := range s["w.terms"] {
		for to := range 256 {
			s["w.terms"][i] = byte(to)
			x, err := open(small, sealed(t, s))
			if err == nil {
				err = x.Verify(t.Context())
			}
			if (err == nil) != (byte(to) == was) || err != nil && !errors.Is(err, inverted.ErrCorrupt) {
				t.Fatalf("byte %d is %d, was %d: %v", i, to, was, err)
			}
		}
		s["w.terms"][i] = was
	}
	delete(s, "w.terms")
	if _, err := open(small, sealed(t, s)); !errors.Is(err, inverted.ErrCorrupt) {
		t.Errorf("without terms: %v", err)
	}
}
