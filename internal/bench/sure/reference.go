package sure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/lexsem/lexsem/bench"
)

// expected holds the expected ranks of versions: query id → version → rank. The paper uses those of a
// 4 B reranker over the same candidates.
type expected map[string]map[string]float64

// readReference reads lines such as
//
//	{"query": "12", "ranks": {"passage": 3, "key-sentences": 1, "summaries": 2}}
//
// with ranks from 1. Broken lines are a *bench.LineError.
func readReference(file string) (expected, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the reference: %w", err)
	}
	defer f.Close()
	return parseReference(f, file)
}

func parseReference(r io.Reader, name string) (expected, error) {
	known := map[string]bool{}
	for _, t := range testbeds {
		for _, v := range t.Versions {
			known[v] = true
		}
	}
	out := expected{}
	err := bench.EachLine(r, name, bench.ReadOptions{}, func(_ int, b []byte) error {
		var rec struct {
			Query string             `json:"query"`
			Ranks map[string]float64 `json:"ranks"`
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&rec); err != nil || rec.Query == "" || len(rec.Ranks) == 0 {
			return fmt.Errorf(`%w: want {"query": ID, "ranks": {VERSION: RANK, …}} (%v)`, bench.ErrBrokenLine, err)
		}
		if out[rec.Query] != nil {
			return fmt.Errorf("%w: query %q stood earlier in the file", bench.ErrDuplicateID, rec.Query)
		}
		for v, rank := range rec.Ranks {
			if !known[v] || !(rank >= 1) {
				return fmt.Errorf("%w: version %q with rank %v; versions are those of the testbeds, ranks start at 1", bench.ErrBrokenLine, v, rank)
			}
		}
		out[rec.Query] = rec.Ranks
		return nil
	})
	return out, err
}
