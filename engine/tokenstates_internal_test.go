package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/store"
)

var keptOptions = Options{TokenStates: TokenStatesOn, ChunkTokens: 60, NoSync: true}

// fineOptions are for tests that compare with states: codes of two bits lose much of those of the hash encoder.
var fineOptions = Options{TokenStates: TokenStatesOn, TokenBits: 4, ChunkTokens: 60, NoSync: true}

// tokenProbes are queries of every kind that compares tokens, and of some that do not.
var tokenProbes = append(closedForms()[:6], Query{Text: "y1200 on z4", Mode: ModeDense, Fusion: fusion.Options{Tokens: 1}, K: 5000})

// codedAll fails the test where a chunk's codes are not what its text makes by the
// basis that they name.
func codedAll(t *testing.T, when string, e *Engine) {
	t.Helper()
	s := e.db.Present()
	n := 0
	for ord := range s.Live.All {
		d, err := s.View.Get(t.Context(), ord)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range e.passages(d) {
			id := chunk.ID(ord, i)
			var codes []byte
			if err := s.Codes(t.Context(), 1, func(int) uint64 { return id }, func(_ int, b []byte) error { codes = bytes.Clone(b); return nil }); err != nil {
				t.Fatal(err)
			}
			if len(codes) == 0 || s.Tokens.Bytes(id) != len(codes) {
				t.Fatalf("%s: chunk %d of %s has %d bytes of codes, listed with %d", when, i, d.ID, len(codes), s.Tokens.Bytes(id))
			}
			n++
			if want := anew(t, e, codes, text.Text); !bytes.Equal(codes, want) || !bytes.Equal(codes, d.Rows[i].Codes) {
				t.Fatalf("%s: chunk %d of %s has other codes than its text, or its record", when, i, d.ID)
			}
		}
	}
	st, err := e.Stats(t.Context())
	if err != nil || st.TokenStates.Chunks != n || n != s.Chunks() || st.TokenStates.Bytes == 0 || st.Memory.Tokens < 12*int64(n) || st.Memory.Tokens > 24*int64(n)+12*1024+state.MostCached {
		t.Fatalf("%s: %d chunks, %+v, %v", when, n, st.TokenStates, err)
	}
}

// anew codes a text by the basis of some codes.
func anew(t *testing.T, e *Engine, codes []byte, text string) []byte {
	t.Helper()
	c, err := late.Parse(codes)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range e.searchable() {
		if b.ID() != c.Basis() {
			continue
		}
		out, err := e.enc.Encode(t.Context(), encoder.Passage, encoder.Texts(text), encoder.NeedHidden)
		if err != nil {
			t.Fatal(err)
		}
		want, err := late.Coder{Basis: b, Bits: c.Bits(), Pool: c.Pool()}.Encode(nil, out[0].Hidden, late.Skip(text, out[0].Tokens))
		if err != nil {
			t.Fatal(err)
		}
		return want
	}
	t.Fatalf("codes of an unknown basis %08x", c.Basis())
	return nil
}

