package tune

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/kinds"
	"github.com/lexsem/lexsem/internal/stat"
)

// tolerance is the loss, against the best rival or the start, up to which a set counts as equal:
// 0.003, or 0.3 points of 100.
const tolerance = 0.003

// aim measures constants against the goal of Run on one half of the queries. Figures are differences
// and means of the metric, in [-1, 1].
type aim struct {
	// Objective is Lead − Short. Run maximises it on the dev half.
	Objective float64 `json:"objective"`
	// Mean is the mean of the metric over all sets, weighted by kinds.Weights.
	Mean float64 `json:"mean"`
	// Lead is the mean over all sets of the system's score minus that of the best rival on the set.
	Lead float64 `json:"lead"`
	// Short is the sum over the sets of the loss beyond tolerance against that rival.
	Short float64 `json:"short"`
	// Worst is the smallest lead of a set. WorstSet names that set.
	Worst    float64    `json:"worst"`
	WorstSet kinds.Name `json:"worst_set"`
}

// better reports whether a is the better aim, by more than rounding.
func (a aim) better(b aim) bool { return a.Objective > b.Objective+1e-9 }

// asks returns the numbers and weights of the sets that have queries in a half.
func (t *tuner) asks(half bench.Half) (sets []int, weights []float64) {
	var names []kinds.Name
	for i, s := range t.sets {
		if slices.Contains(s.dev, half == bench.DevHalf) {
			sets, names = append(sets, i), append(names, s.name)
		}
	}
	weights = kinds.Weights(names)
	all := 0.0
	for _, w := range weights {
		all += w
	}
	for i := range weights {
		weights[i] /= all
	}
	return sets, weights
}

func (t *tuner) aim(scores [][]float64, half bench.Half) aim {
	a := aim{Worst: math.Inf(1)}
	sets, weights := t.asks(half)
	for i, at := range sets {
		s := t.sets[at]
		mean := stat.Mean(s.values(scores[at], half))
		_, rival := s.best(half)
		lead := mean - rival
		a.Mean += weights[i] * mean
		a.Lead += weights[i] * lead
		a.Short += max(0, -tolerance-lead)
		if lead < a.Worst {
			a.Worst, a.WorstSet = lead, s.name
		}
	}
	a.Objective = a.Lead - a.Short
	return a
}

// Report is the result of Run. Figures are in [-1, 1].
type Report struct {
	System   string   `json:"system"`
	Against  []string `json:"against"`
	Metric   string   `json:"metric"`
	Encoder  string   `json:"encoder"`
	Version  string   `json:"version"`
	Seed     uint64   `json:"seed"`
	Clean    bool     `json:"clean"`
	Language string   `json:"language,omitempty"`
	Search   string   `json:"search"`
	// Settings is the number of combinations of constants that were tried.
	Settings int `json:"settings"`
	// Rows has an entry for every value of every constant, with the chosen values of the others.
	Rows []row `json:"rows"`
	// Start is the baseline: the shipped constants, or Options.From.
	Start  point `json:"start"`
	Chosen point `json:"chosen"`
	// Gain is Chosen − Start on the test half.
	Gain estimate `json:"gain"`
	// Confirmed reports that the interval of Gain is above 0 and no set of the test half loses
	// (setHalf.Loses). Unconfirmed constants should not be shipped.
	Confirmed bool      `json:"confirmed"`
	Sets      []setHalf `json:"sets"`
	// LeftOut lists the tasks that have no queries on a corpus.
	LeftOut []kinds.Name `json:"left_out"`
}

// row measures one value of a constant on the dev half.
type row struct {
	Constant string `json:"constant"`
	// Value is nil for a shipped value that depends on the corpus.
	Value  *float64 `json:"value"`
	Start  bool     `json:"start,omitempty"`
	Chosen bool     `json:"chosen,omitempty"`
	Dev    aim      `json:"dev"`
	// Loss is the largest loss of a set of the dev half against the start. Constants with a larger
	// loss than tolerance are not chosen.
	Loss float64 `json:"loss"`
}

// point measures a combination of constants on both halves.
type point struct {
	Constants constants.Values `json:"constants"` // constants that differ from the shipped ones
	Dev       aim              `json:"dev"`
	Test      aim              `json:"test"`
	// Mean and Lead are the figures of Test with their intervals. In Lead, the rival of each set is
	// fixed to the best one on the test half.
	Mean estimate `json:"test_mean"`
	Lead estimate `json:"test_lead"`
}

