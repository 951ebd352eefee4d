package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// expectation is a file of bench/expected: what to measure on which set, and
// what came out when it was last agreed upon.
type expectation struct {
	Data    string `json:"data"`
	Systems string `json:"systems"`
	Tasks   string `json:"tasks"`
	Metrics string `json:"metrics"`
	// Tolerance of a figure. Vectors differ by some 1e-7 between machines, so
	// single ranks may change: a query in a thousand moves a mean by .001.
	Tolerance float64 `json:"tolerance"`
	// Figures: system, task, metric → mean.
	Figures map[string]map[string]map[string]float64 `json:"figures"`
}

// TestExpectedFigures measures the small judged sets with the real model and
// holds every figure to the one on record. With LEXSEM_UPDATE_EXPECTED=1 it
// writes new records instead. The short form measures one of them.
func TestExpectedFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT MEASURED with -short: the figures on record in bench/expected; run without -short")
	}
	data := os.Getenv("LEXSEM_DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "..", "..", "shared", "data")
	}
	files, err := filepath.Glob("../../../../bench/expected/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no records in bench/expected (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			if !trial.Long() && filepath.Base(file) != "limit-small.json" {
				t.Skip("NOT MEASURED without LEXSEM_LONG=1, which .ci/run sets")
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&want); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(data, want.Data)
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				t.Skipf("NOT MEASURED: %v; set LEXSEM_DATA; docs/data.md says where the set comes from", err)
			} else if err != nil {
				t.Fatal(err)
			}
			got := measureExpected(t, dir, want)
			if os.Getenv("LEXSEM_UPDATE_EXPECTED") != "" {
				want.Figures = got
				updated, err := json.MarshalIndent(want, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, append(updated, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compared := 0
			for system, tasks := range want.Figures {
				for task, metrics := range tasks {
					for metric, value := range metrics {
						v, ok := got[system][task][metric]
						if !ok || math.Abs(v-value) > want.Tolerance {
							t.Errorf("%s on %s: %s is %.4f (measured: %v), on record is %.4f ± %.4f", system, task, metric, v, ok, value, want.Tolerance)
						}
						compared++
					}
				}
			}
			if compared < 4 {
				t.Errorf("only %d figures on record", compared)
			}
		})
	}
}

func measureExpected(t *testing.T, dir string, want expectation) map[string]map[string]map[string]float64 {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(context.Background(), Env{
		Args:   []string{"bench", "--quiet", "--data", dir, "--systems", want.Systems, "--tasks", want.Tasks, "--metrics", want.Metrics, "--json", "-"},
		Stdout: &out, Stderr: &errs, Getenv: os.Getenv,
	})
	if code == exitUnavailable && (os.Getenv("LEXSEM_OFFLINE") != "" || !modelname.CGO) {
		t.Skipf("NOT MEASURED: run with cgo, and without LEXSEM_OFFLINE or with the model in the cache: %s", errs.String())
	}
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	rep, err := bench.ReadJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]map[string]float64{}
	for _, r := range rep.Results {
		if got[r.System] == nil {
			got[r.System] = map[string]map[string]float64{}
		}
		got[r.System][r.Task] = map[string]float64{}
		for metric, v := range r.Metrics {
			got[r.System][r.Task][metric] = math.Round(v*1e6) / 1e6
		}
	}
	return got
}
