package span

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/text"
)

// at are matches of the given words of a text, each a part of its own, wherever they stand.
func at(s string, words ...string) (ms []Match) {
	for part, w := range words {
		for from := 0; ; {
			i := strings.Index(s[from:], w)
			if i < 0 {
				break
			}
			ms = append(ms, Match{from + i, from + i + len(w), part, 1})
			from += i + len(w)
		}
	}
	return ms
}

func TestBest(t *testing.T) {
	filler := strings.Repeat("Nothing of note stands in this sentence. ", 20)
	long := strings.Repeat("word after word without an end ", 12)
	for name, c := range map[string]struct {
		text  string
		words []string
		want  string // "" for none
	}{
		"a sentence":                {filler + "The keys rotate often. " + filler, []string{"keys", "rotate"}, "The keys rotate often."},
		"two sentences":             {filler + "The keys are here. They rotate often. " + filler, []string{"keys", "rotate"}, "The keys are here. They rotate often."},
		"the one that has both":     {"One has keys. " + filler + "This rotates. " + filler + "The keys rotate. " + filler, []string{"keys", "rotate"}, "The keys rotate."},
		"the first of equals":       {filler + "Keys, one. " + filler + "Keys, two. ", []string{"Keys"}, "Keys, one."},
		"the shortest of equals":    {"Keys of some kind, that is said at length. " + filler + "Keys here. ", []string{"Keys"}, "Keys here."},
		"once is enough":            {"Keys keys keys keys keys. " + filler + "One of the keys rotates. ", []string{"keys", "rotates"}, "One of the keys rotates."},
		"too far apart":             {"Keys. " + filler + "Locks, doors and keys. " + filler + "Doors.", []string{"keys", "ocks", "oors"}, "Locks, doors and keys."},
		"lines of code":             {"package a\n\nfunc rotate(keys []int) {\n\tfor range keys {\n\t}\n}\n\nfunc other() {}\n", []string{"rotate"}, "func rotate(keys []int) {"},
		"CRLF":                      {"first line\r\n  second line here\r\nthird\r\n", []string{"second"}, "second line here"},
		"CJK":                       {strings.Repeat("今日は天気がいい。", 20) + "東京は首都です。" + strings.Repeat("明日は雨です。", 20), []string{"東京", "首都"}, "東京は首都です。"},
		"no sentence ends":          {long + "keys rotate " + long, []string{"keys", "rotate"}, "keys rotate"},
		"one word":                  {strings.Repeat("é", 500) + "key" + strings.Repeat("é", 500), []string{"key"}, "key"},
		"a match that is too long":  {"a " + strings.Repeat("x", 1000) + " b", []string{strings.Repeat("x", 1000)}, strings.Repeat("x", 120)},
		"one character":             {"a" + strings.Repeat("\u0301", 300) + " and more. ", []string{"a" + strings.Repeat("\u0301", 300)}, "a\u0301"},
		"no UTF-8":                  {"\xff\xfe keys \xff. Other.", []string{"keys"}, "\xff\xfe keys \xff."},
		"nothing":                   {filler, nil, ""},
		"no text":                   {"", nil, ""},
		"a long line that has none": {strings.Repeat("x ", 10_000) + "\nThe keys.\n", []string{"keys"}, "The keys."},
		"a far block of a line":     {strings.Repeat("x ", 10_000) + "The keys. " + strings.Repeat("y ", 10_000), []string{"keys"}, "x The keys. y"},
	} {
		start, end, ok, err := Best(t.Context(), c.text, at(c.text, c.words...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := c.text[start:end]
		whole := strings.HasSuffix(c.want, ".") || strings.HasSuffix(c.want, "。") || strings.HasSuffix(c.want, "{") || strings.HasSuffix(c.want, "here")
		if ok != (c.want != "") || whole && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, c.want)
		}
	}
}

