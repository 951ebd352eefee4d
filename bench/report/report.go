// Package report shows what package bench measured. Start with [Read], which reads JSON reports.
// [Bundle.WriteMarkdown] writes them as tables. [Bundle.WriteHTML] writes them as one page with plots that needs no other
// file.
//
// A file that is not a report of the bench is an error.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/ann"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/repeat"
)

// Bundle is the set of reports that one page shows.
type Bundle struct {
	Benches []*bench.Report
	Seeds   *repeat.Seeds // if Benches are its reports: WriteLaTeX shows their means
	Curves  []*repeat.Curve
	ANN     []*ann.Report
	Soaks   []*load.SoakReport
	Lives   []*load.Report
}

// Read reads JSON files of `bench`, `bench curve`, `bench ann`, `bench engine` and `bench soak`. Their fields tell
// them apart. A file may hold several objects in sequence, or the reports of several seeds.
func Read(files ...string) (*Bundle, error) {
	b := &Bundle{}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a report: %w", err)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		for n := 0; n == 0 || d.More(); n++ {
			var object json.RawMessage
			if err := d.Decode(&object); err != nil {
				return nil, fmt.Errorf("%w: %s is not JSON of the bench: %v", compare.ErrReport, name, err)
			}
			if err := b.add(object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return b, nil
}

func (b *Bundle) add(object json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return fmt.Errorf("%w: not an object", compare.ErrReport)
	}
	switch {
	case fields["results"] != nil:
		r, err := bench.ReadJSON(bytes.NewReader(object))
		if err != nil {
			return fmt.Errorf("%w: %w", compare.ErrReport, err)
		}
		b.Benches = append(b.Benches, r)
	case fields["over_seeds"] != nil:
		var s repeat.Seeds
		if err := json.Unmarshal(object, &s); err != nil {
			return fmt.Errorf("%w: %w", compare.ErrReport, err)
		}
		for _, r := range s.Reports {
			if r == nil || len(r.Results) == 0 {
				return fmt.Errorf("%w: a report of the seeds holds no results", compare.ErrReport)
			}
			b.Benches = append(b.Benches, r)
		}
	case fields["over"] != nil:
		return decode(object, &b.Curves)
	case fields["points"] != nil && fields["index"] != nil:
		return decode(object, &b.ANN)
	case fields["samples"] != nil && fields["growth"] != nil:
		return decode(object, &b.Soaks)
	case fields["docs_per_second"] != nil:
		return decode(object, &b.Lives)
	default:
		return fmt.Errorf("%w: neither results, over, index, samples nor docs_per_second stands in it; give JSON of bench, bench curve, bench ann, bench soak or bench engine", compare.ErrReport)
	}
	return nil
}

func decode[T any](object json.RawMessage, into *[]*T) error {
	v := new(T)
	if err := json.Unmarshal(object, v); err != nil {
		return fmt.Errorf("%w: %w", compare.ErrReport, err)
	}
	*into = append(*into, v)
	return nil
}