// estimate is a mean with its 95 % bootstrap interval over the queries.
type estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// setHalf is one half of a task of a corpus.
type setHalf struct {
	kinds.Name
	Half    bench.Half `json:"half"`
	Queries int        `json:"queries"`
	Rival   string     `json:"rival"` // best rival on the set
	Best    float64    `json:"best"`  // score of the rival
	Start   float64    `json:"start"`
	Chosen  float64    `json:"chosen"`
	// StartLead and ChosenLead are leads over Rival. Gain is Chosen − Start.
	StartLead  estimate `json:"start_lead"`
	ChosenLead estimate `json:"chosen_lead"`
	Gain       estimate `json:"gain"`
}

// Loses reports whether the chosen constants lose more than tolerance on the set, with the interval
// of Gain below 0.
func (s setHalf) Loses() bool { return s.Gain.Mean < -tolerance && s.Gain.High < 0 }

func (t *tuner) report(ctx context.Context, enc encoder.Encoder, chosen *trial) (*Report, error) {
	start := t.start
	r := &Report{
		System: t.System, Against: t.Against, Metric: t.corpora[0].Metric, Encoder: enc.Fingerprint().Model, Version: t.Version,
		Seed: t.Seed, Clean: t.Clean, Language: t.Language, Search: t.Search, LeftOut: append([]kinds.Name{}, t.left...),
		Start:  point{Constants: start.constants, Dev: start.dev, Test: t.aim(start.scores, bench.TestHalf)},
		Chosen: point{Constants: chosen.constants, Dev: chosen.dev, Test: t.aim(chosen.scores, bench.TestHalf)},
	}
	for _, of := range t.Trials {
		for _, cs := range t.around(chosen.constants, of) {
			next, err := t.try(ctx, cs)
			if err != nil {
				return nil, err
			}
			known, err := named(of.Name)
			if err != nil {
				return nil, err
			}
			v, named := cs[of.Name]
			from, moved := t.From[of.Name]
			row := row{Constant: of.Name, Start: named == moved && v == from, Chosen: cs.String() == chosen.constants.String(), Dev: next.dev, Loss: next.loss}
			if !named {
				v = known.Shipped
			}
			if !math.IsNaN(v) {
				row.Value = &v
			}
			r.Rows = append(r.Rows, row)
		}
	}
	slices.SortStableFunc(r.Rows, func(a, b row) int {
		if a.Constant != b.Constant || a.Value == nil || b.Value == nil {
			return 0
		}
		return int(math.Copysign(1, *a.Value-*b.Value))
	})
	r.Settings = len(t.known)
	if err := t.estimate(r, start, chosen); err != nil {
		return nil, err
	}
	return r, t.compare(r, start, chosen)
}

// estimate fills in the means of the test half with their intervals.
func (t *tuner) estimate(r *Report, start, chosen *trial) error {
	sets, weights := t.asks(bench.TestHalf)
	var strata []stat.Stratum
	for i, at := range sets {
		s := t.sets[at]
		rival, _ := s.best(bench.TestHalf)
		a, b, best := s.values(start.scores[at], bench.TestHalf), s.values(chosen.scores[at], bench.TestHalf), s.values(s.rivals[rival], bench.TestHalf)
		strata = append(strata, stat.Stratum{Rows: [][]float64{a, b, less(b, a), less(a, best), less(b, best)}, Weight: weights[i]})
	}
	if len(strata) == 0 {
		return fmt.Errorf("%w: none is of the test half; ask more", bench.ErrNoQueries)
	}
	means, intervals, err := stat.StratifiedMeans(strata, stat.Resamples, t.Seed)
	if err != nil {
		return err
	}
	for i, to := range []*estimate{&r.Start.Mean, &r.Chosen.Mean, &r.Gain, &r.Start.Lead, &r.Chosen.Lead} {
		*to = estimate{means[i], intervals[i].Low, intervals[i].High}
	}
	return nil
}

// compare computes the gain on each set.
func (t *tuner) compare(r *Report, start, chosen *trial) error {
	r.Confirmed = chosen != start && r.Gain.Low > 0
	for _, half := range []bench.Half{bench.DevHalf, bench.TestHalf} {
		sets, _ := t.asks(half)
		for _, at := range sets {
			s := t.sets[at]
			rival, mean := s.best(half)
			a, b, best := s.values(start.scores[at], half), s.values(chosen.scores[at], half), s.values(s.rivals[rival], half)
			out := setHalf{Name: s.name, Half: half, Queries: len(a), Rival: t.Against[rival], Best: mean, Start: stat.Mean(a), Chosen: stat.Mean(b)}
			leads := [][]float64{less(a, best), less(b, best), less(b, a)}
			intervals, err := stat.Bootstrap(leads, stat.Resamples, t.Seed)
			if err != nil {
				return err
			}
			for i, to := range []*estimate{&out.StartLead, &out.ChosenLead, &out.Gain} {
				*to = estimate{stat.Mean(leads[i]), intervals[i].Low, intervals[i].High}
			}
			r.Confirmed = r.Confirmed && (half == bench.DevHalf || !out.Loses())
			r.Sets = append(r.Sets, out)
		}
	}
	return nil
}

