package terms

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/text"
)

// kept is what a database has of a vocabulary.
type kept struct {
	terms []string
	reads int
	err   error
}

func (k *kept) TermCount() int { return len(k.terms) }

func (k *kept) Terms(_ context.Context, fn func(string) error) error {
	k.reads++
	for _, t := range k.terms {
		if err := fn(t); err != nil {
			return err
		}
	}
	return k.err
}

func vocabulary(t *testing.T, k *kept) *Vocabulary {
	t.Helper()
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return New(a, k)
}

func begun(t *testing.T, v *Vocabulary) *Addition {
	t.Helper()
	a, err := v.Add(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestVocabulary(t *testing.T) {
	k := &kept{terms: []string{"ship", "sail"}}
	v := vocabulary(t, k)
	if k.reads != 0 {
		t.Error("it is read before it is needed")
	}
	got, err := v.Tokens(t.Context(), "The sails of a SHIP are not yet torn, ship! A mast is torn.")
	if err != nil || !reflect.DeepEqual(got.IDs, []int32{1, 0, -1, 0, -2, -1}) || got.Offsets[0].Start != 4 || got.Offsets[0].End != 9 || len(got.Special) != 6 || slices.Contains(got.Special, true) {
		t.Errorf("%+v, %v", got, err)
	}
	if d := v.Distinct("sails, sailing ships"); !slices.Equal(d, []string{"sail", "ship"}) {
		t.Errorf("distinct terms %q", d)
	}

	a := begun(t, v)
	if ids := a.Numbers([]string{"torn", "ship", "mast"}); !slices.Equal(ids, []int32{0, 2, 3}) {
		t.Errorf("numbers %v", ids)
	}
	if ids := a.Numbers([]string{"mast", "torn"}); !slices.Equal(ids, []int32{2, 3}) {
		t.Errorf("numbers %v", ids)
	}
	if first, fresh := a.Fresh(); first != 2 || !slices.Equal(fresh, []string{"torn", "mast"}) {
		t.Errorf("fresh from %d: %q", first, fresh)
	}
	a.End() // the commit failed
	a.End()
	if got, err := v.Tokens(t.Context(), "torn"); err != nil || !slices.Equal(got.IDs, []int32{-1}) {
		t.Errorf("what was not kept has the tokens %v, %v", got.IDs, err)
	}

	a = begun(t, v)
	if ids := a.Numbers([]string{"deck"}); ids[0] != 2 {
		t.Errorf("numbers %v", ids)
	}
	a.Keep()
	a.End()
	if got, err := v.Tokens(t.Context(), "on deck"); err != nil || !slices.Equal(got.IDs, []int32{2}) {
		t.Errorf("%v, %v", got, err)
	}
	if a = begun(t, v); a.Numbers([]string{"new"})[0] != 3 || k.reads != 1 {
		t.Errorf("read %d times", k.reads)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Add(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a second addition: %v", err)
	}
	a.End()
}

// A vocabulary that could not be read is read again by the next who needs it.
func TestUnreadable(t *testing.T) {
	k := &kept{terms: []string{"ship"}, err: errors.New("damaged")}
	v := vocabulary(t, k)
	if _, err := v.Tokens(t.Context(), "ship"); !errors.Is(err, k.err) {
		t.Error(err)
	}
	if _, err := v.Add(t.Context()); !errors.Is(err, k.err) {
		t.Error(err)
	}
	k.err = nil
	if got, err := v.Tokens(t.Context(), "ship"); err != nil || len(got.IDs) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// Lookups beside additions see each term without a number or with its own.
func TestLookupsBesideAdditions(t *testing.T) {
	v := vocabulary(t, &kept{})
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := v.Tokens(context.Background(), "term5 term77 term2999")
				if err != nil {
					t.Error(err)
					return
				}
				for _, id := range got.IDs {
					if id >= 0 && id != 5 && id != 77 && id != 2999 {
						t.Errorf("tokens %v", got.IDs)
						return
					}
				}
			}
		})
	}
	for at := 0; at < 3000; at += 1500 {
		a := begun(t, v)
		for i := at; i < at+1500; i++ {
			if n := a.Numbers([]string{fmt.Sprint("term", i)}); n[0] != int32(i) {
				t.Fatalf("term %d has number %d", i, n)
			}
		}
		a.Keep()
		a.End()
	}
	close(done)
	wg.Wait()
}
