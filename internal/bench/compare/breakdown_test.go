package compare

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/bench"
)

func TestBreakdown(t *testing.T) {
	r := &bench.Report{
		Tasks: []bench.TaskQueries{{Task: "query", Queries: []string{"a", "b", "c", "d"}}},
		Results: []bench.Result{
			{System: "bm25", Task: "query", PerQuery: map[string][]float64{"m": {1, 0, .5, 1}}},
			{System: "dense", Task: "query", PerQuery: map[string][]float64{"m": {1, 1, 0, 0}}},
			{System: "dense", Task: "keyword", PerQuery: map[string][]float64{"m": {9}}},
		},
	}
	got, err := Breakdown(r, map[string][]string{"a": {"x", "y"}, "b": {"x"}, "c": {"x"}, "d": {}, "gone": {"z"}}, "m", "bm25")
	if err != nil || len(got) != 2 || got[0].Type != "x" || got[0].Queries != 3 || got[1].Type != "y" || len(got[0].Systems) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	d := got[0].Systems[1]
	for what, p := range map[string][2]float64{"mean": {d.Mean, 2. / 3}, "higher": {d.Higher, 1. / 3}, "lower": {d.Lower, 1. / 3}, "equal": {d.Equal, 1. / 3}} {
		if math.Abs(p[0]-p[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, p[0], p[1])
		}
	}
	if _, err := Breakdown(r, map[string][]string{"other": {"x"}}, "m", "bm25"); !errors.Is(err, bench.ErrUnknownID) {
		t.Errorf("no type fits: %v", err)
	}
}

func TestReadTypes(t *testing.T) {
	dir := t.TempDir()
	var line *bench.LineError
	for text, want := range map[string]error{
		`{"_id":"a","types":["x"]}` + "\n" + `{"_id":"b","types":[]}`:    nil,
		`{"_id":"a","types":["x"]}` + "\n" + `{"_id":"a","types":["y"]}`: bench.ErrDuplicateID,
		`{"_id":"a"}`:   bench.ErrBrokenLine,
		`{"types":[]}`:  bench.ErrBrokenLine,
		`types: a, b,c`: bench.ErrBrokenLine,
	} {
		if err := os.WriteFile(filepath.Join(dir, "query-types.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		types, err := ReadTypes(dir)
		if !errors.Is(err, want) || want != nil && !errors.As(err, &line) || want == nil && len(types) != 2 {
			t.Errorf("%s: %v, %v", text, types, err)
		}
	}
	text := `{"_id":"a","types":["singleton_place","singleton_object"]}` + "\n" + `{"_id":"b","types":["singleton_event"]}` + "\n" +
		`{"_id":"c","types":["singleton_person","conjunction"]}` + "\n" + `{"_id":"d","types":["singleton_concept"]}` + "\n" + `{"_id":"e","types":["singleton_object"]}`
	if err := os.WriteFile(filepath.Join(dir, "query-types.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	types, err := ReadTypes(dir)
	for id, want := range map[string]int{"a": 1, "b": 0, "c": 1, "d": 1, "e": 1} {
		entity := 0
		for _, kind := range types[id] {
			if kind == "singleton_entity" {
				entity++
			}
		}
		if err != nil || entity != want {
			t.Errorf("%s has %v (%v), want singleton_entity %d times", id, types[id], err, want)
		}
	}
	if _, err := ReadTypes(filepath.Join(dir, "none")); err == nil {
		t.Error("no file, no error")
	}
}
