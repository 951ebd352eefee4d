package bench

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench/internal/kinds"
	"github.com/lexsem/lexsem/encoder"
)

// tuneOptions are those of a Tune over two made corpora.
func tuneOptions(t *testing.T) TuneOptions {
	other := corpusFolder(t, "other", "red fox here on the old long hill", "grey owl there on the old long hill", "blue whale under the old long hill",
		"black crow over the new short hill", "white hare along the new short hill", "brown bear behind the new short hill")
	return TuneOptions{
		Options: Options{Tasks: []string{"query", "keyword", "verbose:keyword", "part:10"}, Seed: 3, Version: "v0"},
		Data:    []string{townCorpus(t, 50), other},
		Against: []string{"dense", "bm25"},
	}
}

// What Tune says of a setting is what Run measures with it, on either half.
func TestTuneMeasuresAsRun(t *testing.T) {
	for _, system := range []string{"hybrid", "hybrid+tokens"} {
		t.Run(system, func(t *testing.T) { tuneMeasuresAsRun(t, system) })
	}
}

func tuneMeasuresAsRun(t *testing.T, system string) {
	o, enc := tuneOptions(t), encoder.NewHash(256)
	o.System = system
	o.Trials = []Trial{{"presence", []float64{0, .3, 2}}, {"pair", []float64{0, .2, 1}}}
	r, err := Tune(context.Background(), enc, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Sets {
		at := slices.IndexFunc(o.Data, func(dir string) bool { return strings.HasSuffix(dir, s.Corpus) })
		rep, err := Run(context.Background(), enc, Options{Data: o.Data[at], Half: s.Half, Tasks: []string{s.Task}, Systems: []string{"dense", "bm25", system}, Seed: 3})
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
	for _, search := range []string{SearchCoordinate, searchGrid} {
		o.Search = search
		r, err := Tune(context.Background(), enc, o)
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
		if search == searchGrid && r.Settings != 4*3 {
			t.Errorf("a grid of %d points", r.Settings)
		}
		if !(r.Gain.Low <= r.Gain.Mean && r.Gain.Mean <= r.Gain.High) || !near(r.Gain.Mean, r.Chosen.Test.Mean-r.Start.Test.Mean) || !near(r.Start.Lead.Mean, r.Start.Test.Lead) {
			t.Errorf("%s: gain %+v of %+v and %+v", search, r.Gain, r.Chosen, r.Start)
		}
	}
	if objectives[searchGrid] < objectives[SearchCoordinate]-1e-9 {
		t.Errorf("the grid found less: %v", objectives)
	}
}

// Each constant that a system names changes what it finds or how it scores, and the
// shipped value by name is what stands without it.
func TestConstantsAreRead(t *testing.T) {
	ctx := context.Background()
	c, err := ReadCorpora(townCorpus(t, 50), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSetting(ctx, encoder.NewHash(256), NewTargets(c.Passages), SettingOptions{Seed: 1, QueriesPerPassage: 2})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, q := range c.Queries[:12] {
		texts = append(texts, q.Text+" quagmire zephyr") // which no passage has
	}
	questions, err := s.Questions(ctx, texts, encoder.NeedDense|encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range questions { // part of each is unknown to the encoder
		questions[i].Output.Tokens.Special = slices.Clone(questions[i].Output.Tokens.Special)
		questions[i].Output.Tokens.Special[1] = true
	}
	ask := func(system System, with Constants) [][]Hit {
		s.Constants = with
		defer func() { s.Constants = nil }()
		r, _, err := system.Prepare(ctx, s)
		if err != nil {
			t.Fatal(system.Name, with, err)
		}
		hits, err := r.Retrieve(ctx, questions, 50)
		if err != nil {
			t.Fatal(system.Name, with, err)
		}
		return hits
	}
	read := map[string]bool{}
	for _, name := range []string{"hybrid:dense", "rrf", "convex", "rlr", "rlr+whiten", "rlr-local", "slr", "hybrid:rlr", "hybrid+tokens"} {
		system, err := ParseSystem(name)
		if err != nil || len(system.Constants) == 0 {
			t.Fatal(name, system.Constants, err)
		}
		shipped := ask(system, nil)
		for _, constant := range system.Constants {
			known, err := constantNamed(constant)
			if err != nil {
				t.Fatal(err)
			}
			read[constant] = true
			other := known.Try[0]
			if other == known.Shipped {
				other = known.Try[1]
			}
			if constant == "cell" {
				other = 20
			} else if constant == "reach" {
				other = 1 // more than most questions reach
			} else if constant == "spread" {
				other = .01 // below what so small a fit learns
			}
			if reflect.DeepEqual(ask(system, Constants{constant: other}), shipped) {
				t.Errorf("%s does not read %s=%v", name, constant, other)
			}
			if !math.IsNaN(known.Shipped) && !strings.Contains(name, "whiten") && !sameHits(ask(system, Constants{constant: known.Shipped}), shipped) {
				t.Errorf("%s: %s=%v is not what is shipped", name, constant, known.Shipped)
			}
		}
	}
	for _, known := range AllConstants() {
		if !read[known.Name] {
			t.Errorf("no system reads %s", known.Name)
		}
	}
}

// sameHits compares up to rounding.
func sameHits(a, b [][]Hit) bool {
	return slices.EqualFunc(a, b, func(a, b []Hit) bool {
		return slices.EqualFunc(a, b, func(a, b Hit) bool { return a.Target == b.Target && math.Abs(a.Score-b.Score) < 1e-6 })
	})
}

// The search begins with From, which others are compared with, and chooses nothing with
// which a set of the dev half loses by it.
func TestTuneFrom(t *testing.T) {
	o, enc := tuneOptions(t), encoder.NewHash(256)
	o.From = Constants{"presence": 2, "pair": .2}
	o.Trials = []Trial{{"presence", []float64{0, .3}}, {"coverage", []float64{0, .1}}}
	r, err := Tune(context.Background(), enc, o)
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
		if s.Half == DevHalf && s.Gain.Mean < -tolerance-1e-9 {
			t.Errorf("%+v loses", s)
		}
	}
	// What would be better but loses is not taken.
	tr := func(objective, loss float64) *trial { return &trial{dev: tuneAim{Objective: objective}, loss: loss} }
	if tr(.2, .004).better(tr(.1, 0)) || !tr(.2, .003).better(tr(.1, 0)) || tr(.1, 0).better(tr(.1, 0)) {
		t.Error("a loss beyond the tolerance, or none, decides wrongly")
	}
}

func TestTuneRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*TuneOptions)
		want   error
	}{
		"no corpus":        {func(o *TuneOptions) { o.Data = nil }, ErrNoData},
		"a corpus twice":   {func(o *TuneOptions) { o.Data = append(o.Data, o.Data[0]) }, ErrDuplicateID},
		"system":           {func(o *TuneOptions) { o.System = "magic" }, ErrUnknownName},
		"nothing to tune":  {func(o *TuneOptions) { o.System = "dense" }, ErrOption},
		"other system's":   {func(o *TuneOptions) { o.Trials = []Trial{{"share", []float64{.2}}} }, ErrOption},
		"unknown constant": {func(o *TuneOptions) { o.Trials = []Trial{{"magic", []float64{.2}}} }, ErrUnknownName},
		"no value":         {func(o *TuneOptions) { o.Trials = []Trial{{"pair", nil}} }, ErrOption},
		"out of range":     {func(o *TuneOptions) { o.Trials = []Trial{{"pair", []float64{math.NaN()}}} }, ErrOption},
		"a value twice":    {func(o *TuneOptions) { o.Trials = []Trial{{"pair", []float64{.1, .1}}} }, ErrDuplicateID},
		"a constant twice": {func(o *TuneOptions) { o.Trials = []Trial{{"pair", []float64{.1}}, {"pair", []float64{.3}}} }, ErrDuplicateID},
		"start of another": {func(o *TuneOptions) { o.From = Constants{"share": .2} }, ErrOption},
		"start of none":    {func(o *TuneOptions) { o.From = Constants{"magic": .2} }, ErrUnknownName},
		"start too high":   {func(o *TuneOptions) { o.From = Constants{"pair": 11} }, ErrOption},
		"search":           {func(o *TuneOptions) { o.Search = "luck" }, ErrUnknownName},
		"against itself":   {func(o *TuneOptions) { o.Against = []string{"hybrid"} }, ErrOption},
		"against none":     {func(o *TuneOptions) { o.Against = []string{} }, ErrOption},
		"task of none":     {func(o *TuneOptions) { o.Tasks = []string{"keyword", "part:900"} }, ErrNoQueries},
		"unknown task":     {func(o *TuneOptions) { o.Tasks = []string{"magic"} }, ErrUnknownName},
		"large grid": {func(o *TuneOptions) {
			o.Search = searchGrid
			var many []float64
			for i := range 200 {
				many = append(many, float64(i)/100)
			}
			o.Trials = []Trial{{"pair", many}, {"presence", many}}
		}, ErrOption},
	} {
		o := tuneOptions(t)
		x.change(&o)
		if _, err := Tune(context.Background(), encoder.NewHash(64), o); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Tune(ctx, encoder.NewHash(64), tuneOptions(t)); !errors.Is(err, context.Canceled) {
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
	for s, want := range map[string]error{"": ErrUnknownName, "magic=1": ErrUnknownName, "pair=": ErrOption, "pair=x": ErrOption, "pair=-1": ErrOption, "pair=NaN": ErrOption, "pair=1,1": ErrDuplicateID} {
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
		c, err := constantNamed(trial.Name)
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
	a := tn.aim([][]float64{{.6, .8, 0}, {.3, .298, 0}, {.85, .85, 0}}, DevHalf)
	// leads .2, −.001 and −.05; questions are half of the mean, as spans are
	want := tuneAim{Lead: .25*.2 - .25*.001 - .5*.05, Short: .05 - tolerance, Worst: -.05, WorstSet: kinds.Name{Corpus: "b", Task: "part:8"}, Mean: .25*.7 + .25*.299 + .5*.85}
	want.Objective = want.Lead - want.Short
	if math.Abs(a.Lead-want.Lead) > 1e-12 || math.Abs(a.Short-want.Short) > 1e-12 || math.Abs(a.Mean-want.Mean) > 1e-12 || math.Abs(a.Objective-want.Objective) > 1e-12 || math.Abs(a.Worst-want.Worst) > 1e-12 || a.WorstSet != want.WorstSet {
		t.Errorf("%+v, want %+v", a, want)
	}
	if a = tn.aim([][]float64{{0, 0, 1}, {0, 0, 1}, {0, 0, .5}}, TestHalf); a.WorstSet.Task != "part:8" || !near(a.Worst, -.5) {
		t.Errorf("test half: %+v", a)
	}
}

func TestTuneTable(t *testing.T) {
	v, w := .3, .4
	r := &TuneReport{
		System: "hybrid", Metric: "ndcg@10", Encoder: "tiny", Seed: 2, Clean: true, Settings: 9, Search: searchGrid, Against: []string{"dense", "bm25"},
		Rows:    []tuneRow{{Constant: "presence", Value: &v, Start: true}, {Constant: "presence", Value: &w, Chosen: true, Dev: tuneAim{Lead: .0123}}, {Constant: "cell", Start: true}},
		Chosen:  tunePoint{Constants: Constants{"presence": .4}},
		Gain:    estimate{.01, .002, .02},
		Sets:    []tuneSet{{Name: kinds.Name{Corpus: "b", Task: "query"}, Half: TestHalf, Queries: 7, Rival: "bm25", Best: .5, Gain: estimate{-.01, -.02, -.005}}, {Name: kinds.Name{Corpus: "c", Task: "query"}, Half: TestHalf, Gain: estimate{-.01, -.02, .01}}},
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
	r.Chosen.Constants, r.Start.Constants = Constants{}, Constants{"presence": .2}
	if got := table(); !strings.Contains(got, "The test half confirms shipped") {
		t.Error(got)
	}
	r.Start.Constants = nil
	if got := table(); !strings.Contains(got, "The dev half chooses the start.") {
		t.Error(got)
	}
}