// TestGrow: of a sentence that is longer than a span words on both sides are shown, as many as there is room for.
func TestGrow(t *testing.T) {
	long := strings.Repeat("word after word without an end ", 30)
	s := long + "keys " + long
	start, end, _, err := Best(t.Context(), s, at(s, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(s, "keys")
	if end-start < Limit-10 || i-start < Limit/3 || end-i < Limit/3 {
		t.Errorf("[%d, %d) around %d: %q", start, end, i, s[start:end])
	}
	if start, end, _, _ = Best(t.Context(), s, []Match{{0, 4, 0, 1}}); start != 0 || end < Limit-10 {
		t.Errorf("at the beginning: [%d, %d)", start, end)
	}
}

// TestBorders: a match across two sentences counts where both are shown, and a part of a long sentence stands alone.
func TestBorders(t *testing.T) {
	s := "Some signing. Keys here, and many other words."
	across := []Match{{5, 18, 0, 5}, {19, 23, 1, 1}}
	if start, end, _, err := Best(t.Context(), s, across); err != nil || s[start:end] != s {
		t.Errorf("%q, %v", s[start:end], err)
	}
	s = "The keys here. Some rotate " + strings.Repeat("word after word without an end ", 20)
	if start, end, _, err := Best(t.Context(), s, at(s, "keys", "rotate")); err != nil || !strings.HasPrefix(s[start:end], "Some rotate word") {
		t.Errorf("%q, %v", s[start:end], err)
	}
}

// TestOddMatches: what is no place of the text is passed over.
func TestOddMatches(t *testing.T) {
	s := "One. Two. Three."
	for _, m := range []Match{{-1, 3, 0, 1}, {5, 5, 0, 1}, {8, 5, 0, 1}, {16, 20, 0, 1}, {5, 8, -1, 1}, {5, 8, 0, 0}, {5, 8, 0, -1}, {5, 8, 0, math.NaN()}, {4, 5, 0, 1}} {
		if start, end, ok, err := Best(t.Context(), s, []Match{m}); ok || err != nil {
			t.Errorf("%+v: %q, %v", m, s[start:end], err)
		}
	}
	if start, end, ok, _ := Best(t.Context(), s, []Match{{10, 99, 0, 1}}); !ok || s[start:end] != "Three." {
		t.Errorf("a match beyond the end: %q", s[start:end])
	}
}

// TestEnded: a search that has ended is left, in texts of one line and of many.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []string{strings.Repeat("keys and words ", 100_000), strings.Repeat("keys\n", 100_000)} {
		if _, _, ok, err := Best(ctx, s, at(s, "keys")); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", ok, err)
		}
	}
}

// held fails where [start, end) is no span of s that matches may have.
func held(t *testing.T, s string, ms []Match, start, end int, ok bool) {
	t.Helper()
	valid := false
	for _, m := range ms {
		inside := m.Start >= 0 && m.Start < len(s) && m.End > m.Start && m.Part >= 0 && m.Gain > 0
		valid = valid || inside && strings.TrimSpace(s[m.Start:min(m.End, len(s))]) != ""
	}
	if ok != valid {
		t.Fatalf("%q with %v: found %v, want %v", s, ms, ok, valid)
	}
	if !ok {
		if start != 0 || end != 0 {
			t.Fatalf("none is [%d, %d)", start, end)
		}
		return
	}
	if start < 0 || end > len(s) || start >= end || end-start > Limit {
		t.Fatalf("[%d, %d) of %d bytes", start, end, len(s))
	}
	if strings.TrimSpace(s[start:end]) != s[start:end] {
		t.Errorf("%q begins or ends with what is not visible", s[start:end])
	}
	if utf8.ValidString(s) && !utf8.ValidString(s[start:end]) {
		t.Errorf("%q cuts a character", s[start:end])
	}
}

// TestProperties: of any text spans are within it, short, and whole characters, and the same again in any order of the matches.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"word", "key", " ", ". ", "\n", "\r\n", "東京", "。", "é", "a\u0301", "🙂", "ไทย", "\u2028", "U.S. ", "x", strings.Repeat("z", 300), "\u00a0", "! "}
	for range 500 {
		var b strings.Builder
		for range r.IntN(150) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		s := b.String()
		var ms []Match
		for range r.IntN(12) {
			from := r.IntN(len(s) + 2)
			ms = append(ms, Match{from - 1, from + r.IntN(12), r.IntN(4), float64(r.IntN(4))})
		}
		for i := range ms { // as tokenizers cut, at characters
			for ms[i].Start > 0 && ms[i].Start < len(s) && !utf8.RuneStart(s[ms[i].Start]) {
				ms[i].Start--
			}
			for ms[i].End < len(s) && ms[i].End > 0 && !utf8.RuneStart(s[ms[i].End]) {
				ms[i].End++
			}
		}
		start, end, ok, err := Best(t.Context(), s, ms)
		if err != nil {
			t.Fatal(err)
		}
		held(t, s, ms, start, end, ok)
		r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		if a, b, _, _ := Best(t.Context(), s, ms); a != start || b != end {
			t.Fatalf("%q in another order: [%d, %d), and [%d, %d)", s, a, b, start, end)
		}
	}
}

// TestMost: no run of whole sentences gives more than the one that is chosen, by a search of all of them.
func TestMost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var b strings.Builder
		var starts, ends []int
		for range 2 + r.IntN(12) {
			starts = append(starts, b.Len())
			fmt.Fprintf(&b, "This %s stands.", strings.Repeat("w", r.IntN(80)))
			ends = append(ends, b.Len())
			b.WriteByte(' ')
		}
		var ms []Match
		for range 1 + r.IntN(10) {
			i := starts[r.IntN(len(starts))]
			ms = append(ms, Match{i, i + 4, r.IntN(5), float64(1 + r.IntN(3))})
		}
		gives := func(start, end int) (sum float64) {
			var of [5]float64
			for _, m := range ms {
				if m.Start >= start && m.End <= end {
					of[m.Part] = max(of[m.Part], m.Gain)
				}
			}
			for _, g := range of {
				sum += g
			}
			return sum
		}
		all, most := gives(0, b.Len()), 0.0
		for i := range starts {
			for j := i; j < len(ends) && ends[j]-starts[i] <= Limit; j++ {
				most = max(most, gives(starts[i], ends[j])-toll*all*float64(ends[j]-starts[i])/Limit)
			}
		}
		start, end, _, err := Best(t.Context(), b.String(), ms)
		if got := gives(start, end) - toll*all*float64(end-start)/Limit; err != nil || math.Abs(got-most) > 1e-9 {
			t.Fatalf("%q: %q gives %v, another %v; %v", b.String(), b.String()[start:end], got, most, err)
		}
	}
}

