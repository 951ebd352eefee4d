package spelling

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// edits is the distance of two words by its definition: the whole table of optimal string alignment.
func edits(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range b {
		d[0][j+1] = j + 1
	}
	for i := range a {
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			d[i+1][j+1] = min(d[i][j+1]+1, d[i+1][j]+1, d[i][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func randomWord(r *rand.Rand, alphabet []rune) []rune {
	w := make([]rune, 1+r.IntN(10))
	for i := range w {
		w[i] = alphabet[r.IntN(len(alphabet))]
	}
	return w
}

var alphabets = [][]rune{[]rune("abc"), []rune("aeinrst"), []rune("абвгдеёъ"), []rune("αβγδώ"), []rune("aàâbßc"), []rune("अआकख")}

func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		alphabet := alphabets[r.IntN(len(alphabets))]
		a, b := randomWord(r, alphabet), randomWord(r, alphabet)
		for most := range 4 {
			if got, want := distance(a, b, most), min(edits(a, b), most+1); got != want {
				t.Fatalf("%q and %q: %d edits of at most %d, want %d", string(a), string(b), got, most, want)
			}
		}
	}
}

// vocabulary is an index whose documents have one term each.
type vocabulary struct {
	t     testing.TB
	x     *inverted.Words
	next  uint64
	words []string
}

func newVocabulary(t testing.TB) *vocabulary {
	x, err := inverted.NewWords(inverted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &vocabulary{t: t, x: x}
}

func (v *vocabulary) add(words ...string) {
	e := v.x.Edit()
	for _, w := range words {
		if err := e.Add(v.next, []text.Term{{Text: w}}); err != nil {
			v.t.Fatal(err)
		}
		v.next++
	}
	v.x = e.Done()
	v.words = append(v.words, words...)
}

// TestNear compares the table with a look at every word, for vocabularies that grow and are compacted.
func TestNear(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		v := newVocabulary(t)
		alphabet := alphabets[seed%uint64(len(alphabets))]
		var table *table
		for range 6 {
			var words []string
			for range r.IntN(300) {
				words = append(words, string(randomWord(r, alphabet)))
			}
			words = append(words, fmt.Sprint("code", r.IntN(9)), "a_b")
			before := v.x
			v.add(words...)
			if r.IntN(3) == 0 {
				var err error
				if v.x, err = v.x.Compacted(ctx); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if table != nil {
				table, err = table.grow(ctx, v.x)
			}
			if table == nil && err == nil {
				table, err = newTable(ctx, v.x)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 {
				table.sort()
			}
			for range 25 {
				word, most := randomWord(r, alphabet), 1+r.IntN(2)
				if table.numbering == before.Numbering() {
					compare(t, table, before, word, most)
				}
				compare(t, table, v.x, word, most)
			}
		}
	}
}

func compare(t *testing.T, table *table, x *inverted.Words, word []rune, most int) {
	t.Helper()
	var got, want []string
	table.near(x, word, most, 0, func(n int) { got = append(got, x.Term(n)) })
	for n := range x.Terms() {
		other := []rune(x.Term(n))
		d := edits(word, other)
		if _, _, _, ok := shape(x.Term(n)); ok && len(other) >= minLetters && (d <= 1 || d <= most && other[0] == word[0]) {
			want = append(want, x.Term(n))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("within %d of %q: %q, want %q", most, string(word), got, want)
	}
}

// TestTableGrows: terms that come later are found before and after they are sorted in.
func TestTableGrows(t *testing.T) {
	ctx := context.Background()
	v := newVocabulary(t)
	v.add("alpha", "beta")
	first, err := newTable(ctx, v.x)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := first.grow(ctx, v.x); err != nil || same != first {
		t.Errorf("a table of all terms grew: %v", err)
	}
	var words []string
	for i := range looks + 10 {
		words = append(words, fmt.Sprintf("gam%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
	}
	v.add(words[0], words[1])
	some, err := first.grow(ctx, v.x)
	if err != nil || len(some.fresh) != 2 || len(first.fresh) != 0 {
		t.Fatalf("%d fresh terms, and %d in the table before: %v", len(some.fresh), len(first.fresh), err)
	}
	compare(t, some, v.x, []rune("gamaa"), 1)
	v.add(words[2:]...)
	all, err := some.grow(ctx, v.x)
	if err != nil || len(all.fresh) != 0 || len(all.entries) != len(words)+2 {
		t.Fatalf("%d fresh terms of %d: %v", len(all.fresh), len(all.entries), err)
	}
	compare(t, all, v.x, []rune("gamaa"), 1)
	other, err := v.x.Compacted(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := all.grow(ctx, other); again != nil || err != nil {
		t.Errorf("a table of another numbering was kept: %v", err)
	}
}

func TestTableEndsWithItsContext(t *testing.T) {
	v := newVocabulary(t)
	v.add("alpha")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newTable(ctx, v.x); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
