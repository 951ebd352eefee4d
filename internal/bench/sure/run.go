package sure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/memo"
	"github.com/lexsem/lexsem/internal/stat"
)

// Options are the options of Run.
type Options struct {
	Data string // folder, see Read
	// Systems are names of systems, see bench.ParseSystem.
	Systems []string
	// Reference is a file of ranks, see readReference. Without one, the reference is the order for
	// which the versions were made, with consecutive ranks.
	Reference string
	// QueriesLimit is the number of queries to draw by the seed. Versions of other queries are left
	// out. 0 means all.
	QueriesLimit int
	// PassagesAlone restricts corpus statistics and BM25 to the passages, like a retriever that has
	// not seen the versions.
	PassagesAlone bool
	// Setting holds the options of encoding, fitting and index. Texts stay whole.
	Setting bench.SettingOptions
	Version string
}

// Report is the result of Run.
type Report struct {
	Data      string `json:"data"`
	Documents int    `json:"documents"` // number of passages, without versions
	Encoder   string `json:"encoder"`
	Seed      uint64 `json:"seed"`
	Version   string `json:"version"`
	// Reference is "constructed" or the name of the file.
	Reference string `json:"reference"`
	// NDCG is the nDCG@10 of each system for the same queries on the passages alone.
	NDCG    map[string]float64   `json:"ndcg@10"`
	Results []result             `json:"results"`
	Fit     map[string]bench.Fit `json:"fit"`
}

// result holds the scores of one system on one testbed.
type result struct {
	System  string `json:"system"`
	Testbed string `json:"testbed"`
	Queries int    `json:"queries"`
	// LeftOut counts queries with fewer than two different versions. Same counts the versions left out
	// because they repeat the passage.
	LeftOut int `json:"left_out"`
	Same    int `json:"same_text"`
	// RDC and ROC are the means of Eq. 7 and 9. ROC is nil without an order: on equivalence, unless a
	// reference gives one.
	RDC float64  `json:"rdc"`
	ROC *float64 `json:"roc,omitempty"`
	// Spread is the mean standard deviation of a query's ranks. Gap is the mean distance of two of a
	// query's ranks. MedianGap is the median over queries of that distance.
	Spread    float64 `json:"spread"`
	Gap       float64 `json:"gap"`
	MedianGap float64 `json:"median_gap"`
	// First is the share of queries that rank the passage before its versions.
	First float64 `json:"passage_first"`
	// vsDense compares RDC, ROC and the gap with those of dense on the same queries.
	VsDense *vsDense `json:"vs_dense,omitempty"`

	rdc, roc, gaps []float64
}

// vsDense holds differences with the p values of a paired randomization test, plain and with Holm's
// correction over the systems of the testbed. Those of ROC are 0 if there is no ROC.
type vsDense struct {
	DeltaRDC float64 `json:"delta_rdc"`
	PRDC     float64 `json:"p_rdc"`
	HolmRDC  float64 `json:"p_holm_rdc"`
	DeltaROC float64 `json:"delta_roc,omitempty"`
	PROC     float64 `json:"p_roc,omitempty"`
	HolmROC  float64 `json:"p_holm_roc,omitempty"`
	DeltaGap float64 `json:"delta_gap"`
	PGap     float64 `json:"p_gap"`
	HolmGap  float64 `json:"p_holm_gap"`
}

