package ridge

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// TestLater: sums whose factor is made later answer as those with one, also at once from several goroutines, and an edit
// makes the factor while the vectors are there.
func TestLater(t *testing.T) {
	t.Parallel()
	const d, vocab = 24, 60
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{d / 4, d, 20 * d} {
		ps := make([]passage, n)
		for i := range ps {
			ps[i] = randomPassage(r, d, vocab)
		}
		later := func() (*growing, *Sums) {
			g := newGrowing(d, vocab)
			e := g.Edit()
			err := e.AddAll(g.take(ps))
			if err != nil {
				t.Fatal(err)
			}
			if g.Sums, err = e.done(false); err != nil {
				t.Fatal(err)
			}
			s, err := g.Later(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return g, s
		}
		g, s := later()
		if changes, _ := g.Staleness(); changes != n || g.Ready() {
			t.Fatalf("%d passages: %d changes, ready %v before", n, changes, g.Ready())
		}
		if changes, _ := s.Staleness(); changes != 0 || !s.Ready() {
			t.Errorf("%d passages: %d changes, ready %v", n, changes, s.Ready())
		}
		qs := someQuestions(r, d, vocab, 20)
		want := answers(t, fresh(t, d, vocab, ps), qs)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if diff := worst(answers(t, s, qs), want); diff > 1e-5 {
					t.Errorf("%d passages: differs by %g", n, diff)
				}
			})
		}
		all.Wait()
		if err := s.Verify(t.Context()); err != nil {
			t.Error(err)
		}

		g, s = later()
		e := s.Edit()
		x := g.x
		g.x = map[uint64][]float32{}
		f := make([]float32, d)
		if err := s.Solve(f, x[ps[0].id]); err != nil {
			t.Errorf("%d passages: %v after an edit has begun", n, err)
		}
		g.x = x
		p := randomPassage(r, d, vocab)
		if err := e.AddAll(g.take([]passage{p})); err != nil {
			t.Fatal(err)
		}
		s, err := e.Done()
		if err != nil {
			t.Fatal(err)
		}
		if diff := worst(answers(t, s, qs), answers(t, fresh(t, d, vocab, append(ps[:n:n], p)), qs)); diff > 1e-4 {
			t.Errorf("%d passages: differs by %g after one more", n, diff)
		}

		g, s = later()
		g.x = map[uint64][]float32{}
		if err := s.Await(); n > d/4 && err == nil {
			t.Errorf("%d passages: no error without vectors", n)
		}
	}
}

// TestRowless: a file of a small corpus has the rows of few tokens. Its sums answer as those with all rows, and Compacted
// makes the rows.
func TestRowless(t *testing.T) {
	t.Parallel()
	const d, vocab, n = 8, 600, 240
	r := rand.New(rand.NewPCG(6, 5))
	g := randomCorpus(r, d, vocab, n)
	g.settle(t)
	rows := func(s *Sums) (n int) {
		for _, p := range s.tokens.All {
			if p.row != nil {
				n++
			}
		}
		return n
	}
	s, err := opened(g.Sums, saved(t, g.Sums))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Rowless() || !s.Wasteful() || g.Rowless() || rows(s) > rows(g.Sums)/2 {
		t.Errorf("%d rows of %d were read, rowless %v", rows(s), rows(g.Sums), s.Rowless())
	}
	qs := someQuestions(r, d, vocab, 20)
	want := answers(t, g.Sums, qs)
	if diff := worst(answers(t, s, qs), want); diff > 1e-5 {
		t.Errorf("differs by %g", diff)
	}
	whole, err := s.Compacted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Bytes().Rows, whole.Bytes().Rows; got != want || want != int64(4*d*rows(whole)) {
		t.Errorf("%d bytes of rows are foreseen, %d made", got, want)
	}
	g.Sums = s
	g.add(randomPassage(r, d, vocab))
	after, err := g.Rebase(s, whole)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Rowless() || after.Rowless() || rows(whole) < rows(s)*2 || rows(after) < rows(whole)*9/10 {
		t.Errorf("%d rows were read, %d made, %d there after one more passage", rows(s), rows(whole), rows(after))
	}
	if diff := worst(answers(t, whole, qs), want); diff > 1e-5 {
		t.Errorf("differs by %g with rows", diff)
	}
	if err := after.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}
