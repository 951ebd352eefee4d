package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func termsOf(t testing.TB, s *Store) (all []string) {
	t.Helper()
	if err := s.Terms(ctx, func(term string) error { all = append(all, term); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// madeTerms are terms lo to hi; some are long, so that several records are needed.
func madeTerms(lo, hi int) (terms []string) {
	for i := lo; i < hi; i++ {
		terms = append(terms, fmt.Sprintf("%s-%d", strings.Repeat("é", i%100), i))
	}
	return terms
}

// addTerms commits a document with terms.
func addTerms(t testing.TB, s *Store, first int, terms []string) {
	t.Helper()
	b, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, doc("a", first))
	if err := b.AddTerms(ctx, first, terms); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// fruitless are ends of a batch that has no document, which leave nothing of it behind.
var fruitless = map[string]func(b *Batch) error{
	"discarded": func(b *Batch) error { return b.Discard() },
	"flushed and discarded": func(b *Batch) error {
		return errors.Join(b.w.flush(), b.Discard())
	},
	"without a document": func(b *Batch) error {
		err := b.w.flush()
		if err == nil {
			_, err = b.Commit(ctx)
		}
		return err
	},
}

// outlives checks a store, again after each step that must change nothing it tells, and
// returns it as it is opened at last, for reading.
func outlives(t *testing.T, dir string, s *Store, check func(step int, s *Store)) *Store {
	t.Helper()
	for step, next := range []func() error{
		func() error { return nil },
		func() error { return s.Compact(ctx, s.Seq()) },
		func() error { return s.Reclaim(ctx, nil) },
		func() error { unclean(t, s); s = open(t, dir, small); return nil },
		func() error { err := s.Close(); s = open(t, dir, Options{ReadOnly: true}); return err },
	} {
		if err := next(); err != nil {
			t.Fatal(err)
		}
		check(step, s)
	}
	return s
}

// TestTerms: the vocabulary grows with the commits, and with nothing else, is there
// after opening again, cleanly or not, and outlives Compact and Reclaim.
func TestTerms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	if got := termsOf(t, s); len(got) != 0 {
		t.Errorf("%d terms in a new database", len(got))
	}
	addTerms(t, s, 0, madeTerms(0, 3))
	addTerms(t, s, 3, nil)
	addTerms(t, s, 3, madeTerms(3, 2000))
	for name, end := range fruitless {
		b, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddTerms(ctx, 2000, madeTerms(7000, 12_000)); err != nil {
			t.Fatal(err)
		}
		if err := end(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if left, err := s.keys(numberKey(prefixTerms, 2000), []byte{prefixTerms + 1}, 10); err != nil || len(left) > 0 {
			t.Errorf("%s: %d records are left, %v", name, len(left), err)
		}
	}
	addTerms(t, s, 2000, madeTerms(2000, 2010))
	want := madeTerms(0, 2010)
	s = outlives(t, dir, s, func(step int, s *Store) {
		if got := termsOf(t, s); !slices.Equal(got, want) || s.TermCount() != len(want) {
			t.Fatalf("step %d: %d terms, want %d", step, len(got), len(want))
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
	})
	stop := errors.New("enough")
	n := 0
	if err := s.Terms(ctx, func(string) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d terms, then %v", n, err)
	}
}

func TestImpossibleTerms(t *testing.T) {
	s := open(t, t.TempDir(), small)
	addTerms(t, s, 0, []string{"one"})
	for name, c := range map[string]struct {
		first int
		terms []string
	}{
		"too early": {0, []string{"x"}},
		"too late":  {2, []string{"x"}},
		"empty":     {1, []string{"x", ""}},
		"too long":  {1, []string{strings.Repeat("x", maxTermBytes+1)}},
	} {
		b, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddTerms(ctx, c.first, c.terms); !errors.Is(err, errTerms) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.Commit(ctx); err == nil {
			t.Errorf("%s: the batch is committed", name)
		}
		if err := b.Discard(); err != nil {
			t.Error(err)
		}
	}
	addTerms(t, s, 1, []string{strings.Repeat("x", maxTermBytes)})
}

// TestMissingTerms: records that are gone, or are another's, are damage that Terms,
// Verify and the opening after an unclean end notice.
func TestMissingTerms(t *testing.T) {
	for name, change := range map[string]op{
		"first":     {key: numberKey(prefixTerms, 0)},
		"last":      {key: numberKey(prefixTerms, 5)},
		"malformed": {numberKey(prefixTerms, 5), []byte{200, 1}},
		"short":     {numberKey(prefixTerms, 5), encodeTerms([]string{"e"})},
		"overlong":  {numberKey(prefixTerms, 0), encodeTerms(madeTerms(0, 6))},
		"empty":     {numberKey(prefixTerms, 0), []byte{0}},
	} {
		dir := t.TempDir()
		s := open(t, dir, small)
		addTerms(t, s, 0, madeTerms(0, 5))
		addTerms(t, s, 5, madeTerms(5, 8))
		w := s.newStager()
		if err := errors.Join(w.apply(change), w.finish()); err != nil {
			t.Fatal(err)
		}
		unclean(t, s)
		if _, err := Open(dir, small); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: opened with %v", name, err)
		}
	}
}
