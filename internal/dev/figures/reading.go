package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// anyReport has the fields of the reports of lexsem bench and of its protocols.
type anyReport struct {
	Data    string      `json:"data"`
	Results []anyResult `json:"results"`
	Points  []struct {  // of a curve
		X       int         `json:"x"`
		Results []anyResult `json:"results"`
		Fit     map[string]struct{ Loss float64 }
	} `json:"points"`
	Overlaps []struct { // of probes with training queries
		Task                  string
		Taught, Whole, Chosen float64
	} `json:"overlaps"`
	NDCG         map[string]float64 `json:"ndcg@10"` // SURE
	Correlations []struct {
		Over, Measure, Between string
		Spearman               float64
	} `json:"correlations"`
	Answerable []struct { // which queries have an answer, CapRetrieval
		System string
		AUC    float64
	} `json:"answerable"`
	Rows          []json.RawMessage `json:"rows"`            // of constants
	DocsPerSecond *float64          `json:"docs_per_second"` // of a database
	Libraries     json.RawMessage   `json:"libraries"`       // beside each other
	Commands      json.RawMessage   `json:"commands"`        // of the program
	Types         []struct {        // of queries, CapRetrieval
		Type    string `json:"type"`
		Systems []struct {
			System              string
			Mean, Higher, Lower float64 // the shares above and below BM25
		} `json:"systems"`
	} `json:"types"`
}

type anyResult struct {
	System, Task string
	Data         string             `json:"data"`
	Queries      int                `json:"queries"`
	Metrics      map[string]float64 `json:"metrics"`
	VsDense      *struct {
		P   *float64 `json:"p_holm"`
		RDC *float64 `json:"p_holm_rdc"`
		ROC *float64 `json:"p_holm_roc"`
		Gap *float64 `json:"p_holm_gap"`
	} `json:"vs_dense"`

	Testbed string   `json:"testbed"` // SURE
	RDC     *float64 `json:"rdc"`
	ROC     *float64 `json:"roc"`
	Gap     *float64 `json:"gap"`
	LeftOut float64  `json:"left_out"`
	Same    float64  `json:"same_text"`

	Similarity string             `json:"similarity"` // SAGE
	Score      *float64           `json:"score"`
	Parts      map[string]float64 `json:"parts"`
	Cut        map[string]float64 `json:"cut"`
}

// reading returns the values of a report by keys of words: set (or as), other properties, task, system,
// metric. Shares are in hundredths if documents print them so.
func reading(raw []byte, as string) (map[string]float64, error) {
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		if as != "" { // a summary is of all that stands above it
			return readingComparison(raw, as)
		}
		return readingSummaries(raw)
	}
	var r anyReport
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the report: %w", err)
	}
	if len(r.Rows) > 0 {
		return readingTune(raw, as)
	}
	if r.DocsPerSecond != nil {
		return readingEngine(raw, as)
	}
	if r.Libraries != nil {
		return readingPeers(raw, as)
	}
	if r.Commands != nil {
		return readingEngine(r.Commands, as)
	}
	set := r.Data
	if as != "" {
		set = as
	}
	values := map[string]float64{}
	for _, row := range r.Results {
		row.values(set, values)
	}
	for _, p := range r.Points {
		for _, row := range p.Results {
			row.values(fmt.Sprintf("%s %d", set, p.X), values)
		}
		for system, f := range p.Fit {
			if f.Loss > 0 { // else another system of the run has fitted the bridge
				values[fmt.Sprintf("%s %d fit %s loss", set, p.X, system)] = f.Loss
			}
		}
	}
	for _, o := range r.Overlaps {
		for name, v := range map[string]float64{"taught": o.Taught, "whole": o.Whole, "chosen": o.Chosen} {
			values[strings.Join([]string{set, o.Task, "overlap", name}, " ")] = 100 * v
		}
	}
	for system, v := range r.NDCG {
		values[strings.Join([]string{set, "query", system, "ndcg@10"}, " ")] = 100 * v
	}
	for _, c := range r.Correlations {
		values[strings.Join([]string{c.Over, c.Measure, c.Between, "spearman"}, " ")] = c.Spearman
	}
	for _, t := range r.Types {
		for _, s := range t.Systems {
			for name, v := range map[string]float64{"mean": s.Mean, "higher": s.Higher, "lower": s.Lower} {
				values[strings.Join([]string{set, t.Type, s.System, name}, " ")] = 100 * v
			}
		}
	}
	for _, a := range r.Answerable {
		values[strings.Join([]string{set, "answerable", a.System, "auc"}, " ")] = 100 * a.AUC
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the report holds no values")
	}
	return values, nil
}

