package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// workshop is what the measurements of a sheet share: a folder that is removed
// at the end, the program, made when it is first asked for, and a folder of
// encodings and fitted bridges, which is kept: LEXSEM_FIGURES_ENCODINGS, or
// figures in the program's cache folder.
type workshop struct {
	tmp       string
	encodings string
	built     bool
}

func newWorkshop() (*workshop, error) {
	tmp, err := os.MkdirTemp("", "lexsem-figures-")
	if err != nil {
		return nil, err
	}
	w := &workshop{tmp: tmp, encodings: os.Getenv("LEXSEM_FIGURES_ENCODINGS")}
	if w.encodings == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w; set LEXSEM_FIGURES_ENCODINGS to a folder for encodings", err)
		}
		w.encodings = filepath.Join(cache, "lexsem", "figures")
	}
	return w, nil
}

func (w *workshop) close() { os.RemoveAll(w.tmp) }

// lexsem is a run of the program.
func (w *workshop) lexsem(ctx context.Context, args ...string) (*exec.Cmd, error) {
	bin := filepath.Join(w.tmp, "lexsem")
	if !w.built {
		if err := command(ctx, "go", "build", "-buildvcs=false", "-o", bin, "./cmd/lexsem").Run(); err != nil {
			return nil, fmt.Errorf("go build: %w", err)
		}
		w.built = true
	}
	return command(ctx, bin, args...), nil
}

// report runs a command of the program that takes --json, decodes what it
// writes there and returns the CPU-seconds it took.
func (w *workshop) report(ctx context.Context, into any, args ...string) (cpu float64, err error) {
	out := filepath.Join(w.tmp, "report.json")
	c, err := w.lexsem(ctx, append(args, "--json", out)...)
	if err != nil {
		return 0, err
	}
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("lexsem %s: %w", strings.Join(args, " "), err)
	}
	return cpuSeconds(c), readJSON(out, into)
}

// benchReport is what the sheets read of the report of lexsem bench.
type benchReport struct {
	Results []struct {
		System, Task string
		Metrics      map[string]float64
	}
	Fit map[string]struct {
		CPUSeconds float64 `json:"cpu_seconds"`
	}
}

// scores are metrics × 100 by system, task and metric.
type scores map[[3]string]float64

// bench runs lexsem bench over sets (folders of the judged data, by commas)
// and returns its scores.
func (w *workshop) bench(ctx context.Context, sets string, args ...string) (scores, error) {
	var r benchReport
	if _, err := w.report(ctx, &r, append([]string{"bench", "--data", data(sets)}, args...)...); err != nil {
		return nil, err
	}
	s := scores{}
	for _, row := range r.Results {
		for metric, v := range row.Metrics {
			s[[3]string{row.System, row.Task, metric}] = 100 * v
		}
	}
	return s, nil
}

// over is the difference of a system to another, and whether both were
// measured.
func (s scores) over(system, base, task, metric string) (float64, bool) {
	v, ok := s[[3]string{system, task, metric}]
	b, okBase := s[[3]string{base, task, metric}]
	return v - b, ok && okBase
}

// command runs a program whose output is of interest only when it fails.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

// output runs a program and returns what it printed.
func output(c *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out.Bytes())
	}
	return out.Bytes(), nil
}

// goTest is what tests of a package print with -v.
func goTest(ctx context.Context, pkg, pattern string) ([]byte, error) {
	return output(command(ctx, "go", "test", "-count=1", "-v", "-run", pattern, pkg))
}

// benchLine is a line that go test -bench prints.
var benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\t(.*)$`)

// goBench runs benchmarks of a package and returns what they report, by
// "name unit"; of several counts the least. env is added to the environment.
func goBench(ctx context.Context, env []string, pkg, pattern string, args ...string) (map[string]float64, error) {
	c := command(ctx, "go", append([]string{"test", pkg, "-run", "^$", "-timeout", "60m", "-bench", pattern}, args...)...)
	c.Env = append(os.Environ(), env...)
	out, err := output(c)
	if err != nil {
		return nil, err
	}
	values, err := parseBench(out)
	if err == nil && len(values) == 0 {
		err = fmt.Errorf("go test %s -bench %q ran no benchmark; the pattern or the package is out of date", pkg, pattern)
	}
	return values, err
}

func parseBench(out []byte) (map[string]float64, error) {
	values := map[string]float64{}
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		f := strings.Fields(m[2])
		for i := 0; i+1 < len(f); i += 2 {
			x, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", m[0], err)
			}
			name := m[1] + " " + f[i+1]
			if old, ok := values[name]; !ok || x < old {
				values[name] = x
			}
		}
	}
	return values, nil
}

// data is the paths of judged sets, joined by commas as they are.
func data(sets string) string {
	var paths []string
	for _, set := range strings.Split(sets, ",") {
		paths = append(paths, filepath.Join(dataDir(), set))
	}
	return strings.Join(paths, ",")
}

// dataDir is where the judged sets lie.
func dataDir() string {
	if d := os.Getenv("LEXSEM_DATA"); d != "" {
		return d
	}
	return filepath.Join("..", "shared", "data")
}

func readJSON(file string, v any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return nil
}

func cpuSeconds(c *exec.Cmd) float64 {
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func distance(a, b float64) float64 { return max(a-b, b-a) }
