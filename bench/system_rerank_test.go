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

// The first hits of a mode stand in the reranker's order, the others follow, and scores fall.
func TestReranked(t *testing.T) {
	ctx := t.Context()
	c, err := ReadCorpora(townCorpus(t, 60), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	s, err := NewSetting(ctx, encoder.NewHash(64), NewTargets(c.Passages), SettingOptions{Seed: 1, Reranker: backwards(&calls), RerankDepth: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, mode := range []string{"engine:hybrid", "engine:dense/none", "engine:lexical"} {
		_, first := prepared(t, s, mode)
		system, second := prepared(t, s, mode+"/rerank")
		if system.Name != mode+"/rerank" || !system.Reranks {
			t.Errorf("%+v", system)
		}
		questions, err := s.Questions(ctx, []string{s.Targets.Texts[3], s.Targets.Texts[3]}, system.Need)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{3, 7, 20} {
			plain, err1 := first.Retrieve(ctx, questions, max(k, 7))
			got, err2 := second.Retrieve(ctx, questions, k)
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
					t.Errorf("%s, k %d: hit %d is %+v, want target %d", mode, k, i, h, want[i].Target)
				}
				last = h.Score
			}
		}
	}
	if len(s.databases) != 1 {
		t.Errorf("%d databases are made of one corpus", len(s.databases))
	}
	s.Reranker = rerank.Func(func(context.Context, string, []string) ([]float64, error) { return nil, nil })
	system, broken := prepared(t, s, "engine:hybrid/rerank")
	questions, err := s.Questions(ctx, []string{"a mill"}, system.Need)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Retrieve(ctx, questions, 3); !errors.Is(err, engine.ErrReranker) {
		t.Errorf("a reranker without scores: %v", err)
	}
	s.Reranker = nil
	if _, _, err := system.Prepare(ctx, s); !errors.Is(err, ErrOption) {
		t.Errorf("without one: %v", err)
	}
}

// A run tells by what and how deep it reranked, and needs a reranker before it encodes.
func TestRunReranked(t *testing.T) {
	var calls atomic.Int64
	o := Options{Data: townCorpus(t, 40), Systems: []string{"dense", "engine:hybrid", "engine:hybrid/rerank"}, Tasks: []string{"query"}, Reranker: backwards(&calls), RerankDepth: 5}
	rep, err := Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Reranker != "unnamed" || rep.RerankDepth != 5 || calls.Load() == 0 {
		t.Errorf("reranked by %q the first %d, %d calls", rep.Reranker, rep.RerankDepth, calls.Load())
	}
	var table strings.Builder
	if err := rep.WriteTable(&table, nil); err != nil || !strings.Contains(table.String(), " · the first 5 reranked by unnamed\n") || !strings.Contains(table.String(), "engine:hybrid/rerank") {
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