// TestTokenScores: the score of the tokens is the weighted mean of the best cosines of
// states, as the encoder gives them, up to what their codes lose; and what a search
// ranks by holds it with its weight.
func TestTokenScores(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), fineOptions, autoHNSW)
	defer closed(t, e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(1, 2)), 0, 200)...)
	flushed(t, e)
	codedAll(t, "made", e)
	s := e.db.Present()
	for _, q := range []Query{
		{Text: "unit w3 speaks of x7", K: 30}, {Text: "y1200 on z4 of x33 and w12", PerChunk: true, K: 30},
		{Text: "unit w3 speaks of x7", Mode: ModeDense, Fusion: fusion.Options{Tokens: 2}, K: 30},
		{Text: "unit w3 speaks", Fusion: fusion.Options{Tokens: 1.5}, K: 30},
	} {
		r, err := e.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 30 || !slices.ContainsFunc(r.Trace.Steps, func(s Step) bool { return s.Name == "tokens" }) {
			t.Fatalf("%+v: %d hits, %+v", q, len(r.Hits), r.Trace)
		}
		out, err := e.enc.Encode(t.Context(), encoder.Query, encoder.Texts(q.Text), encoder.NeedHidden)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			if want := fusion.Answered(maxSim(t, e, s, out[0], h), matchOf(h)); math.Abs(float64(h.TokenScore)-want) > 0.035 {
				t.Errorf("%+v: %s: tokens score %v, of the states %v", q, h.ID, h.TokenScore, want)
			}
			x, err := e.Explain(t.Context(), q, h.ID)
			if err != nil {
				t.Fatal(err)
			}
			if q.PerChunk && x.Chunk != h.Chunk {
				continue // the best one is explained
			}
			sum, seen := 0.0, false
			for _, term := range x.Terms {
				sum += term.Weight * term.Value
				weight := q.Fusion.Tokens
				if weight == 0 {
					weight = fusion.DefaultTokens
				}
				seen = seen || term.Name == "tokens" && term.Weight == weight && float32(term.Value) == h.TokenScore
			}
			if !seen || math.Abs(sum-float64(h.Score)) > 1e-6 || x.Rank != h.Rank && !q.PerChunk {
				t.Errorf("%+v: %s: score %v, terms %+v, rank %d and %d", q, h.ID, h.Score, x.Terms, x.Rank, h.Rank)
			}
		}
	}
	for words, weight := range map[int]float64{16: 1, 32: 0.5, 64: 0.25} { // long queries
		text := ""
		for i := range words {
			text += fmt.Sprint(" word", i)
		}
		x, err := e.Explain(t.Context(), Query{Text: text}, "d1")
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(x.Terms, func(t fusion.Term) bool { return t.Name == "tokens" }); i < 0 || math.Abs(x.Terms[i].Weight-weight) > 1e-9 {
			t.Errorf("%d words: %+v, want a weight of %v", words, x.Terms, weight)
		}
	}
	for name, q := range map[string]Query{
		"dense":          {Text: "unit w3", Mode: ModeDense},
		"none asked for": {Text: "unit w3", Fusion: fusion.Options{Tokens: -1}},
		"rrf":            {Text: "unit w3", Fusion: fusion.Options{Kind: "rrf"}},
		"lexical":        {Text: "unit w3", Mode: ModeLexical},
		"own vector":     {Text: "unit w3", Mode: ModeHybrid, Vector: s.Vector(s.IDs()[0])},
	} {
		r, err := e.Search(t.Context(), q)
		if err != nil || r.Hits[0].TokenScore != 0 || slices.ContainsFunc(r.Trace.Steps, func(s Step) bool { return s.Name == "tokens" }) {
			t.Errorf("%s: %+v, %v", name, r.Trace, err)
		}
	}
}

// matchOf is the term recall of a hit.
func matchOf(h Hit) inverted.Match {
	return inverted.Match{Presence: float64(h.Presence), Near: float64(h.Near)}
}

