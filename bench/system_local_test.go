package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestLocalSystem(t *testing.T) {
	dir := townCorpus(t, 80)
	o := Options{Data: dir, Systems: []string{"dense", "rlr-local", "rlr-local:4", "rlr-local:4:4", "rlr-local:4:2"}, Tasks: []string{"keyword", "part:6"}, Seed: 3}
	rep, err := Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	score := map[string]Result{}
	for _, r := range rep.Results {
		score[r.System+" "+r.Task] = r
	}
	if len(score) != 10 {
		t.Fatalf("%d results", len(score))
	}
	for _, task := range o.Tasks {
		at := func(system string) float64 { return score[system+" "+task].Metrics["ndcg@10"] }
		if at("rlr-local") <= at("dense") || at("rlr-local:4") <= at("dense") {
			t.Errorf("%s: local bridges %.3f and %.3f, dense %.3f", task, at("rlr-local"), at("rlr-local:4"), at("dense"))
		}
		for i, x := range score["rlr-local:4 "+task].PerQuery["ndcg@10"] {
			if x != score["rlr-local:4:4 "+task].PerQuery["ndcg@10"][i] {
				t.Errorf("%s: all cells named is not all cells", task)
			}
		}
		if at("rlr-local:4:2") > at("rlr-local:4")+0.05 {
			t.Errorf("%s: half of the cells %.3f, all %.3f", task, at("rlr-local:4:2"), at("rlr-local:4"))
		}
	}
	if f := rep.Fit["rlr-local:4"]; f.Passages != 80 || f.Seconds <= 0 || f.Queries != 0 {
		t.Errorf("fit is %+v", f)
	}
	o.Systems = []string{"rlr-local:500"}
	if _, err := Run(context.Background(), encoder.NewHash(64), o); !errors.Is(err, ErrUnknownName) {
		t.Errorf("more cells than passages: %v", err)
	}
}

func TestLocalSystemNames(t *testing.T) {
	for _, bad := range []string{"rlr-local:", "rlr-local:x", "rlr-local:0", "rlr-local:-1:1", "rlr-local:4:", "rlr-local:4:0", "rlr-local:4:5", "rlr-local:4:2:1"} {
		if _, err := ParseSystem(bad); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"rlr-local", "rlr-local:80", "rlr-local:80:8"} {
		if s, err := ParseSystem(good); err != nil || s.Name != good {
			t.Errorf("%q: %+v %v", good, s, err)
		}
	}
}
