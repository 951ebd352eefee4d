package bench

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/rerank"
)

// backwards is a reranker by the length of texts, which knows nothing of a query.
func backwards(calls *atomic.Int64) engine.Reranker {
	return rerank.Func(func(_ context.Context, _ string, texts []string) ([]float64, error) {
		calls.Add(1)
		out := make([]float64, len(texts))
		for i, t := range texts {
			out[i] = -float64(len(t))
		}
		return out, nil
	})
}

// The first hits of the hybrid stand in the reranker's order, the others follow.
func TestReranked(t *testing.T) {
	ctx := context.Background()
	c, err := ReadCorpora(townCorpus(t, 60), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	s, err := NewSetting(ctx, encoder.NewHash(64), NewTargets(c.Passages), SettingOptions{Seed: 1, Reranker: backwards(&calls), RerankDepth: 7})
	if err != nil {
		t.Fatal(err)
	}
	ready := func(name string) Retriever {
		system, err := ParseSystem(name)
		if err != nil {
			t.Fatal(err)
		}
		if system.Name != name {
			t.Errorf("%s is called %s", name, system.Name)
		}
		r, _, err := system.Prepare(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	out, err := s.Encoder.Encode(ctx, encoder.Query, encoder.Texts(s.Targets.Texts[3]), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	questions := []Question{{Text: s.Targets.Texts[3], Output: out[0]}, {Text: s.Targets.Texts[3], Output: out[0]}}
	for _, leg := range []string{"", ":dense"} {
		for _, k := range []int{3, 7, 20} {
			plain, err1 := ready("hybrid"+leg).Retrieve(ctx, questions, max(k, 7))
			got, err2 := ready("hybrid+rerank"+leg).Retrieve(ctx, questions, k)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			want := plain[0]
			slices.SortStableFunc(want[:7], func(a, b Hit) int {
				return cmp.Compare(len(s.Targets.Texts[a.Target]), len(s.Targets.Texts[b.Target]))
			})
			if len(got[1]) != k {
				t.Fatalf("%d hits, want %d", len(got[1]), k)
			}
			last := math.Inf(1)
			for i, h := range got[1] {
				if h.Target != want[i].Target || h.Score >= last {
					t.Errorf("%s, k %d: hit %d is %+v, want target %d", leg, k, i, h, want[i].Target)
				}
				last = h.Score
			}
		}
	}
	s.Reranker = rerank.Func(func(context.Context, string, []string) ([]float64, error) { return nil, nil })
	if _, err := ready("hybrid+rerank").Retrieve(ctx, questions, 3); !errors.Is(err, engine.ErrReranker) {
		t.Errorf("a reranker without scores: %v", err)
	}
}

// A run tells by what and how deep it reranked, and needs a reranker before it encodes.
func TestRunReranked(t *testing.T) {
	var calls atomic.Int64
	o := Options{Data: townCorpus(t, 40), Systems: []string{"dense", "hybrid", "hybrid+rerank"}, Tasks: []string{"query"}, Reranker: backwards(&calls), RerankDepth: 5}
	rep, err := Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Reranker != "unnamed" || rep.RerankDepth != 5 || calls.Load() == 0 {
		t.Errorf("reranked by %q the first %d, %d calls", rep.Reranker, rep.RerankDepth, calls.Load())
	}
	var table strings.Builder
	if err := rep.WriteTable(&table, nil); err != nil || !strings.Contains(table.String(), " · the first 5 reranked by unnamed\n") || !strings.Contains(table.String(), "hybrid+rerank") {
		t.Errorf("%v in the table\n%s", err, &table)
	}
	o.Reranker = nil
	if _, err := Run(context.Background(), nil, o); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "--rerank") {
		t.Errorf("without one: %v", err)
	}
	o.Systems = []string{"hybrid"}
	if rep, err := Run(context.Background(), encoder.NewHash(64), o); err != nil || rep.Reranker != "" || rep.RerankDepth != 0 {
		t.Errorf("a run without reranking: %+v, %v", rep, err)
	}
}
