// Package reranktest tests rerankers. [Run] is the conformance suite that every engine.Reranker must pass.
// [NewAPI] is a server that reranks by the share of common words, and fails on request.
package reranktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// Options describe guarantees of a reranker beyond its interface.
type Options struct {
	// Pointwise says that the score of a text depends only on the query and the text, as with
	// cross-encoders. Run then tests that scores depend on the query, and that other texts in the call
	// and their order change a score by at most 1e-4·max(1, |score|).
	Pointwise bool
}

// texts are of different lengths, so that batches get mixed.
var texts = []string{
	"The cat sat on the mat.",
	"Ships of the line carried seventy-four guns, and their crews numbered six hundred men or more.",
	"database",
	"How do plants turn light into sugar?",
	"Straße, naïve café, 東京 und Αθήνα",
	"A recipe for bread: flour, water, salt, yeast and a hot oven.",
	"quarterly revenue grew",
}

// awkward are difficult texts that real input contains sooner or later.
var awkward = []string{
	"", " \t\r\n  ", "a\x00b", "\xff\xfe abc \xc3(", "\ufeffhello", "\u0301\u0301\u0301",
	"[CLS] [SEP] [PAD] [UNK] [MASK] [", "<s> </s> <pad>", strings.Repeat("x", 1<<16), strings.Repeat("many words ", 5000),
	"👩\u200d👩\u200d👧\u200d👦 👍🏽",
}

// Run tests the contract of engine.Reranker. open is called for each test and returns a reranker. If
// it must be closed, open registers that with t.Cleanup.
func Run(t *testing.T, o Options, open func(t *testing.T) engine.Reranker) {
	for _, part := range []struct {
		name string
		test func(*testing.T, engine.Reranker)
	}{
		{"Counts", testCounts},
		{"Awkward", testAwkward},
		{"Ownership", testOwnership},
		{"Concurrency", testConcurrency},
		{"Cancel", testCancel},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open(t)) })
	}
	if o.Pointwise {
		t.Run("Pointwise", func(t *testing.T) { testPointwise(t, open(t)) })
	}
}

// scores returns the scores of one call, which must satisfy the contract.
func scores(t *testing.T, r engine.Reranker, query string, texts []string) []float64 {
	t.Helper()
	out, err := r.Rerank(context.Background(), query, texts)
	if err != nil {
		t.Fatalf("reranking %d texts: %v", len(texts), err)
	}
	check(t, out, texts)
	return out
}

func check(t *testing.T, out []float64, texts []string) {
	t.Helper()
	if len(out) != len(texts) {
		t.Fatalf("%d scores for %d texts", len(out), len(texts))
	}
	for i, s := range out {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			t.Errorf("text %d (%.40q): score %v, want a finite one", i, texts[i], s)
		}
	}
}

// many returns n texts with repetitions.
func many(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = texts[i%len(texts)]
	}
	return out
}

func testCounts(t *testing.T, r engine.Reranker) {
	for _, n := range []int{1, 2, 7, 50, 130} {
		scores(t, r, "how do plants live", many(n))
	}
	if out, err := r.Rerank(context.Background(), "query", nil); err != nil || len(out) > 0 {
		t.Errorf("no texts: %v, %v", out, err)
	}
}

func testAwkward(t *testing.T, r engine.Reranker) {
	scores(t, r, "plain", awkward)
	for _, query := range awkward {
		scores(t, r, query, texts[:2])
	}
}

func testOwnership(t *testing.T, r engine.Reranker) {
	given := slices.Clone(texts)
	out := scores(t, r, "who owns what", given)
	if !slices.Equal(given, texts) {
		t.Error("the texts were changed")
	}
	kept := slices.Clone(out)
	scores(t, r, "another query", many(20))
	if !slices.Equal(out, kept) {
		t.Error("scores change with the next call")
	}
}

func testConcurrency(t *testing.T, r engine.Reranker) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 3 {
				in := many(3 + 5*n + i)
				out, err := r.Rerank(context.Background(), fmt.Sprint("query ", i), in)
				if err != nil || len(out) != len(in) {
					t.Errorf("caller %d: %d scores for %d texts, %v", i, len(out), len(in), err)
					return
				}
				check(t, out, in)
			}
		})
	}
	wg.Wait()
}

// testCancel: a call ends soon after its context, with the context's error if it has not finished.
func testCancel(t *testing.T, r engine.Reranker) {
	in := make([]string, 1000)
	for i := range in {
		in[i] = strings.Repeat(texts[i%len(texts)]+" ", 30)
	}
	for _, after := range []time.Duration{-1, 0, 20 * time.Millisecond} {
		ctx, cancel := context.WithCancel(context.Background())
		if after < 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		start := time.Now()
		out, err := r.Rerank(ctx, "query", in)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %s: %v", after, err)
		}
		if err == nil {
			check(t, out, in)
		}
		if took := time.Since(start); took > after+10*time.Second {
			t.Errorf("cancelled after %s, it took %s", after, took)
		}
		cancel()
	}
}

func testPointwise(t *testing.T, r engine.Reranker) {
	const query = "how do plants turn light into bread"
	want := scores(t, r, query, texts)
	alike := func(what string, got, want float64) {
		t.Helper()
		if d := math.Abs(got - want); !(d <= 1e-4*max(1, math.Abs(want))) {
			t.Errorf("%s: score %v, want %v", what, got, want)
		}
	}
	for i, text := range texts {
		alike("alone, "+text, scores(t, r, query, []string{text})[0], want[i])
	}
	in := many(61)
	slices.Reverse(in)
	for i, s := range scores(t, r, query, in) {
		alike("in other company, "+in[i], s, want[slices.Index(texts, in[i])])
	}
	if other := scores(t, r, "quarterly revenue of the bakery and its database", texts); slices.Equal(other, want) {
		t.Error("scores are the same whatever the query")
	}
	if slices.Max(want) == slices.Min(want) {
		t.Errorf("all texts have the score %v", want[0])
	}
}
