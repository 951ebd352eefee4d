package limit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
)

// TestWrite: who likes what a query asks for is its answer, and nobody else; nearly every pair is asked for.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limit")
	if err := Write(t.Context(), dir, 300, 7); err != nil {
		t.Fatal(err)
	}
	c, err := bench.ReadCorpus(dir, bench.ReadOptions{})
	if err != nil || len(c.Passages) != 300 || len(c.Queries) != 1000 {
		t.Fatalf("%d documents, %d queries, %v", len(c.Passages), len(c.Queries), err)
	}
	who := map[string][]string{}
	split := regexp.MustCompile(`, | and `)
	for _, p := range c.Passages {
		has := split.Split(strings.TrimSuffix(strings.TrimPrefix(p.Body, p.ID+" likes "), "."), -1)
		if len(has) != likes || len(slices.Compact(slices.Sorted(slices.Values(has)))) != likes {
			t.Fatalf("%s has %d likes", p.ID, len(has))
		}
		for _, like := range has {
			who[like] = append(who[like], p.ID)
		}
	}
	pairs := map[string]bool{}
	for _, q := range c.Queries {
		want := who[strings.TrimSuffix(strings.TrimPrefix(q.Text, "Who likes "), "?")]
		if len(want) != 2 || len(c.Qrels[q.ID]) != 2 || c.Qrels[q.ID][want[0]] != 1 || c.Qrels[q.ID][want[1]] != 1 {
			t.Fatalf("%s: %v like it, judged are %v", q.Text, want, c.Qrels[q.ID])
		}
		pairs[strings.Join(slices.Sorted(slices.Values(want)), ", ")] = true
	}
	if len(pairs) != 1000 {
		t.Errorf("%d pairs, want 1,000 of the 1,035", len(pairs))
	}
	again := filepath.Join(t.TempDir(), "again")
	if err := Write(t.Context(), again, 300, 7); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(again, "corpus.jsonl")); err != nil || string(a) != string(b) {
		t.Errorf("the same seed makes another corpus: %v", err)
	}
}

func TestWriteRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{45, 1 << 20} {
		if err := Write(t.Context(), dir, n, 1); !errors.Is(err, bench.ErrOption) {
			t.Errorf("%d documents: %v", n, err)
		}
	}
	if err := Write(t.Context(), dir, 46, 1); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), dir, 46, 1); !errors.Is(err, bench.ErrOption) || !strings.Contains(err.Error(), "name a new folder") {
		t.Errorf("a folder that has a corpus: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cut := t.TempDir()
	if err := Write(ctx, cut, 46, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := os.Stat(filepath.Join(cut, "corpus.jsonl")); err == nil {
		t.Error("it leaves half a corpus")
	}
	if n := len(given) * len(surnames); n < DefaultDocuments {
		t.Errorf("%d names are too few for the default", n)
	}
	for i, s := range [][]string{allLikes(), given, surnames} {
		if unique := slices.Compact(slices.Sorted(slices.Values(s))); len(unique) != len(s) {
			t.Errorf("list %d has something twice", i)
		}
	}
}
