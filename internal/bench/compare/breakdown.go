package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/bench"
)

// Group holds the scores of every system on the queries of one type.
type Group struct {
	Type    string       `json:"type"`
	Queries int          `json:"queries"`
	Systems []groupScore `json:"systems"`
}

// groupScore is the score of one system in a group. Higher, Lower and Equal are the shares of the
// group's queries on which the system scores higher than, lower than or equal to the base system.
type groupScore struct {
	System string  `json:"system"`
	Mean   float64 `json:"mean"`
	Higher float64 `json:"higher,omitempty"`
	Lower  float64 `json:"lower,omitempty"`
	Equal  float64 `json:"equal,omitempty"`
}

// singletonEntity is the group of the queries that name one entity, whatever
// its kind: the first row of the paper's Table 3.
const singletonEntity = "singleton_entity"

// entityTypes are the types that make singletonEntity.
var entityTypes = []string{"singleton_object", "singleton_person", "singleton_place", "singleton_concept"}

// ReadTypes reads query-types.jsonl of a CapRetrieval folder: lines with _id and types. A query may
// have several types or none. A type that names an object, a person, a place or a concept adds the
// type singleton_entity. Lines of queries without a positive are included.
func ReadTypes(dir string) (map[string][]string, error) {
	name := filepath.Join(dir, "query-types.jsonl")
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("types of queries stand in query-types.jsonl beside the corpus: %w", err)
	}
	defer f.Close()
	out := map[string][]string{}
	err = bench.EachLine(f, name, bench.ReadOptions{}, func(_ int, b []byte) error {
		var rec struct {
			ID    string   `json:"_id"`
			Types []string `json:"types"`
		}
		if err := json.Unmarshal(b, &rec); err != nil || rec.ID == "" || rec.Types == nil {
			return fmt.Errorf("%w: want an object with _id and types (%v)", bench.ErrBrokenLine, err)
		}
		if _, twice := out[rec.ID]; twice {
			return fmt.Errorf("%w: query %q stood earlier in the file", bench.ErrDuplicateID, rec.ID)
		}
		if slices.ContainsFunc(rec.Types, func(t string) bool { return slices.Contains(entityTypes, t) }) {
			rec.Types = append(rec.Types, singletonEntity)
		}
		out[rec.ID] = rec.Types
		return nil
	})
	return out, err
}

// Breakdown averages one metric of the first task of r over the queries of each type, the largest type
// first, and compares each system with base.
func Breakdown(r *bench.Report, types map[string][]string, metric, base string) ([]Group, error) {
	if len(r.Tasks) == 0 {
		return nil, fmt.Errorf("%w: the report names no queries", bench.ErrNoQueries)
	}
	ids, members := r.Tasks[0].Queries, map[string][]int{}
	for i, id := range ids {
		for _, t := range types[id] {
			members[t] = append(members[t], i)
		}
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%w: none of the %d queries has a type", bench.ErrUnknownID, len(ids))
	}
	var against []float64
	for _, res := range r.Results {
		if res.Task == r.Tasks[0].Task && res.System == base {
			against = res.PerQuery[metric]
		}
	}
	var out []Group
	for name, at := range members {
		g := Group{Type: name, Queries: len(at)}
		for _, res := range r.Results {
			if res.Task != r.Tasks[0].Task {
				continue
			}
			values, s := res.PerQuery[metric], groupScore{System: res.System}
			if len(values) != len(ids) {
				return nil, fmt.Errorf("%w: %s was not measured query by query", bench.ErrUnknownName, metric)
			}
			for _, i := range at {
				s.Mean += values[i] / float64(len(at))
				if against == nil || res.System == base {
					continue
				}
				switch share := 1 / float64(len(at)); {
				case values[i] > against[i]:
					s.Higher += share
				case values[i] < against[i]:
					s.Lower += share
				default:
					s.Equal += share
				}
			}
			g.Systems = append(g.Systems, s)
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Queries, a.Queries), cmp.Compare(a.Type, b.Type))
	})
	return out, nil
}