// maxSim is the match of a hit's tokens by float states in the basis of its codes.
func maxSim(t *testing.T, e *Engine, s *state.State, q encoder.Output, h Hit) late.Match {
	t.Helper()
	ord, _, err := s.View.Lookup(h.ID)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.View.Get(t.Context(), ord)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.enc.Encode(t.Context(), encoder.Passage, e.passages(d)[h.Chunk:h.Chunk+1], encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	c, err := late.Parse(d.Rows[h.Chunk].Codes)
	if err != nil {
		t.Fatal(err)
	}
	bases := e.searchable()
	b := bases[slices.IndexFunc(bases, func(b *late.Basis) bool { return b.ID() == c.Basis() })]
	rows := func(o encoder.Output, skip []bool) (rows [][]float32, ids []int32) {
		all, err := b.Project(nil, o.Hidden)
		if err != nil {
			t.Fatal(err)
		}
		for i, skipped := range skip {
			if !skipped {
				rows, ids = append(rows, all[i*b.Rank():(i+1)*b.Rank()]), append(ids, o.Tokens.IDs[i])
			}
		}
		return rows, ids
	}
	of, ids := rows(q, q.Tokens.Special)
	in, _ := rows(out[0], late.Skip(e.passages(d)[h.Chunk].Text, out[0].Tokens))
	var all float64
	best, weights := make([][]float64, len(of)), make([]float64, len(of)) // by token of the query and of the hit
	for i, x := range of {
		for _, y := range in {
			var xy, xx, yy float64
			for j := range x {
				xy, xx, yy = xy+float64(x[j])*float64(y[j]), xx+float64(x[j])*float64(x[j]), yy+float64(y[j])*float64(y[j])
			}
			best[i] = append(best[i], xy/math.Sqrt(xx*yy))
		}
		weights[i] = s.Sums.IDF(ids[i])
		all += weights[i]
	}
	part := func(from, to int) (sum float64) {
		for i, w := range weights {
			sum += w / all * slices.Max(best[i][from:min(to, len(in))])
		}
		return sum
	}
	m := late.Match{Whole: part(0, len(in)), Near: part(0, 32), Front: part(0, 48)}
	for from := 32; from < len(in); from += 32 {
		m.Near = max(m.Near, part(from, from+32))
	}
	return m
}

// TestTokenUpkeep: whatever is added, replaced, patched, deleted and opened again, each chunk
// has the codes of its text, in few blocks, and older states stay as they were.
func TestTokenUpkeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(4, 4))
	e := opened(t, dir, keptOptions, autoHNSW)
	next := 0
	for step := range 8 {
		put(t, e, madeDocs(r, next, next+60)...)
		next += 60
		put(t, e, madeDocs(r, next-90, next-70)...)
		var ids []string
		for i := next - 40; i < next-10; i++ {
			ids = append(ids, fmt.Sprint("d", i))
		}
		removed(t, e, ids...)
		if _, err := e.Patch(t.Context(), []Patch{{ID: fmt.Sprint("d", next-1), Metadata: map[string]any{"step": step}}}); err != nil {
			t.Fatal(err)
		}
		switch step % 4 {
		case 1:
			flushed(t, e)
		case 2:
			want := answers(t, e, tokenProbes)
			closed(t, e)
			e = opened(t, dir, keptOptions, autoHNSW)
			sameAnswers(t, "opened again", answers(t, e, tokenProbes), want, tokenProbes)
		case 3:
			if err := e.db.Abandon(); err != nil { // what a kill leaves
				t.Fatal(err)
			}
			if err := e.st.Close(); err != nil {
				t.Fatal(err)
			}
			e = opened(t, dir, keptOptions, autoHNSW)
		}
		when := fmt.Sprint("step ", step)
		codedAll(t, when, e)
		whole(t, e, when)
	}
	removedAll := func(from int) {
		var ids []string
		for ord := range e.db.Present().Live.All {
			d, err := e.st.Text(t.Context(), ord)
			if err != nil {
				t.Fatal(err)
			}
			if from--; from < 0 {
				ids = append(ids, d.ID)
			}
		}
		removed(t, e, ids...)
	}
	removedAll(20)
	flushed(t, e)
	codedAll(t, "nearly empty", e)
	closed(t, e)
	e = opened(t, dir, keptOptions, autoHNSW)
	flushed(t, e)
	codedAll(t, "nearly empty and opened", e)
	closed(t, e)
	files, err := filepath.Glob(filepath.Join(dir, "derived", "tokens*.snap"))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left: %v", len(files), files)
	}
}

// TestTokenBasesGrow: a basis that was fitted on few states gives way to one of more, and
// codes of both are searched; all of it is there after a restart, without derived files too.
func TestTokenBasesGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, keptOptions, autoHNSW)
	for i := range 6 { // one at a time, too few for a basis
		put(t, e, madeDocs(rand.New(rand.NewPCG(9, uint64(i))), i, i+1)...)
	}
	if s, err := e.Stats(t.Context()); err != nil || s.TokenStates.Chunks != 0 || s.TokenStates.Bases != 0 || s.TokenStates.Note == "" {
		t.Fatalf("%+v, %v", s.TokenStates, err)
	}
	put(t, e, madeDocs(rand.New(rand.NewPCG(9, 9)), 10, 80)...)
	codedAll(t, "with those that waited", e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(9, 10)), 100, 1100)...)
	codedAll(t, "grown", e)
	n := e.st.BasisCount()
	if n < 2 {
		t.Fatalf("%d bases", n)
	}
	want := answers(t, e, tokenProbes)
	closed(t, e)
	if err := os.RemoveAll(filepath.Join(dir, "derived")); err != nil {
		t.Fatal(err)
	}
	o := keptOptions
	o.TokenStates = "" // as the database does
	e = opened(t, dir, o, autoHNSW)
	defer closed(t, e)
	if m := e.tokenMode(); m != TokenStatesOn {
		t.Error(m)
	}
	sameAnswers(t, "made anew", answers(t, e, tokenProbes), want, tokenProbes)
	codedAll(t, "made anew", e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(9, 11)), 2000, 2050)...)
	codedAll(t, "gone on", e)
	if e.st.BasisCount() > n+1 {
		t.Errorf("%d bases, %d before", e.st.BasisCount(), n)
	}
}