// Run ranks passages and versions together by each system. Every distinct text is encoded and indexed
// once. A query searches the passages and its own versions, not those of other queries. Fitted
// systems, corpus statistics and BM25 use all indexed texts; PassagesAlone restricts the last two. A
// version that is not retrieved ranks after all retrieved ones.
func Run(ctx context.Context, enc encoder.Encoder, o Options) (report *Report, err error) {
	var systems []bench.System
	for _, name := range o.Systems {
		s, err := bench.ParseSystem(name)
		if err != nil {
			return nil, err
		}
		systems = append(systems, s)
	}
	d, err := read(o.Data, bench.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if err := d.sample(o.QueriesLimit, o.Setting.Seed); err != nil {
		return nil, err
	}
	var reference expected
	report = &Report{Data: d.Name, Documents: len(d.Passages), Encoder: enc.Fingerprint().Model, Seed: o.Setting.Seed, Version: o.Version,
		Reference: "constructed", NDCG: map[string]float64{}, Fit: map[string]bench.Fit{}}
	if o.Reference != "" {
		report.Reference = o.Reference
		if reference, err = readReference(o.Reference); err != nil {
			return nil, err
		}
	}
	enc, done, err := memo.Open(enc, o.Setting.CacheDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	beds, targets := d.arrange()
	if o.PassagesAlone {
		o.Setting.Known = func(i int) bool { return beds.passages[i] != nil }
	}
	o.Setting.ChunkTokens = -1
	setting, err := bench.NewSetting(ctx, enc, targets, o.Setting)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, setting.Close()) }()
	need := encoder.NeedDense
	for _, s := range systems {
		need |= s.Need
	}
	texts := make([]string, len(d.Queries))
	for i, q := range d.Queries {
		texts[i] = q.Text
	}
	questions, err := setting.Questions(ctx, texts, need)
	if err != nil {
		return nil, err
	}
	for _, s := range systems {
		retriever, fit, err := s.Prepare(ctx, setting)
		if err != nil {
			return nil, fmt.Errorf("preparing system %s: %w", s.Name, err)
		}
		if fit != nil {
			report.Fit[s.Name] = *fit
		}
		ranks, first, err := beds.rank(ctx, retriever, questions, setting.Report)
		if err != nil {
			return nil, fmt.Errorf("system %s: %w", s.Name, err)
		}
		if report.NDCG[s.Name], err = beds.retrieval(first); err != nil {
			return nil, err
		}
		results, err := beds.score(s.Name, ranks, reference)
		if err != nil {
			return nil, err
		}
		report.Results = append(report.Results, results...)
	}
	slices.SortStableFunc(report.Results, func(a, b result) int { return cmp.Compare(bedIndex(a.Testbed), bedIndex(b.Testbed)) })
	return report, compare(report.Results, o.Setting.Seed)
}

func bedIndex(name string) int {
	return slices.IndexFunc(testbeds, func(t testbed) bool { return t.Name == name })
}

// compare fills in the field vsDense.
func compare(results []result, seed uint64) error {
	for i := range results {
		r := &results[i]
		at := slices.IndexFunc(results, func(o result) bool { return o.System == "dense" && o.Testbed == r.Testbed })
		if at < 0 || at == i || r.Queries == 0 {
			continue
		}
		rdc, err := stat.RandomizationTest(results[at].rdc, r.rdc, stat.Permutations, seed)
		if err != nil {
			return err
		}
		gap, err := stat.RandomizationTest(results[at].gaps, r.gaps, stat.Permutations, seed)
		if err != nil {
			return err
		}
		r.VsDense = &vsDense{DeltaRDC: rdc.Delta, PRDC: rdc.P, DeltaGap: gap.Delta, PGap: gap.P}
		if r.ROC != nil {
			roc, err := stat.RandomizationTest(results[at].roc, r.roc, stat.Permutations, seed)
			if err != nil {
				return err
			}
			r.VsDense.DeltaROC, r.VsDense.PROC = roc.Delta, roc.P
		}
	}
	for _, bed := range testbeds {
		correct(results, bed.Name, func(v *vsDense) (float64, *float64) { return v.PRDC, &v.HolmRDC })
		correct(results, bed.Name, func(v *vsDense) (float64, *float64) { return v.PROC, &v.HolmROC })
		correct(results, bed.Name, func(v *vsDense) (float64, *float64) { return v.PGap, &v.HolmGap })
	}
	return nil
}

// correct sets one p of the systems on a testbed by Holm's method. of gives the raw p, 0 if there is
// none, and the place of the corrected one.
func correct(results []result, bed string, of func(*vsDense) (p float64, corrected *float64)) {
	var ps []float64
	var to []*float64
	for _, r := range results {
		if r.Testbed != bed || r.VsDense == nil {
			continue
		}
		if p, corrected := of(r.VsDense); p > 0 {
			ps, to = append(ps, p), append(to, corrected)
		}
	}
	for i, p := range stat.Holm(ps) {
		*to[i] = p
	}
}
