package sure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/lexsem/lexsem/internal/stat"
)

// errReport: a file holds no report of Run, or reports cannot be compared.
var errReport = errors.New("bad report")

// Correlation is Spearman's correlation, over systems, between two measures.
type Correlation struct {
	// Over is the set, or "all" if each measure is its mean over the sets.
	Over    string `json:"over"`
	Measure string `json:"measure"` // "rdc" or "roc"
	// Between is "ndcg@10", which is compared with the mean over the testbeds (Table 5 of the paper),
	// or two testbeds, such as "precision–abstraction" (Fig. 5).
	Between  string  `json:"between"`
	Spearman float64 `json:"spearman"`
}

// correlations are the correlations of systems measured on the same sets.
type correlations struct {
	Systems []string      `json:"systems"` // "ENCODER SYSTEM"
	Rows    []Correlation `json:"correlations"`
}

// ReadReports reads files of one or more reports each.
func ReadReports(files ...string) ([]*Report, error) {
	var out []*Report
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a report: %w", err)
		}
		for d := json.NewDecoder(bytes.NewReader(raw)); ; {
			r := &Report{}
			err := d.Decode(r)
			if err == io.EOF {
				break
			}
			if err == nil && (len(r.Results) == 0 || len(r.NDCG) == 0) {
				err = errors.New("it has no results")
			}
			if err != nil {
				return nil, fmt.Errorf("%w: %s is not what bench sure writes with --json: %w", errReport, name, err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// measured are the measures of one system: set → measure → value.
type measured map[string]map[string]float64

// Correlate computes the correlations over the systems of all encoders. Each system must be measured
// exactly once on each set. A measure without a value on a testbed, such as ROC on one without an
// order, is left out.
func Correlate(reports []*Report) (*correlations, error) {
	c := &correlations{}
	var sets []string
	systems := map[string]measured{}
	for _, r := range reports {
		if !slices.Contains(sets, r.Data) {
			sets = append(sets, r.Data)
		}
		for system := range r.NDCG {
			name := r.Encoder + " " + system
			if systems[name] == nil {
				systems[name] = measured{}
				c.Systems = append(c.Systems, name)
			}
			if systems[name][r.Data] != nil {
				return nil, fmt.Errorf("%w: %s stands twice on %s; give one report of each", errReport, name, r.Data)
			}
			systems[name][r.Data] = measures(r, system)
		}
	}
	slices.Sort(c.Systems)
	for _, name := range c.Systems {
		if len(systems[name]) != len(sets) {
			return nil, fmt.Errorf("%w: %s was measured on %d of %d sets; measure all on each", errReport, name, len(systems[name]), len(sets))
		}
	}
	for _, m := range []string{"rdc", "roc"} {
		for _, set := range sets {
			if err := c.add(systems, set, m, "ndcg@10", []string{set}, m, "ndcg@10"); err != nil {
				return nil, err
			}
		}
		for i, x := range testbeds {
			for _, y := range testbeds[i+1:] {
				if err := c.add(systems, "all", m, x.Name+"–"+y.Name, sets, m+" "+x.Name, m+" "+y.Name); err != nil {
					return nil, err
				}
			}
		}
	}
	return c, nil
}

// add adds the correlation of two measures over sets, if all systems have them.
func (c *correlations) add(systems map[string]measured, over, measure, between string, sets []string, a, b string) error {
	var x, y []float64
	for _, name := range c.Systems {
		va, okA := systems[name].mean(a, sets)
		vb, okB := systems[name].mean(b, sets)
		if !okA || !okB {
			return nil
		}
		x, y = append(x, va), append(y, vb)
	}
	rho, err := stat.Spearman(x, y)
	if err != nil {
		return fmt.Errorf("%s with %s over %s: %w", a, b, over, err)
	}
	c.Rows = append(c.Rows, Correlation{over, measure, between, rho})
	return nil
}

// measures returns the measures of one system on one set: for each testbed, and the means over the
// testbeds that have them.
func measures(r *Report, system string) map[string]float64 {
	out := map[string]float64{"ndcg@10": r.NDCG[system]}
	var rdc, roc []float64
	for _, x := range r.Results {
		if x.System != system {
			continue
		}
		out["rdc "+x.Testbed], rdc = x.RDC, append(rdc, x.RDC)
		if x.ROC != nil {
			out["roc "+x.Testbed], roc = *x.ROC, append(roc, *x.ROC)
		}
	}
	out["rdc"], out["roc"] = stat.Mean(rdc), stat.Mean(roc)
	return out
}

// mean returns the mean of a measure over sets.
func (m measured) mean(measure string, sets []string) (float64, bool) {
	sum := 0.0
	for _, set := range sets {
		v, ok := m[set][measure]
		if !ok {
			return 0, false
		}
		sum += v / float64(len(sets))
	}
	return sum, true
}
