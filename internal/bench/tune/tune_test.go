package tune

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/corpustest"
	"github.com/lexsem/lexsem/internal/bench/kinds"
)

// tuneOptions are those of a Tune over two made corpora.
func tuneOptions(t *testing.T) Options {
	other := corpustest.Folder(t, "other", "red fox here on the old long hill", "grey owl there on the old long hill", "blue whale under the old long hill",
		"black crow over the new short hill", "white hare along the new short hill", "brown bear behind the new short hill")
	return Options{
		Options: bench.Options{Tasks: []string{"query", "keyword", "verbose:keyword", "part:10"}, Seed: 3, Version: "v0"},
		Data:    []string{corpustest.Town(t, 50), other},
		Against: []string{"dense", "bm25"},
	}
}

// What Tune says of a setting is what Run measures with it, on either half.
func TestTuneMeasuresAsRun(t *testing.T) {
	for _, system := range []string{"hybrid", "engine:hybrid/tokens"} {
		t.Run(system, func(t *testing.T) { tuneMeasuresAsRun(t, system) })
	}
}

func tuneMeasuresAsRun(t *testing.T, system string) {
	o, enc := tuneOptions(t), encoder.NewHash(256)
	o.System = system
	o.Trials = []Trial{{"presence", []float64{0, .3, 2}}, {"pair", []float64{0, .2, 1}}}
	searched := 0
	o.Progress = func(p bench.Progress) {
		if strings.HasPrefix(p.Stage, "candidates of ") {
			searched++
		}
	}
	r, err := Run(context.Background(), enc, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(r.Sets) / 2; system == "hybrid" && searched != want {
		t.Errorf("the candidates of %d sets are made %d times", want, searched)
	}
	if slices.IndexFunc(r.Rows, func(row row) bool { return !near(row.Dev.Mean, r.Start.Dev.Mean) }) < 0 {
		t.Error("no value makes a difference")
	}
	for _, s := range r.Sets {
		at := slices.IndexFunc(o.Data, func(dir string) bool { return strings.HasSuffix(dir, s.Corpus) })
		rep, err := bench.Run(context.Background(), enc, bench.Options{Data: o.Data[at], Half: s.Half, Tasks: []string{s.Task}, Systems: []string{"dense", "bm25", system}, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		best := map[string]float64{}
		for _, res := range rep.Results {
			best[res.System] = res.Metrics["ndcg@10"]
			if res.Queries != s.Queries {
				t.Errorf("%+v: %d queries", s, res.Queries)
			}
		}
		if !near(best[system], s.Start) || !near(max(best["dense"], best["bm25"]), s.Best) || !near(best[s.Rival], s.Best) || !near(s.StartLead.Mean, s.Start-s.Best) || !near(s.Gain.Mean, s.Chosen-s.Start) {
			t.Errorf("%+v where the bench has %v", s, best)
		}
	}
	if len(r.Sets) < 8 || len(r.LeftOut) != 1 || r.LeftOut[0] != (kinds.Name{Corpus: "other", Task: "part:10"}) {
		t.Errorf("%d sets, without %v", len(r.Sets), r.LeftOut)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// The chosen setting is the best of those tried, the grid finds no worse one than
// the ascent, and what is chosen does not depend on the test half.
func TestTuneChooses(t *testing.T) {
	o, enc := tuneOptions(t), encoder.NewHash(256)
	o.Trials = []Trial{{"presence", []float64{0, .1, 1}}, {"coverage", []float64{0, 1}}}
	objectives := map[string]float64{}
	for _, search := range []string{coordinate, grid} {
		o.Search = search
		r, err := Run(context.Background(), enc, o)
		if err != nil {
			t.Fatal(err)
		}
		objectives[search] = r.Chosen.Dev.Objective
		if len(r.Rows) != 4+3 { // the shipped value beside those named
			t.Errorf("%d rows: %+v", len(r.Rows), r.Rows)
		}
		chosen := 0
		for _, row := range r.Rows {
			if row.Loss <= tolerance && row.Dev.better(r.Chosen.Dev) {
				t.Errorf("%s: %s %v is better than the chosen %s", search, row.Constant, *row.Value, r.Chosen.Constants)
			}
			if row.Chosen {
				chosen++
			}
		}
		if chosen != 2 || r.Start.Dev.better(r.Chosen.Dev) || len(r.Start.Constants) != 0 {
			t.Errorf("%s: %d rows are chosen, %+v, %+v", search, chosen, r.Chosen, r.Start)
		}
		if search == grid && r.Settings != 4*3 {
			t.Errorf("a grid of %d points", r.Settings)
		}
		if !(r.Gain.Low <= r.Gain.Mean && r.Gain.Mean <= r.Gain.High) || !near(r.Gain.Mean, r.Chosen.Test.Mean-r.Start.Test.Mean) || !near(r.Start.Lead.Mean, r.Start.Test.Lead) {
			t.Errorf("%s: gain %+v of %+v and %+v", search, r.Gain, r.Chosen, r.Start)
		}
	}
	if objectives[grid] < objectives[coordinate]-1e-9 {
		t.Errorf("the grid found less: %v", objectives)
	}
}

// The search begins with From, which others are compared with, and chooses nothing with
// which a set of the dev half loses by it.
func TestTuneFrom(t *testing.T) {
	o, enc := tuneOptions(t), encoder.NewHash(256)
	o.From = constants.Values{"presence": 2, "pair": .2}
	o.Trials = []Trial{{"presence", []float64{0, .3}}, {"coverage", []float64{0, .1}}}
	r, err := Run(context.Background(), enc, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Start.Constants.String() != "presence=2" { // the other is the shipped one
		t.Errorf("starts with %s", r.Start.Constants)
	}
	var values []float64
	for _, row := range r.Rows {
		if row.Constant == "presence" {
			values = append(values, *row.Value)
		}
		if row.Start != (row.Constant == "presence" && *row.Value == 2 || row.Constant == "coverage" && *row.Value == .1) {
			t.Errorf("%+v at %v", row, *row.Value)
		}
		if row.Chosen && row.Loss > tolerance+1e-9 {
			t.Errorf("%+v is chosen", row)
		}
	}
	if !slices.Equal(values, []float64{0, .3, 2}) {
		t.Errorf("values %v", values)
	}
	for _, s := range r.Sets {
		if s.Half == bench.DevHalf && s.Gain.Mean < -tolerance-1e-9 {
			t.Errorf("%+v loses", s)
		}
	}
	// What would be better but loses is not taken.
	tr := func(objective, loss float64) *trial { return &trial{dev: aim{Objective: objective}, loss: loss} }
	if tr(.2, .004).better(tr(.1, 0)) || !tr(.2, .003).better(tr(.1, 0)) || tr(.1, 0).better(tr(.1, 0)) {
		t.Error("a loss beyond the tolerance, or none, decides wrongly")
	}
}

func TestTuneRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*Options)
		want   error
	}{
		"no corpus":        {func(o *Options) { o.Data = nil }, bench.ErrNoData},
		"a corpus twice":   {func(o *Options) { o.Data = append(o.Data, o.Data[0]) }, bench.ErrDuplicateID},
		"system":           {func(o *Options) { o.System = "magic" }, bench.ErrUnknownName},
		"nothing to tune":  {func(o *Options) { o.System = "dense" }, bench.ErrOption},
		"other system's":   {func(o *Options) { o.Trials = []Trial{{"share", []float64{.2}}} }, bench.ErrOption},
		"unknown constant": {func(o *Options) { o.Trials = []Trial{{"magic", []float64{.2}}} }, bench.ErrUnknownName},
		"no value":         {func(o *Options) { o.Trials = []Trial{{"pair", nil}} }, bench.ErrOption},
		"out of range":     {func(o *Options) { o.Trials = []Trial{{"pair", []float64{math.NaN()}}} }, bench.ErrOption},
		"a value twice":    {func(o *Options) { o.Trials = []Trial{{"pair", []float64{.1, .1}}} }, bench.ErrDuplicateID},
		"a constant twice": {func(o *Options) { o.Trials = []Trial{{"pair", []float64{.1}}, {"pair", []float64{.3}}} }, bench.ErrDuplicateID},
		"start of another": {func(o *Options) { o.From = constants.Values{"share": .2} }, bench.ErrOption},
		"start of none":    {func(o *Options) { o.From = constants.Values{"magic": .2} }, bench.ErrUnknownName},
		"start too high":   {func(o *Options) { o.From = constants.Values{"pair": 11} }, bench.ErrOption},
		"search":           {func(o *Options) { o.Search = "luck" }, bench.ErrUnknownName},
		"against itself":   {func(o *Options) { o.Against = []string{"hybrid"} }, bench.ErrOption},
		"against none":     {func(o *Options) { o.Against = []string{} }, bench.ErrOption},
		"task of none":     {func(o *Options) { o.Tasks = []string{"keyword", "part:900"} }, bench.ErrNoQueries},
		"unknown task":     {func(o *Options) { o.Tasks = []string{"magic"} }, bench.ErrUnknownName},
		"large grid": {func(o *Options) {
			o.Search = grid
			var many []float64
			for i := range 200 {
				many = append(many, float64(i)/100)
			}
			o.Trials = []Trial{{"pair", many}, {"presence", many}}
		}, bench.ErrOption},
	} {
		o := tuneOptions(t)
		x.change(&o)
		if _, err := Run(context.Background(), encoder.NewHash(64), o); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, encoder.NewHash(64), tuneOptions(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestParseTrial(t *testing.T) {
	for s, want := range map[string]Trial{
		"pair=0,.25, 1": {"pair", []float64{0, .25, 1}},
		"alpha=2":       {"alpha", []float64{2}},
		"tau":           {"tau", []float64{.025, .05, .1}},
	} {
		if got, err := ParseTrial(s); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for s, want := range map[string]error{"": bench.ErrUnknownName, "magic=1": bench.ErrUnknownName, "pair=": bench.ErrOption, "pair=x": bench.ErrOption, "pair=-1": bench.ErrOption, "pair=NaN": bench.ErrOption, "pair=1,1": bench.ErrDuplicateID} {
		if _, err := ParseTrial(s); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", s, err, want)
		}
	}
}

// Any text is a trial within the bounds of its constant, or an error.
func FuzzParseTrial(f *testing.F) {
	for _, s := range []string{"pair=0,.25", "tau", "alpha=1e3", "cell=Inf", "share=0x1p-2", "=", "presence=,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		trial, err := ParseTrial(s)
		if err != nil {
			return
		}
		c, err := named(trial.Name)
		if err != nil || len(trial.Values) == 0 {
			t.Fatalf("%q: %+v, %v", s, trial, err)
		}
		for _, v := range trial.Values {
			if !(v >= c.Low && v <= c.High) {
				t.Errorf("%q: %v", s, v)
			}
		}
	})
}

// The aim by hand: a lead, a shortfall within the tolerance, and one beyond it.
func TestAim(t *testing.T) {
	set := func(corpus, task string, rival ...float64) *tunedSet {
		return &tunedSet{name: kinds.Name{Corpus: corpus, Task: task}, dev: []bool{true, true, false}, rivals: [][]float64{rival, {0, 0, 1}}}
	}
	tn := &tuner{sets: []*tunedSet{set("a", "query", .5, .5, 0), set("b", "query", .2, .4, 0), set("b", "part:8", .9, .9, 0)}}
	a := tn.aim([][]float64{{.6, .8, 0}, {.3, .298, 0}, {.85, .85, 0}}, bench.DevHalf)
	// leads .2, −.001 and −.05; questions are half of the mean, as spans are
	want := aim{Lead: .25*.2 - .25*.001 - .5*.05, Short: .05 - tolerance, Worst: -.05, WorstSet: kinds.Name{Corpus: "b", Task: "part:8"}, Mean: .25*.7 + .25*.299 + .5*.85}
	want.Objective = want.Lead - want.Short
	if math.Abs(a.Lead-want.Lead) > 1e-12 || math.Abs(a.Short-want.Short) > 1e-12 || math.Abs(a.Mean-want.Mean) > 1e-12 || math.Abs(a.Objective-want.Objective) > 1e-12 || math.Abs(a.Worst-want.Worst) > 1e-12 || a.WorstSet != want.WorstSet {
		t.Errorf("%+v, want %+v", a, want)
	}
	if a = tn.aim([][]float64{{0, 0, 1}, {0, 0, 1}, {0, 0, .5}}, bench.TestHalf); a.WorstSet.Task != "part:8" || !near(a.Worst, -.5) {
		t.Errorf("test half: %+v", a)
	}
}

func TestTuneTable(t *testing.T) {
	v, w := .3, .4
	r := &Report{
		System: "hybrid", Metric: "ndcg@10", Encoder: "tiny", Seed: 2, Clean: true, Settings: 9, Search: grid, Against: []string{"dense", "bm25"},
		Rows:    []row{{Constant: "presence", Value: &v, Start: true}, {Constant: "presence", Value: &w, Chosen: true, Dev: aim{Lead: .0123}}, {Constant: "cell", Start: true}},
		Chosen:  point{Constants: constants.Values{"presence": .4}},
		Gain:    estimate{.01, .002, .02},
		Sets:    []setHalf{{Name: kinds.Name{Corpus: "b", Task: "query"}, Half: bench.TestHalf, Queries: 7, Rival: "bm25", Best: .5, Gain: estimate{-.01, -.02, -.005}}, {Name: kinds.Name{Corpus: "c", Task: "query"}, Half: bench.TestHalf, Gain: estimate{-.01, -.02, .01}}},
		LeftOut: []kinds.Name{{Corpus: "b", Task: "part:9"}},
	}
	table := func() string {
		var out bytes.Buffer
		if err := r.WriteTable(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, want := range []string{"clean probes", "0.3, start", "0.4, chosen", "by size", "+1.23", "+1.00 (+0.20 … +2.00)", "No queries: b part:9.", "does not confirm presence=0.4: b query loses 1.0. Keep"} {
		if got := table(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	r.Gain.Low = -.001
	if got := table(); !strings.Contains(got, "its gain may be chance, b query loses 1.0.") {
		t.Error(got)
	}
	r.Gain.Low, r.Confirmed = .001, true
	if got := table(); !strings.Contains(got, "The test half confirms presence=0.4") {
		t.Error(got)
	}
	r.Chosen.Constants, r.Start.Constants = constants.Values{}, constants.Values{"presence": .2}
	if got := table(); !strings.Contains(got, "The test half confirms shipped") {
		t.Error(got)
	}
	r.Start.Constants = nil
	if got := table(); !strings.Contains(got, "The dev half chooses the start.") {
		t.Error(got)
	}
}
