package repeat

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/corpustest"
)

// counted counts the passages that an encoder is asked for.
type counted struct {
	encoder.Encoder
	mu       sync.Mutex
	passages int
}

func (c *counted) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if role == encoder.Passage {
		c.mu.Lock()
		c.passages += len(in)
		c.mu.Unlock()
	}
	return c.Encoder.Encode(ctx, role, in, need)
}

func TestSeeds(t *testing.T) {
	enc := &counted{Encoder: encoder.NewHash(64)}
	runs := filepath.Join(t.TempDir(), "runs")
	o := bench.Options{Data: corpustest.Town(t, 60), Systems: []string{"dense", "rlr", "bm25"}, Tasks: []string{"query", "keyword"}, QueriesLimit: 40, Seed: 4, RunsDir: runs}
	s, err := RunSeeds(context.Background(), enc, o, 3)
	if err != nil {
		t.Fatal(err)
	}
	if enc.passages != 60 {
		t.Errorf("%d passages were encoded, want each of 60 once", enc.passages)
	}
	if !slices.Equal(s.Seeds, []uint64{4, 5, 6}) || len(s.Reports) != 3 || len(s.Results) != 6 {
		t.Fatalf("seeds %v, %d reports, %d results", s.Seeds, len(s.Reports), len(s.Results))
	}
	for i, r := range s.Results {
		var means, lead []float64
		for j, rep := range s.Reports {
			one := rep.Results[i]
			if one.System != r.System || one.Task != r.Task || rep.Seed != s.Seeds[j] {
				t.Fatalf("result %d of seed %d is %s on %s, want %s on %s", i, rep.Seed, one.System, one.Task, r.System, r.Task)
			}
			means = append(means, one.Metrics["mrr@10"])
			lead = append(lead, one.Metrics["mrr@10"]-rep.Results[i/3*3].Metrics["mrr@10"])
		}
		mean := (means[0] + means[1] + means[2]) / 3
		variance := ((means[0]-mean)*(means[0]-mean) + (means[1]-mean)*(means[1]-mean) + (means[2]-mean)*(means[2]-mean)) / 2
		got := r.Metrics["mrr@10"]
		if math.Abs(got.Mean-mean) > 1e-12 || math.Abs(got.SD-math.Sqrt(variance)) > 1e-12 || got.Low != slices.Min(means) || got.High != slices.Max(means) {
			t.Errorf("%s on %s: %+v of %v", r.System, r.Task, got, means)
		}
		if (r.VsDense == nil) != (r.System == "dense") {
			t.Errorf("%s against dense: %v", r.System, r.VsDense)
		}
		if r.VsDense == nil {
			continue
		}
		d := r.VsDense["mrr@10"]
		if math.Abs(d.Delta-(lead[0]+lead[1]+lead[2])/3) > 1e-12 || !(d.P > 0 && d.P <= d.PHolm && d.PHolm <= 1) || !(d.PSeeds > 0 && d.PSeeds <= 1) {
			t.Errorf("%s on %s: %+v, leads %v", r.System, r.Task, d, lead)
		}
		// bm25 finds every keyword probe: a difference that no chance explains, which the three seeds alone cannot tell.
		if r.System == "bm25" && r.Task == "keyword" && (d.PHolm > .05 || d.Better != 3 || d.PSeeds < .2) {
			t.Errorf("bm25: %+v", d)
		}
		// The judged queries are the same for each seed, and so is what needs no fit.
		if r.Task == "query" && (got.SD > 1e-12 || math.Abs(d.P-s.Reports[0].Results[i].VsDenseBy["mrr@10"].P) > .02) {
			t.Errorf("%s on judged queries: %+v, %+v", r.System, got, d)
		}
	}
	if _, err := os.Stat(filepath.Join(runs, "seed-5", "keyword.bm25.trec")); err != nil {
		t.Error(err)
	}
	var table strings.Builder
	if err := s.WriteTable(&table, []string{"ndcg@10"}); err != nil || !strings.Contains(table.String(), "seeds 4 to 6") || !strings.Contains(table.String(), " ± 0.0") {
		t.Errorf("the table is %s, %v", table.String(), err)
	}
	if _, err := RunSeeds(context.Background(), enc, o, 1); !errors.Is(err, bench.ErrOption) {
		t.Errorf("one seed: %v", err)
	}
}
