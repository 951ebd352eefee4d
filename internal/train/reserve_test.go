package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
)

func TestReservedIsHalfOfThePassage(t *testing.T) {
	words := strings.Fields(strings.Repeat("one, “two” three. ", 20))
	first := 0
	for n := range words {
		s := fmt.Sprintf("„%s“ w%d.", strings.Join(words[:n], " "), n)
		all := text.Words(nil, s)
		from, to := Reserved(s)
		if len(all) < 12 {
			if from != 0 || to != 0 {
				t.Errorf("%d words: [%d, %d) is reserved", len(all), from, to)
			}
			continue
		}
		held := text.Words(nil, s[from:to])
		if len(held) != len(all)/2 {
			t.Errorf("%d of %d words are reserved", len(held), len(all))
		}
		switch {
		case from == all[0].Start:
			first++
		case to != all[len(all)-1].End:
			t.Errorf("[%d, %d) of %q is neither its begin nor its end", from, to, s)
		}
	}
	if first < 15 || first > 35 {
		t.Errorf("the first half is reserved in %d of 49 passages", first)
	}
	selecting := 0
	for i := range 8000 {
		if Selects(fmt.Sprint("passage ", i)) {
			selecting++
		}
	}
	if selecting < 880 || selecting > 1120 { // 4 standard deviations
		t.Errorf("%d of 8,000 passages select", selecting)
	}
}

// repetitive are passages that say some phrases in both of their halves, long
// ones and short ones.
func repetitive(n int) []string {
	texts := invented(n)
	for i, s := range texts {
		words := strings.Fields(s)
		switch i % 4 {
		case 0:
			texts[i] = s + " " + strings.Join(words[2:9], " ") + " and so on"
		case 1:
			texts[i] = strings.Join(words[:5+i%9], " ")
		}
	}
	return texts
}

// No sampler draws a run of words that the reserved part has, whatever the
// seed; single words of that part are drawn. The queries that choose the epoch
// come from reserved parts of selecting passages, so training has no run of
// theirs, either.
func TestReservedPartsAreLeftAlone(t *testing.T) {
	c := encoded(t, encoder.NewHash(8), repetitive(400))
	for seed := range uint64(3) {
		for _, reserve := range []bool{false, true} {
			taught, chosen, err := Draw(t.Context(), c, Options{Seed: seed + 1, Reserve: reserve})
			if err != nil {
				t.Fatal(err)
			}
			shared, spans, inside := 0, 0, 0
			for _, q := range taught {
				s := c.texts[q.Passage]
				from, to := Reserved(s)
				held := Runs(s[from:to], CleanRun)
				for run := range Runs(q.Query, CleanRun) {
					if _, ok := held[run]; ok {
						shared++
						break
					}
				}
				if strings.Contains(s, q.Query) {
					spans++
				} else if to > 0 && slices.ContainsFunc(strings.Fields(q.Query), func(w string) bool {
					return strings.Contains(s[from:to], w) && !strings.Contains(s[:from]+s[to:], w)
				}) {
					inside++
				}
			}
			if (shared == 0) != reserve || len(taught) < 3000 || spans < len(taught)*2/5 || inside < 200 {
				t.Errorf("reserve %v: %d of %d queries (%d spans) share a run with a reserved part; %d draw words from there alone", reserve, shared, len(taught), spans, inside)
			}
			if len(chosen) < 30 {
				t.Errorf("reserve %v: the epoch is chosen by %d queries", reserve, len(chosen))
			}
			seen := map[int][]string{}
			for _, q := range taught {
				seen[q.Passage] = append(seen[q.Passage], q.Query)
			}
			overlap := 0
			for _, q := range chosen {
				s := c.texts[q.Passage]
				for run := range Runs(q.Query, CleanRun) {
					if slices.ContainsFunc(seen[q.Passage], func(t string) bool { _, ok := Runs(t, CleanRun)[run]; return ok }) {
						overlap++
						break
					}
				}
				from, to := Reserved(s)
				outside := func(w text.Word) bool {
					return !slices.ContainsFunc(text.Words(nil, s[from:to]), func(x text.Word) bool { return x.Lower == w.Lower })
				}
				if reserve && (!Selects(s) || slices.ContainsFunc(text.Words(nil, q.Query), outside)) {
					t.Errorf("the epoch is chosen by %q, of %q", q.Query, s)
				}
			}
			if (overlap == 0) != reserve {
				t.Errorf("reserve %v: %d of %d queries that choose the epoch share a run with one that teaches", reserve, overlap, len(chosen))
			}
		}
	}
}

// asking remembers the queries that it is given.
type asking struct {
	encoder.Encoder
	asked map[string]int
}

func (a *asking) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, err
	}
	if role == encoder.Query {
		for _, s := range texts {
			a.asked[s]++
		}
	}
	return a.Encoder.Encode(ctx, role, in, need)
}

// What Draw tells is what a fit encodes, no more and no less.
func TestDrawIsWhatAFitLearnsFrom(t *testing.T) {
	enc := &asking{encoder.NewHash(16), map[string]int{}}
	c := encoded(t, enc, repetitive(60))
	for _, o := range []Options{{Reserve: true, QueriesPerPassage: 5}, {MaxQueries: 70, Seed: 4}} {
		clear(enc.asked)
		o.Stack, o.Epochs = "slr", 1
		_, r, err := Fit(t.Context(), c, enc, o)
		if err != nil {
			t.Fatal(err)
		}
		taught, chosen, err := Draw(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		for _, q := range append(slices.Clone(taught), chosen...) {
			want[q.Query]++
		}
		if r.Queries != len(taught) || !maps.Equal(want, enc.asked) {
			t.Errorf("%+v: a fit of %d queries asked for %d texts, Draw names %d and %d", o, r.Queries, len(enc.asked), len(taught), len(chosen))
		}
	}
	if _, _, err := Draw(t.Context(), &list{}, Options{}); err == nil {
		t.Error("queries were drawn from nothing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ending := Options{Progress: func(_ string, done, total int, _ float64) {
		if done == total {
			cancel()
		}
	}}
	if _, _, err := Draw(ctx, c, ending); !errors.Is(err, context.Canceled) {
		t.Errorf("the queries of the probes are drawn behind the end of the context: %v", err)
	}
}