// TestTokenStatesAreRemembered: what a database is made with holds for whoever opens it
// later and says nothing, and a database that is older than token states has none until
// somebody wants them.
func TestTokenStatesAreRemembered(t *testing.T) {
	defer func(was string) { intake.NewTokenStates = was }(intake.NewTokenStates)
	intake.NewTokenStates = TokenStatesAuto
	more := 0
	codes := func(dir, mode string, doc int) int { // how many chunks have some, behind 60 documents more
		o := keptOptions
		o.TokenStates = mode
		e := opened(t, dir, o, autoHNSW)
		defer closed(t, e)
		more++
		put(t, e, madeDocs(rand.New(rand.NewPCG(9, uint64(more))), doc, doc+60)...)
		return codedChunks(t, e)
	}
	for made, want := range map[string]bool{"": true, TokenStatesAuto: true, TokenStatesOn: true, TokenStatesOff: false} {
		dir := t.TempDir()
		first := codes(dir, made, 0)
		if again := codes(dir, "", 100); first > 0 != want || again > first != want {
			t.Errorf("made with %q: %d chunks with token states, then %d", made, first, again)
		}
		if made != TokenStatesOff {
			continue
		}
		o := keptOptions
		o.TokenStates = ""
		other := t.TempDir()
		codes(other, made, 0)
		if _, err := Reembed(t.Context(), other, encoder.NewHash(madeDim+8), o); err != nil {
			t.Fatal(err)
		}
		e, err := Open(t.Context(), other, encoder.NewHash(madeDim+8), o)
		if err != nil {
			t.Fatal(err)
		}
		if put(t, e, madeDocs(rand.New(rand.NewPCG(9, 9)), 100, 160)...); codedChunks(t, e) > 0 {
			t.Errorf("another model brings %d chunks with token states", codedChunks(t, e))
		}
		closed(t, e)
		e = opened(t, dir, o, autoHNSW)
		if _, err := e.KeepTokenStates(t.Context()); err != nil {
			t.Fatal(err)
		}
		first = codedChunks(t, e)
		closed(t, e)
		if again := codes(dir, "", 200); first == 0 || again <= first {
			t.Errorf("%d chunks with token states, behind KeepTokenStates %d", again, first)
		}
	}
	dir := t.TempDir()
	codes(dir, TokenStatesOff, 0)
	old := func(states string) {
		st, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.SetManifest(t.Context(), func(m *store.Manifest) error { m.TokenStates = states; return nil }), st.Close()); err != nil {
			t.Fatal(err)
		}
	}
	old("")
	if n := codes(dir, "", 100); n != 0 {
		t.Errorf("an older database has %d chunks with token states", n)
	}
	old("some newer word")
	if n := codes(dir, "", 200); n != 0 {
		t.Errorf("%d chunks with token states", n)
	}
	n := codes(dir, TokenStatesOn, 300)
	old("")
	if again := codes(dir, "", 400); n == 0 || again <= n {
		t.Errorf("an older database with token states: %d chunks, then %d", n, again)
	}
}

// codedChunks is how many chunks have token states.
func codedChunks(t *testing.T, e *Engine) int {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.TokenStates.Chunks
}