// readingComparison returns the values of a comparison of two reports: as, task, system of the second, difference, low,
// high or p.
func readingComparison(raw []byte, as string) (map[string]float64, error) {
	var rows []struct {
		Task, System string
		Delta        *float64
		Low, High    float64
		P            float64 `json:"p_holm"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("the comparison: %w", err)
	}
	values := map[string]float64{}
	for _, row := range rows {
		if row.Delta == nil {
			return nil, fmt.Errorf("the comparison has no difference of %s", row.System)
		}
		key := strings.Join([]string{as, row.Task, row.System}, " ")
		values[key+" difference"], values[key+" p"] = 100**row.Delta, row.P
		values[key+" low"], values[key+" high"] = 100*row.Low, 100*row.High
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the comparison holds no values")
	}
	return values, nil
}

// readingEngine returns the numbers of lexsem bench engine by the names of the JSON objects around them,
// outermost first. For some it returns differences.
func readingEngine(raw []byte, as string) (map[string]float64, error) {
	var report map[string]any
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("the report of a database: %w", err)
	}
	delete(report, "stalls")
	values := map[string]float64{}
	var walk func(name string, x any)
	walk = func(name string, x any) {
		switch x := x.(type) {
		case float64:
			values[name] = x
		case map[string]any:
			for k, v := range x {
				walk(name+" "+k, v)
			}
		}
	}
	if as == "" {
		as = fmt.Sprintf("%v %v", report["docs"], report["dim"])
	}
	walk(as, report)
	return values, nil
}

// readingPeers returns what each library does by recall: the queries per CPU-second, and over those of hnswlib as
// times; and the CPU-seconds and bytes a vector of its index.
func readingPeers(raw []byte, as string) (map[string]float64, error) {
	var r struct {
		N, Dim    float64
		Libraries map[string]struct{ Build struct{ CPU, Bytes float64 } }
		At        map[string]map[string]*float64
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the report of libraries: %w", err)
	}
	values := map[string]float64{as + " n": r.N, as + " dim": r.Dim}
	for name, l := range r.Libraries {
		values[as+" "+name+" build"], values[as+" "+name+" bytes"] = l.Build.CPU, l.Build.Bytes
	}
	for name, row := range r.At {
		for recall, qps := range row {
			if qps == nil {
				continue // never reached
			}
			key := as + " " + name + " " + strings.TrimPrefix(recall, "0")
			values[key+" qps"] = *qps
			if other := r.At["hnswlib"][recall]; other != nil {
				values[key+" times"] = *qps / *other
			}
		}
	}
	return values, nil
}

// readingSummaries returns the values of tables over several corpora: half, kind of queries or mean, system,
// metric, with the ends of the interval as low and high; half, system, bytes of a passage and microseconds of
// processor time a query.
func readingSummaries(raw []byte) (map[string]float64, error) {
	var tables []struct {
		Half, Metric string
		Kinds        []struct{ Kind string }
		Rows         []struct {
			System string
			Cells  []struct{ Mean, Low, High float64 } // the mean of the kinds first
			Bytes  float64                             `json:"bytes_per_passage"`
			CPUMs  float64                             `json:"cpu_ms_per_query"`
		}
	}
	if err := json.Unmarshal(raw, &tables); err != nil {
		return nil, fmt.Errorf("the summary: %w", err)
	}
	values := map[string]float64{}
	for _, t := range tables {
		for _, row := range t.Rows {
			for i, c := range row.Cells {
				kind := "mean"
				if i > len(t.Kinds) {
					return nil, fmt.Errorf("the summary has %d figures of %s and %d kinds", len(row.Cells), row.System, len(t.Kinds))
				}
				if i > 0 {
					kind = t.Kinds[i-1].Kind
				}
				for metric, v := range map[string]float64{t.Metric: c.Mean, "low": c.Low, "high": c.High} {
					values[strings.Join([]string{t.Half, kind, row.System, metric}, " ")] = 100 * v
				}
			}
			values[strings.Join([]string{t.Half, row.System, "bytes"}, " ")] = row.Bytes
			values[strings.Join([]string{t.Half, row.System, "cpu_us"}, " ")] = 1000 * row.CPUMs
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the summary holds no values")
	}
	return values, nil
}

func (row anyResult) values(set string, into map[string]float64) {
	put := func(v float64, words ...string) { into[strings.Join(words, " ")] = v }
	switch {
	case row.Similarity != "":
		if row.Data != "" && set == "" {
			set = row.Data
		}
		put(*row.Score, set, row.Task, row.Similarity, "score")
		for _, part := range []string{"all", "replaced", "together", "correlation", "accuracy", "precision", "recall", "f1", "insertion", "removal"} {
			if v, ok := row.Parts[part]; ok {
				put(v, set, row.Task, row.Similarity, part)
			}
		}
		for version, v := range row.Cut {
			put(100*v, set, row.Task, version, "cut")
		}
	case row.RDC != nil:
		put(*row.RDC, set, row.Testbed, row.System, "rdc")
		if row.ROC != nil {
			put(*row.ROC, set, row.Testbed, row.System, "roc")
		}
		if row.Gap != nil {
			put(*row.Gap, set, row.Testbed, row.System, "gap")
		}
		put(float64(row.Queries), set, row.Testbed, "queries")
		put(row.LeftOut, set, row.Testbed, "left_out")
		put(row.Same, set, row.Testbed, "same_text")
		if v := row.VsDense; v != nil && v.RDC != nil {
			put(*v.RDC, set, row.Testbed, row.System, "p_rdc")
			if v.Gap != nil {
				put(*v.Gap, set, row.Testbed, row.System, "p_gap")
			}
			if row.ROC != nil && v.ROC != nil {
				put(*v.ROC, set, row.Testbed, row.System, "p_roc")
			}
		}
	default:
		for metric, v := range row.Metrics {
			put(100*v, set, row.Task, row.System, metric)
		}
		if row.VsDense != nil && row.VsDense.P != nil {
			put(*row.VsDense.P, set, row.Task, row.System, "p")
		}
	}
}
