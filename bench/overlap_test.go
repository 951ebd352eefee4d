package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/train"
)

// rambling are n passages of 8 to 100 made words; every third says a phrase of
// its first half again at its end.
func rambling(n int) *Corpus {
	rng := random.New(5, "rambling")
	c := &Corpus{Name: "rambling"}
	for i := range n {
		words := make([]string, 8+rng.IntN(93))
		for j := range words {
			words[j] = fmt.Sprint(string(rune('a'+rng.IntN(26))), rng.IntN(400))
			if rng.IntN(8) == 0 {
				words[j] += []string{",", ".", " –", "-like"}[rng.IntN(4)]
			}
		}
		if i%3 == 0 {
			words = append(words, words[1:8]...)
		}
		c.Passages = append(c.Passages, Passage{ID: fmt.Sprintf("p%04d", i), Body: strings.Join(words, " ")})
	}
	return c
}

type held struct{ targets *Targets }

func (h held) Len() int                   { return h.targets.Len() }
func (h held) Text(i int) (string, error) { return h.targets.Texts[i], nil }
func (h held) Vector(int) []float32       { return []float32{1} }

// The table of overlaps: no clean probe shares a run of words with a query that
// bridges are taught by, or that the epoch is chosen by; others do.
func TestCleanProbesShareNothing(t *testing.T) {
	c := rambling(250)
	targets := NewTargets(c.Passages)
	for seed := range uint64(2) {
		for _, clean := range []bool{false, true} {
			taught, chosen, err := train.Draw(t.Context(), held{targets}, train.Options{Seed: seed + 1, QueriesPerPassage: 23, Reserve: clean})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"part:4", "part:8", "part:16", "part:32", "keyword", "keyword-rake"} {
				task, err := MakeTask(name, TaskInput{Corpus: c, Targets: targets, Seed: seed + 1, Clean: clean})
				if err != nil {
					t.Fatal(err)
				}
				o := measureOverlap(task, targets, taught, chosen)
				span := strings.HasPrefix(name, "part:")
				switch {
				case o.Queries != len(task.Queries) || o.Queries < 60:
					t.Errorf("%s: %d queries of %d", name, o.Queries, len(task.Queries))
				case clean && (o.Chosen > 0 || span && o.Taught > 0), o.Whole > o.Taught:
					t.Errorf("clean %v, seed %d: %+v", clean, seed+1, o)
				case !clean && span && (o.Taught < .5 || o.Chosen == 0): // else nothing would be told apart
					t.Errorf("seed %d: %+v", seed+1, o)
				}
				// One query that was seen is one too many.
				q := task.Queries[len(task.Queries)/2]
				at := slices.IndexFunc(targets.Members, func(m []string) bool { return m[0] == q.ID })
				seen := []train.Drawn{{Query: "before " + strings.ToUpper(firstWords(q.Text, overlapRun)) + " after", Passage: at}}
				planted := measureOverlap(task, targets, seen, seen)
				if want := 1 / float64(o.Queries); planted.Taught != want || planted.Chosen != want {
					t.Errorf("%s: a planted query is measured as %+v", name, planted)
				}
				seen[0].Passage = (at + 1) % targets.Len()
				if o := measureOverlap(task, targets, seen, seen); o.Taught+o.Chosen > 0 {
					t.Errorf("%s: a query of another passage is measured as %+v", name, o)
				}
			}
		}
	}
}

// firstWords is the text of the first n words of s.
func firstWords(s string, n int) string {
	words := text.Words(nil, s)
	return s[words[0].Start:words[min(n, len(words))-1].End]
}

func TestOverlapCountsRuns(t *testing.T) {
	targets := &Targets{Texts: []string{"x", "y", "z"}, Members: [][]string{{"a"}, {"b"}, {"c"}}}
	task := &Task{Name: "part:8", Queries: []Query{{"a", "one two three four five six seven eight"}, {"b", "one two three"}, {"c", "…"}}}
	for _, c := range []struct {
		query         string
		passage       int
		taught, whole float64
	}{
		{"Zero, one two three four five SIX", 0, 1, 0},
		{"one two three four five, seven eight", 0, 0, 0},
		{"six one two three four five", 0, 0, 0},
		{"and one two three four five six seven eight", 0, 1, 1},
		{"one two", 1, 0, 0},
		{"zero one, two three", 1, 1, 1},
		{"two three one", 1, 0, 0},
		{"…", 2, 0, 0},
	} {
		o := measureOverlap(task, targets, []train.Drawn{{Query: c.query, Passage: c.passage}}, nil)
		if math.Abs(3*o.Taught-c.taught) > 1e-9 || math.Abs(3*o.Whole-c.whole) > 1e-9 || o.Chosen != 0 || o.Queries != 3 {
			t.Errorf("%q: %+v", c.query, o)
		}
	}
}

