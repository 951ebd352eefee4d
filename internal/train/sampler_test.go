package train

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
)

func passageOf(t testing.TB, texts ...string) *Passage {
	t.Helper()
	texts = append(texts, "another passage stands beside")
	set, err := readPassages(t.Context(), encoded(t, encoder.NewHash(8), texts), 8, Options{Progress: func(string, int, int, float64) {}})
	if err != nil {
		t.Fatal(err)
	}
	return set.passage(0)
}

// Every registered sampler is deterministic, draws words of the passage only
// and copes with passages of any length.
func TestSamplers(t *testing.T) {
	long := strings.Join(invented(3), " ")
	for _, s := range samplersOf("", false) {
		for _, txt := range []string{long, "Four words are here", "Vienna", "the of", "a b c", "…", "", "日本語の文章", "caf\xe9 \xff broken bytes"} {
			p := passageOf(t, txt)
			for seed := range uint64(50) {
				q := s.Draw(random(seed, "t", ""), p)
				if q != s.Draw(random(seed, "t", ""), p) {
					t.Fatalf("%s: two draws of one seed differ", s.Name)
				}
				for _, w := range text.Words(nil, q) {
					if !slices.ContainsFunc(p.Words, func(x text.Word) bool { return x.Lower == w.Lower }) {
						t.Fatalf("%s: %q is not a word of %q", s.Name, w.Lower, txt)
					}
				}
				if q == "" && txt == long {
					t.Fatalf("%s: nothing drawn from a long passage", s.Name)
				}
			}
		}
	}
}

func TestKeywordDraw(t *testing.T) {
	p := passageOf(t, "The Treaty of Vienna was signed in 1815 by delegates from nine states and the treaty held")
	lengths := map[int]bool{}
	for seed := range uint64(200) {
		words := strings.Fields(Keyword.Draw(random(seed, "t", ""), p))
		lengths[len(words)] = true
		low := slices.Clone(words)
		for i, w := range low {
			low[i] = strings.ToLower(w)
			if text.Stop(low[i]) || low[i] == "treaty" && w != "Treaty" {
				t.Fatalf("drew %q", w)
			}
		}
		slices.Sort(low)
		if len(slices.Compact(low)) != len(words) {
			t.Fatalf("a word drawn twice: %v", words)
		}
	}
	if len(lengths) != 6 || !lengths[3] || !lengths[8] {
		t.Fatalf("lengths %v, want 3 to 8", lengths)
	}
}

// Rare words are drawn more often than common ones.
func TestKeywordFollowsIDF(t *testing.T) {
	texts := []string{"common1 common2 common3 common4 common5 rare"}
	for range 30 {
		texts = append(texts, texts[0][:39]+strings.Repeat("x", len(texts)))
	}
	p := passageOf(t, texts...)
	count := map[string]int{}
	for seed := range uint64(1000) {
		for _, w := range strings.Fields(Keyword.Draw(random(seed, "t", ""), p)) {
			count[w]++
		}
	}
	if count["rare"] < 950 || count["common1"] > count["rare"]*9/10 {
		t.Fatalf("drawn %v", count)
	}
}

func TestSpanDraw(t *testing.T) {
	txt := strings.Join(invented(4), " ")
	p := passageOf(t, txt)
	least, most := 99, 0
	for seed := range uint64(500) {
		q := Span.Draw(random(seed, "t", ""), p)
		if !strings.Contains(txt, q) {
			t.Fatalf("%q does not stand in the passage", q)
		}
		n := len(text.Words(nil, q))
		least, most = min(least, n), max(most, n)
	}
	if least != 6 || most != 48 {
		t.Fatalf("windows of %d to %d words, want 6 to 48", least, most)
	}
	if q := Span.Draw(random(1, "t", ""), passageOf(t, "Only four words here.")); q != "Only four words here" {
		t.Fatalf("short passage gave %q", q)
	}
}

func TestDrawMix(t *testing.T) {
	p := passageOf(t, strings.Join(invented(4), " "))
	got := p.draw(random(1, "t", ""), 20)
	spans := 0
	for _, q := range got {
		if strings.Contains(p.Text, q) {
			spans++
		}
	}
	if len(got) != 20 || spans < 10 || spans > 12 {
		t.Fatalf("%d queries, %d of them spans; want 20 and 11", len(got), spans)
	}
	if got := passageOf(t, "Vienna").draw(random(1, "t", ""), 20); !slices.Equal(got, []string{"Vienna"}) {
		t.Fatalf("one word gave %q", got)
	}
}

func TestProbesDifferFromTraining(t *testing.T) {
	for _, probe := range probes {
		if probe.media != "" {
			continue
		}
		for _, txt := range []string{"", "one", "two words", "the of and", strings.Join(invented(2), " ")} {
			q := probe.make(random(1, "t", ""), passageOf(t, txt))
			if !utf8.ValidString(q) || q == txt && txt != "" {
				t.Fatalf("%s of %q: %q", probe.task, txt, q)
			}
			if n := len(text.Words(nil, q)); n > 0 && (n < 3 || n > 16 || probe.task == "keyword" && n > 8) {
				t.Fatalf("%s: %d words in %q", probe.task, n, q)
			}
		}
	}
}

func FuzzSamplers(f *testing.F) {
	f.Add("The Treaty of Vienna, signed in 1815.", uint64(1))
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		p := passageOf(t, s)
		for _, q := range p.draw(random(seed, "fuzz", s), 5) {
			if q == "" {
				t.Fatal("an empty query")
			}
		}
		for _, probe := range probes {
			probe.make(random(seed, "fuzz", s), p)
		}
	})
}