func FuzzBest(f *testing.F) {
	f.Add("One here. Two there.\r\nThree", uint16(3), uint16(9), uint16(4))
	f.Add("東京は首都です。"+strings.Repeat("あ", 200), uint16(0), uint16(30), uint16(6))
	f.Add(strings.Repeat("x", 9000)+"\xff\xf0 \u0301\u0301", uint16(8990), uint16(10), uint16(700))
	f.Fuzz(func(t *testing.T, s string, a, b, n uint16) {
		ms := []Match{{int(a), int(a) + int(n), 0, 1}, {int(b), int(b) + int(n)/2, 1, 2}, {int(a) + int(b), int(a) + int(b) + 3, 0, 3}}
		start, end, ok, err := Best(t.Context(), s, ms)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms { // a match within a character is none that a tokenizer makes
			if m.Start < len(s) && !utf8.RuneStart(s[m.Start]) || m.End < len(s) && !utf8.RuneStart(s[m.End]) {
				return
			}
		}
		held(t, s, ms, start, end, ok)
	})
}

// TestWords: words give their share by idf once, adjacent pairs more, and compounds their parts.
func TestWords(t *testing.T) {
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	idf := func(term string) float64 {
		if term == "rare" {
			return 8
		}
		return 1
	}
	filler := strings.Repeat("Nothing else of note. ", 20)
	for name, c := range map[string]struct{ query, text, want string }{
		"the rare word":    {"rare common usual", "Usual and common. " + filler + "A rare one.", "A rare one."},
		"adjacent":         {"signing keys", "Keys for signing. " + filler + "Signing keys here.", "Signing keys here."},
		"in their order":   {"signing keys", "Keys signing. " + filler + "Signing keys.", "Signing keys."},
		"forms of a word":  {"rotating key", filler + "They rotate keys. " + filler, "They rotate keys."},
		"compounds":        {"ERR_CONN_RESET", filler + "Then err_conn_reset came. " + filler, "Then err_conn_reset came."},
		"no such word":     {"absent", filler, ""},
		"stop words alone": {"else of", filler, "Nothing else of note."},
		"nothing asked":    {"", filler, ""},
	} {
		ms := Words(a.Asked(nil, c.query), a.Terms(nil, c.text), idf)
		start, end, ok, err := Best(t.Context(), c.text, ms)
		if err != nil || ok != (c.want != "") || c.text[start:end] != c.want {
			t.Errorf("%s: %q, %v", name, c.text[start:end], err)
		}
	}
	sum := map[int]float64{}
	for _, m := range Words(a.Terms(nil, "rare common rare common"), a.Terms(nil, "rare common rare"), idf) {
		sum[m.Part] = m.Gain
	}
	total := 0.0
	for _, g := range sum {
		total += g
	}
	if len(sum) != 4 || math.Abs(total-1.5) > 1e-9 {
		t.Errorf("two words and two pairs give %v", sum)
	}
}

func TestMixed(t *testing.T) {
	a, b := []Match{{0, 4, 3, 1}}, []Match{{5, 9, 0, 2}, {5, 9, 3, 2}}
	if got, want := Mixed(a, b, 0.25), []Match{{0, 4, 3, 0.75}, {5, 9, 4, 0.5}, {5, 9, 7, 0.5}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if a[0].Gain != 1 || b[0].Part != 0 {
		t.Error("what was given has changed")
	}
}

func TestRunesIn(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "aé": 3, "a\xc3": 1, "a東": 4, "a\xe6\x9d": 1, "a\xff": 2, "a\x80\x80\x80\x80": 5, "\xf0\x9f\x99": 3} {
		if got := runesIn(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func BenchmarkBest(b *testing.B) {
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		b.Fatal(err)
	}
	var s strings.Builder
	r := rand.New(rand.NewPCG(5, 6))
	for s.Len() < 1000 {
		fmt.Fprintf(&s, "This sentence speaks of topic%d and matter%d at %d. ", r.IntN(30), r.IntN(30), r.IntN(3))
	}
	query := a.Terms(nil, "which sentence speaks of topic3 and matter4")
	idf := func(string) float64 { return 1 }
	b.Run("words", func(b *testing.B) {
		for b.Loop() {
			if _, _, ok, err := Best(b.Context(), s.String(), Words(query, a.Terms(nil, s.String()), idf)); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("tokens", func(b *testing.B) {
		var ms []Match
		in := false
		for i, c := range s.String() {
			if !unicode.IsSpace(c) && !in {
				for part := range 10 {
					ms = append(ms, Match{i, i + 1, part, r.Float64()})
				}
			}
			in = !unicode.IsSpace(c)
		}
		for b.Loop() {
			if _, _, ok, err := Best(b.Context(), s.String(), ms); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}