// Fits of a clean run encode none of what its probes ask, and the report says so.
func TestCleanRun(t *testing.T) {
	dir := townCorpus(t, 90)
	overlap := map[bool]float64{}
	for _, clean := range []bool{false, true} {
		rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense", "slr"}, Tasks: []string{"query", "part:6"}, Clean: clean, QueriesPerPassage: 8})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Clean != clean || len(rep.Overlaps) != 1 || rep.Overlaps[0].Task != "part:6" || rep.Results[0].Queries != 30 {
			t.Errorf("clean %v: %v, %+v, %d judged queries", clean, rep.Clean, rep.Overlaps, rep.Results[0].Queries)
		}
		var table strings.Builder
		if err := rep.WriteTable(&table, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(table.String(), "clean probes") != clean || !strings.Contains(table.String(), "a run of 6 words") {
			t.Errorf("clean %v:\n%s", clean, table.String())
		}
		for _, q := range rep.Tasks[1].Queries {
			if c, err := ReadCorpus(dir, ReadOptions{}); clean && (err != nil || train.Selects(c.passage(q).Text())) {
				t.Errorf("%s is asked, though the epoch is chosen by it (%v)", q, err)
			}
		}
		overlap[clean] = rep.Overlaps[0].Taught
	}
	if overlap[true] != 0 || overlap[false] < .3 {
		t.Errorf("overlap %v", overlap)
	}
	rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense", "rlr"}, Tasks: []string{"part:6"}, Clean: true})
	if err != nil || rep.Overlaps != nil {
		t.Errorf("nothing was taught: %+v, %v", rep.Overlaps, err)
	}
	if _, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense"}, Tasks: []string{"part:3"}, Clean: true}); !errors.Is(err, ErrOption) {
		t.Errorf("three words as a clean probe: %v", err)
	}
}

func (c *Corpus) passage(id string) Passage {
	return c.Passages[slices.IndexFunc(c.Passages, func(p Passage) bool { return p.ID == id })]
}

// A clean span has as many words as keep it apart: three between dashes may
// stand anywhere.
func TestCleanSpansHaveWords(t *testing.T) {
	passage := strings.Repeat("one – two – three four five six ", 10)
	for seed := range uint64(200) {
		if span := cleanSpan(random.New(seed, "span"), passage, 4); len(strings.Fields(span)) != 4 || len(text.Words(nil, span)) != 4 {
			t.Fatalf("%q is drawn", span)
		}
	}
	for _, s := range []string{strings.Repeat("one – ", 40), "four words and more", ""} {
		if span := cleanSpan(random.New(1, "span"), s, 4); span != "" {
			t.Errorf("%q is drawn from %q", span, s)
		}
	}
}

// A fit to whole passages is that of a run without clean probes, and stands
// beside the clean one.
func TestWholeFitsBesideCleanOnes(t *testing.T) {
	o := Options{Data: townCorpus(t, 90), Systems: []string{"dense", "slr", "whole:slr"}, Tasks: []string{"query", "part:6"}, Clean: true, QueriesPerPassage: 8}
	run := func() *Report {
		rep, err := Run(context.Background(), encoder.NewHash(64), o)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	clean := run()
	if whole, own := clean.Fit["whole:slr"], clean.Fit["slr"]; whole.Cached || whole.Loss == own.Loss || clean.Overlaps[0].Taught != 0 {
		t.Errorf("fits %+v and %+v", whole, own)
	}
	o.Clean, o.Systems = false, []string{"dense", "slr"}
	plain := run()
	if plain.Fit["slr"].Loss != clean.Fit["whole:slr"].Loss || plain.Results[1].Metrics["ndcg@10"] != clean.Results[2].Metrics["ndcg@10"] {
		t.Errorf("judged queries: %v by whole:slr, %v by slr of a plain run", clean.Results[2].Metrics, plain.Results[1].Metrics)
	}
	o.Systems = []string{"whole:slr"}
	if _, err := Run(context.Background(), encoder.NewHash(64), o); !errors.Is(err, ErrOption) {
		t.Errorf("whole fits without clean probes: %v", err)
	}
	for _, bad := range []string{"whole", "whole:", "whole:rlr", "whole:none"} {
		if _, err := ParseSystem(bad); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