// TestTokenKinds: codes of fewer bits and of several tokens are smaller, stand beside others in
// one database, and find and explain.
func TestTokenKinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 8))
	docs := madeDocs(r, 0, 240)
	dir := t.TempDir()
	bytes := []int64{0}
	for i, kind := range [][2]int{{4, 0}, {0, 1}, {8, 3}} {
		o := keptOptions
		o.TokenBits, o.TokenPool = kind[0], kind[1]
		e := opened(t, dir, o, autoHNSW)
		put(t, e, docs[80*i:80*i+80]...)
		s, err := e.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bytes = append(bytes, s.TokenStates.Bytes)
		for _, d := range docs[80*i : 80*i+80] {
			ord, _, err := e.st.Lookup(d.ID)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := e.st.Rows(t.Context(), ord)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if c, err := late.Parse(r.Codes); err != nil || c.Bits() != cmp.Or(kind[0], 2) || c.Pool() != cmp.Or(kind[1], 1) {
					t.Fatalf("kind %v: %d bits, pool %d, %v", kind, c.Bits(), c.Pool(), err)
				}
			}
		}
		closed(t, e)
	}
	if four, two, pooled := bytes[1], bytes[2]-bytes[1], bytes[3]-bytes[2]; !(two < four*2/3 && pooled < four) {
		t.Errorf("codes of 80 documents take %d bytes, of two bits %d, of three tokens %d", four, two, pooled)
	}
	e := opened(t, dir, keptOptions, autoHNSW)
	defer closed(t, e)
	codedAll(t, "of three kinds", e)
	for i := 1; i < len(docs); i += 21 { // short ones
		x, err := e.Explain(t.Context(), Query{Text: docs[i].Text}, docs[i].ID)
		if err != nil || x.Rank != 1 || len(x.Ties) == 0 || x.TokenScore < .6 {
			t.Errorf("%s: rank %d, %d ties, token score %v, %v", docs[i].ID, x.Rank, len(x.Ties), x.TokenScore, err)
		}
	}
	for _, o := range []Options{{TokenBits: 3}, {TokenBits: 16}, {TokenPool: 4}, {TokenPool: -1}} {
		if err := o.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestKeepTokenStates: a database without them works as before, gets them, and keeps them
// from then on; what was interrupted goes on.
func TestKeepTokenStates(t *testing.T) {
	dir := t.TempDir()
	o := Options{ChunkTokens: 60, NoSync: true}
	e := opened(t, dir, o, autoHNSW)
	docs := madeDocs(rand.New(rand.NewPCG(6, 6)), 0, 700)
	docs[3].Vector = append(make([]float32, madeDim-1), 1)
	put(t, e, docs...)
	before := exportOf(t, e, archive.ExportOptions{})
	if s, err := e.Stats(t.Context()); err != nil || s.TokenStates != (TokenStats{Mode: TokenStatesOff}) || s.Memory.Tokens != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	stop, cancel := context.WithCancel(t.Context())
	rep, err := e.KeepTokenStates(WithFailpoint(stop, func(name string) {
		if name == "tokens-page" {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) || rep.Documents == 0 || rep.Documents >= 700 {
		t.Fatalf("%+v, %v", rep, err)
	}
	some, err := e.Search(t.Context(), Query{Text: "unit w3 speaks of x7", K: 700})
	if err != nil || len(some.Hits) != 700 {
		t.Fatalf("%d hits, %v", len(some.Hits), err)
	}
	lack := 0 // what has no codes yet is taken to match as its vector does
	for _, h := range some.Hits {
		if d := float64(h.Modulated); math.Abs(float64(h.TokenScore)-fusion.Answered(late.Match{Whole: d, Near: d, Front: d}, matchOf(h))) < 1e-6 {
			lack++
		}
	}
	if lack != 700-rep.Documents {
		t.Errorf("%d documents are ranked without token states, %d have none", lack, 700-rep.Documents)
	}
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	defer closed(t, e)
	var heard []Progress
	e.o.Progress = func(p Progress) { heard = append(heard, p) }
	again, err := e.KeepTokenStates(t.Context())
	if err != nil || again.Already != rep.Documents || again.Documents != 700-rep.Documents || again.Left != 0 {
		t.Fatalf("%+v after %+v, %v", again, rep, err)
	}
	if p := heard[len(heard)-1]; p.Stage != "tokens" || p.Done != 700 || p.Total != 700 {
		t.Errorf("%+v", p)
	}
	codedAll(t, "added", e)
	if after := exportOf(t, e, archive.ExportOptions{}); sortedLines(after) != sortedLines(before) {
		t.Error("documents are others")
	}
	if third, err := e.KeepTokenStates(t.Context()); err != nil || third != (TokenReport{Already: 700}) {
		t.Errorf("%+v, %v", third, err)
	}
	put(t, e, madeDocs(rand.New(rand.NewPCG(6, 7)), 690, 720)...)
	codedAll(t, "later", e)
	whole(t, e, "later")
}

func sortedLines(s string) string {
	lines := bytes.Split([]byte(s), []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	return string(bytes.Join(lines[1:], []byte("\n")))
}

// blind is an encoder that gives no token states.
type blind struct{ encoder.Encoder }

func (b blind) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if need&encoder.NeedHidden != 0 {
		return nil, encoder.ErrNoHidden
	}
	return b.Encoder.Encode(ctx, role, in, need)
}

// TestWithoutTokenStates: what an encoder that gives none does with each value.
func TestWithoutTokenStates(t *testing.T) {
	t.Parallel()
	docs := madeDocs(rand.New(rand.NewPCG(1, 1)), 0, 60)
	open := func(dir, mode string, enc encoder.Encoder) *Engine {
		t.Helper()
		e, err := Open(t.Context(), dir, enc, Options{TokenStates: mode, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	hash := encoder.NewHash(madeDim)
	e := open(t.TempDir(), TokenStatesOn, blind{hash})
	if _, err := e.Add(t.Context(), docs); !errors.Is(err, ErrInvalid) || !errors.Is(err, encoder.ErrNoHidden) {
		t.Errorf("on: %v", err)
	}
	closed(t, e)
	e = open(t.TempDir(), TokenStatesAuto, blind{hash})
	put(t, e, docs...)
	if s, err := e.Stats(t.Context()); err != nil || s.TokenStates.Note == "" || s.TokenStates.Chunks != 0 || s.Documents != 60 {
		t.Errorf("auto: %+v, %v", s, err)
	}
	if _, err := e.KeepTokenStates(t.Context()); !errors.Is(err, ErrInvalid) {
		t.Errorf("auto: %v", err)
	}
	closed(t, e)
	dir := t.TempDir()
	e = open(dir, TokenStatesOn, hash)
	put(t, e, docs...)
	codedAll(t, "on", e)
	closed(t, e)
	for mode, enc := range map[string]encoder.Encoder{TokenStatesOff: hash, "": blind{hash}, TokenStatesAuto: blind{hash}} {
		e = open(dir, mode, enc)
		flushed(t, e)
		qs := []Query{{Text: "unit w3"}, {Text: "x7 and y4"}}
		all, err := e.SearchBatch(t.Context(), qs)
		if err != nil {
			t.Fatalf("%q: %v", mode, err)
		}
		for i, q := range qs {
			r, err := e.Search(t.Context(), q)
			if err != nil || r.Hits[0].TokenScore != 0 || r.Hits[0].Score != all[i].Hits[0].Score {
				t.Errorf("%q: %+v, %v", mode, r.Hits, err)
			}
		}
		put(t, e, madeDocs(rand.New(rand.NewPCG(1, 3)), 80, 82)...)
		if n := e.db.Present().Tokens.Len(); n != 60 {
			t.Errorf("%q: %d chunks", mode, n)
		}
		removed(t, e, "d80", "d81")
		closed(t, e)
	}
	e = open(dir, TokenStatesOff, hash)
	defer closed(t, e)
	if _, err := e.KeepTokenStates(t.Context()); !errors.Is(err, ErrInvalid) {
		t.Errorf("off: %v", err)
	}
	if err := (Options{TokenStates: "maybe"}).Validate(); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestTokenTravel: export, import, backup, restore and a change of the model carry them.
func TestTokenTravel(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), keptOptions, autoHNSW)
	defer closed(t, e)
	put(t, e, madeDocs(rand.New(rand.NewPCG(3, 3)), 0, 120)...)
	want := answers(t, e, tokenProbes)
	line := exportOf(t, e, archive.ExportOptions{Vectors: true})
	for mode, chunks := range map[string]int{"": e.db.Present().Chunks(), TokenStatesOff: 0} {
		c := opened(t, t.TempDir(), Options{ChunkTokens: 60, NoSync: true, TokenStates: mode}, autoHNSW)
		if _, err := imported(t, c, line); err != nil {
			t.Fatal(err)
		}
		if n := c.db.Present().Tokens.Len(); n != chunks {
			t.Errorf("%q: %d chunks of %d", mode, n, chunks)
		}
		if mode == "" {
			sameAnswers(t, "imported", answers(t, c, tokenProbes), want, tokenProbes)
			codedAll(t, "imported", c)
			if exportOf(t, c, archive.ExportOptions{Vectors: true}) != line {
				t.Error("the export of the import is another")
			}
			if r, err := imported(t, c, line); err != nil || r.Unchanged != 120 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		closed(t, c)
	}
	c := opened(t, t.TempDir(), Options{NoSync: true}, autoHNSW)
	bad := bytes.Replace([]byte(line), []byte(`"bases":["`), []byte(`"bases":["AAAA`), 1)
	if _, err := imported(t, c, string(bad)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a damaged basis: %v", err)
	}
	closed(t, c)
	var b bytes.Buffer
	if _, err := e.BackupTo(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := archive.Restore(t.Context(), dir, &b, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	c = opened(t, dir, Options{ChunkTokens: 60, NoSync: true}, autoHNSW)
	sameAnswers(t, "restored", answers(t, c, tokenProbes), want, tokenProbes)
	codedAll(t, "restored", c)
	closed(t, c)
	if _, err := Reembed(t.Context(), dir, encoder.NewHash(16), Options{ChunkTokens: 60}); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), dir, encoder.NewHash(16), Options{ChunkTokens: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, c)
	codedAll(t, "of another model", c)
	whole(t, c, "of another model")
}