func less(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// WriteTable writes the report for a terminal, with figures × 100.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	probes := ""
	if r.Clean {
		probes = ", clean probes"
	}
	if r.Language != "" {
		probes += ", language " + r.Language
	}
	fmt.Fprintf(t, "%s, %s × 100, %s, seed %d%s; %d settings, search %s\n", r.System, r.Metric, r.Encoder, r.Seed, probes, r.Settings, r.Search)
	fmt.Fprintf(t, "lead: over the best of %s on each set. Chosen on the dev half by the mean lead, less what sets lie more than %.1f below,\nof those with which no set loses more than %.1f by the start.\n", strings.Join(r.Against, ", "), 100*tolerance, 100*tolerance)
	fmt.Fprintln(t, "\ndev half\tvalue\tobjective\tmean\tlead\tbelow\tworst set\tloses\t")
	for _, row := range r.Rows {
		value := "by size"
		if row.Value != nil {
			value = strconv.FormatFloat(*row.Value, 'g', -1, 64)
		}
		if row.Start {
			value += ", start"
		}
		if row.Chosen {
			value += ", chosen"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t\n", row.Constant, value, row.Dev.cells(), 100*row.Loss)
	}
	for _, half := range []bench.Half{bench.DevHalf, bench.TestHalf} {
		fmt.Fprintf(t, "\n%s\tconstants\tobjective\tmean\tlead\tbelow\tworst set\t\n", half.Label())
		for _, p := range r.points() {
			a := p.Dev
			if half == bench.TestHalf {
				a = p.Test
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t\n", p.name, p.Constants, a.cells())
		}
	}
	fmt.Fprintln(t, "\ntest half, 95 %\tmean\tlead\t")
	for _, p := range r.points() {
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", p.name, p.Mean.text("%.2f"), p.Lead.text("%+.2f"))
	}
	fmt.Fprintf(t, "gain\t%s\t\t\n", r.Gain.text("%+.2f"))
	fmt.Fprintln(t, "\nset\thalf\tqueries\tbest rival\t\tstart\tlead\tchosen\tlead\tgain\t")
	for _, s := range r.Sets {
		fmt.Fprintf(t, "%s %s\t%s\t%d\t%s\t%.1f\t%.1f\t%s\t%.1f\t%s\t%s\t\n", s.Corpus, s.Task, s.Half, s.Queries, s.Rival, 100*s.Best,
			100*s.Start, s.StartLead.text("%+.1f"), 100*s.Chosen, s.ChosenLead.text("%+.1f"), s.Gain.text("%+.1f"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var left []string
	for _, l := range r.LeftOut {
		left = append(left, l.Corpus+" "+l.Task)
	}
	if len(left) > 0 {
		fmt.Fprintf(w, "\nNo queries: %s.\n", strings.Join(left, ", "))
	}
	_, err := fmt.Fprintln(w, "\n"+r.verdict())
	return err
}

type namedPoint struct {
	name string
	point
}

func (r *Report) points() []namedPoint {
	return []namedPoint{{"start", r.Start}, {"chosen", r.Chosen}}
}

func (r *Report) verdict() string {
	switch {
	case r.Chosen.Constants.String() == r.Start.Constants.String():
		return "The dev half chooses the start."
	case r.Confirmed:
		return fmt.Sprintf("The test half confirms %s: its gain is above 0 beyond the interval, and no set loses more than %.1f beyond its own.", r.Chosen.Constants, 100*tolerance)
	}
	var why []string
	if r.Gain.Low <= 0 {
		why = append(why, "its gain may be chance")
	}
	for _, s := range r.Sets {
		if s.Half == bench.TestHalf && s.Loses() {
			why = append(why, fmt.Sprintf("%s %s loses %.1f", s.Corpus, s.Task, -100*s.Gain.Mean))
		}
	}
	return fmt.Sprintf("The test half does not confirm %s: %s. Keep the start.", r.Chosen.Constants, strings.Join(why, ", "))
}

func (a aim) cells() string {
	return fmt.Sprintf("%+.2f\t%.2f\t%+.2f\t%.2f\t%+.1f %s %s", 100*a.Objective, 100*a.Mean, 100*a.Lead, 100*a.Short, 100*a.Worst, a.WorstSet.Corpus, a.WorstSet.Task)
}

// text is the estimate in hundredths, with each number in the given format.
func (e estimate) text(format string) string {
	return fmt.Sprintf(format+" ("+format+" … "+format+")", 100*e.Mean, 100*e.Low, 100*e.High)
}
