package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/dev/runs"
)

const runsDir = "docs/runs"

// record measures the chosen runs, command by command, and stores the results; it skips commands that are already
// recorded. It fails if a value has become worse by more than a tenth.
func record(ctx context.Context, prefix string) error {
	all, err := chosenRuns(prefix)
	if err != nil {
		return err
	}
	before := map[string]map[string]float64{}
	for name, r := range all {
		before[name] = maps.Clone(r.Values)
	}
	return recordAll(ctx, all, before)
}

func recordAll(ctx context.Context, all map[string]*runs.Run, before map[string]map[string]float64) error {
	w, err := newWorkshop()
	if err != nil {
		return err
	}
	defer w.close()
	commit, err := lastChange(ctx)
	if err != nil {
		return err
	}
	var failed []error
	measured := false
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if !recordable(r) {
			fmt.Printf("%s: its commands are not those of lexsem bench; run them by hand, then .ci/figures adopt %s\n", name, name)
			continue
		}
		measured = true
		whole := true
		for i := range r.Commands {
			c := &r.Commands[i]
			if c.Sum == r.SumOf(*c) {
				continue
			}
			start := time.Now()
			fresh, err := w.measure(ctx, r, *c)
			if err != nil {
				failed, whole = append(failed, fmt.Errorf("%s: %w", name, err)), false
				break // others are measured nevertheless
			}
			r.Recorded = runs.ByCommand
			r.Cells, r.Said = nil, nil
			if r.Values == nil {
				r.Values = map[string]float64{}
			}
			failed = append(failed, regressions(name, before[name], fresh)...)
			maps.Copy(r.Values, fresh)
			c.Commit, c.Date, c.Machine, c.Sum = commit, start.UTC().Format(time.DateOnly), machine(), r.SumOf(*c)
			if err := r.Save(runsDir); err != nil {
				return err
			}
			fmt.Printf("%s: %d values in %.0f s: %s\n", name, len(fresh), time.Since(start).Seconds(), c.Run)
		}
		if whole {
			failed = append(failed, gone(name, before[name], r.Values)...)
		}
	}
	if !measured {
		failed = append(failed, errors.New("nothing was measured; .ci/figures speed COMMIT compares encoding, commands, adding, searches, space and memory with a commit"))
	}
	return errors.Join(failed...)
}

// chosenRuns returns the run with that name, or those whose names begin with it.
func chosenRuns(prefix string) (map[string]*runs.Run, error) {
	all, err := runs.Load(runsDir)
	if err != nil {
		return nil, err
	}
	_, exact := all[prefix]
	maps.DeleteFunc(all, func(name string, _ *runs.Run) bool {
		return exact && name != prefix || !strings.HasPrefix(name, prefix)
	})
	if len(all) == 0 {
		return nil, fmt.Errorf("no file of %s begins with %q; run it from the root of the repository", runsDir, prefix)
	}
	return all, nil
}

// sample repeats the runs that are marked for it, and fails if a value differs from the recorded one by more
// than tolerance, since machines sum in different orders.
func sample(ctx context.Context, prefix string) error {
	const tolerance = 0.1
	all, err := chosenRuns(prefix)
	if err != nil {
		return err
	}
	w, err := newWorkshop()
	if err != nil {
		return err
	}
	defer w.close()
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if !r.Sample {
			continue
		}
		n := 0
		for _, c := range r.Commands {
			fresh, err := w.measure(ctx, r, c)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for k, v := range fresh {
				old, ok := r.Values[k]
				if n++; !ok || math.Abs(v-old) > tolerance {
					failed = append(failed, fmt.Errorf("%s: %s is %.2f now and %.2f on record; measure it again (.ci/figures again %s) or find what changed", name, k, v, old, name))
				}
			}
		}
		fmt.Printf("%s: %d values repeated\n", name, n)
	}
	return errors.Join(failed...)
}

// again marks runs as not measured, so that all measures them again.
func again(ctx context.Context, prefix string) error {
	all, err := chosenRuns(prefix)
	if err != nil {
		return err
	}
	before := map[string]map[string]float64{}
	for name, r := range all {
		before[name] = r.Values
		if !recordable(r) {
			continue
		}
		for i := range r.Commands {
			r.Commands[i].Sum = ""
		}
		r.Values = nil
		if err := r.Save(runsDir); err != nil {
			return err
		}
	}
	return recordAll(ctx, all, before)
}

// What the names of values say: which should be large, and which small. Others, such as counts and bounds, are neither.
// Values of other libraries are not ours, and the longest of some times is mostly chance.
var (
	largeIsGood = regexp.MustCompile(`\b(ndcg@\d+|recall(@\d+)?|accuracy|f1|score|qps|times|(docs|kb)_per_(cpu_)?second(_settled)?|gain|rdc|auc|spearman)( seed=\d+)?$`)
	smallIsGood = regexp.MustCompile(`\b(\w*_?(ms|us|seconds|bytes|mb)|build|bytes_per_vector|memory_per_document)\b`)
	notCompared = regexp.MustCompile(`\b(p|p99_ms|\w+_p99_ms|control_max_ms|first_search_ms|stall_ms|deadline_overruns?_ms|hnswlib|usearch|faiss|symphonyqg|glass|svs|vsag)\b`)
)

// regressions names the values that are worse than before by more than a tenth.
func regressions(name string, before, now map[string]float64) (failed []error) {
	for _, k := range slices.Sorted(maps.Keys(now)) {
		was, ok := before[k]
		worse := false
		switch is := now[k]; {
		case !ok || was <= 0 || notCompared.MatchString(k):
		case largeIsGood.MatchString(k):
			worse = is < was*0.9
		case smallIsGood.MatchString(k):
			worse = is > was*1.1
		}
		if worse {
			failed = append(failed, fmt.Errorf("%s: %s was %.4g and is %.4g now; find what changed, or measure again on the machine of the record", name, k, was, now[k]))
		}
	}
	return failed
}

// gone names the values that were recorded before and are not any more, such as the speed at a recall that is never reached.
func gone(name string, before, now map[string]float64) (failed []error) {
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[k]; !ok && !notCompared.MatchString(k) && (largeIsGood.MatchString(k) || smallIsGood.MatchString(k)) {
			failed = append(failed, fmt.Errorf("%s: %s was %.4g and is not measured now; find what changed", name, k, before[k]))
		}
	}
	return failed
}

// tables writes the values of all runs into the tables of the documents.
func tables() error {
	all, err := chosenRuns("")
	if err != nil {
		return err
	}
	docs, err := runs.Documents(".")
	if err != nil {
		return err
	}
	var failed []error
	for _, doc := range docs {
		raw, err := os.ReadFile(doc)
		if err != nil {
			return err
		}
		fresh, err := runs.Rewrite(string(raw), all)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", doc, err))
		}
		if fresh != string(raw) {
			if err := os.WriteFile(doc, []byte(fresh), 0o644); err != nil {
				return err
			}
			fmt.Println("written:", doc)
		}
	}
	return errors.Join(failed...)
}

// adopt copies figures below the marks of runs that no program reads (times, other languages) from the
// documents into the files of the runs. Values that no document shows stay in the file.
func adopt(prefix string) error {
	all, err := chosenRuns(prefix)
	if err != nil {
		return err
	}
	for name, r := range all {
		if len(r.Values) > 0 {
			delete(all, name)
			continue
		}
		if r.Cells == nil {
			r.Cells = map[string]string{}
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no run that is written by hand is or begins with %q", prefix)
	}
	docs, err := runs.Documents(".")
	if err != nil {
		return err
	}
	taken := map[[2]string]bool{}
	for _, doc := range docs {
		raw, err := os.ReadFile(doc)
		if err != nil {
			return err
		}
		if err := runs.Adopt(string(raw), all, taken); err != nil {
			return fmt.Errorf("%s: %w", doc, err)
		}
	}
	for _, r := range all {
		if err := r.Save(runsDir); err != nil {
			return err
		}
	}
	return nil
}

// scripts are other commands that take --json FILE: the comparison of the index with other libraries, which variables of the
// environment may precede, and what commands of the program take for text and for source code.
var scripts = regexp.MustCompile(`\bbench/peers/run\.sh |^go run \./tools/pairs -(commands|code) `)

// recordable reports whether all commands write a report of a known format.
func recordable(r *runs.Run) bool {
	return !slices.ContainsFunc(r.Commands, func(c runs.Command) bool {
		if c.As != "" && scripts.MatchString(c.Run) {
			return false
		}
		rest, ok := strings.CutPrefix(c.Run, "lexsem bench ")
		part, _, _ := strings.Cut(rest, " ")
		return !ok || !strings.HasPrefix(part, "--") && !slices.Contains([]string{"curve", "lexsembridge", "capretrieval", "sure", "sage", "limit", "summary", "correlate", "compare", "tune", "engine"}, part)
	})
}

// measure runs a command of the program once for each seed of its run. A summary or a correlation uses the reports
// of the commands above it, a comparison the last two of them. These reports are kept next to the encodings.
func (w *workshop) measure(ctx context.Context, r *runs.Run, c runs.Command) (map[string]float64, error) {
	line, err := expand(c.Run)
	if err != nil {
		return nil, err
	}
	if scripts.MatchString(c.Run) {
		return w.script(ctx, line, c.As)
	}
	args := append(strings.Fields(line)[1:], "--quiet")
	compares := strings.HasPrefix(c.Run, "lexsem bench compare")
	if compares || strings.HasPrefix(c.Run, "lexsem bench summary") || strings.HasPrefix(c.Run, "lexsem bench correlate") {
		reports := r.Commands[:slices.Index(r.Commands, c)]
		if compares {
			if len(reports) < 2 {
				return nil, fmt.Errorf("%q compares the reports of the two commands above it", c.Run)
			}
			reports = reports[len(reports)-2:]
		}
		for _, above := range reports {
			file := w.kept(r, above)
			if _, err := os.Stat(file); err != nil {
				return nil, fmt.Errorf("the report of %q is not kept; .ci/figures again %s measures all of the run: %w", above.Run, r.Name, err)
			}
			args = append(args, file)
		}
	} else if !strings.HasPrefix(c.Run, "lexsem bench engine") {
		args = append(args, "--encodings", w.encodings)
	}
	values := map[string]float64{}
	one := func(suffix string, more ...string) error {
		var raw json.RawMessage
		if err := w.report(ctx, &raw, append(slices.Clone(args), more...)...); err != nil {
			return err
		}
		if len(r.Seeds) == 0 {
			if err := os.MkdirAll(filepath.Dir(w.kept(r, c)), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(w.kept(r, c), raw, 0o644); err != nil {
				return err
			}
		}
		got, err := reading(raw, c.As)
		for k, v := range got {
			values[k+suffix] = rounded(v)
		}
		return err
	}
	if len(r.Seeds) == 0 {
		return values, one("")
	}
	for _, seed := range r.Seeds {
		if err := one(fmt.Sprintf(" seed=%d", seed), "--seed", fmt.Sprint(seed)); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// script runs one of scripts.
func (w *workshop) script(ctx context.Context, line, as string) (map[string]float64, error) {
	out := filepath.Join(w.tmp, "script.json")
	c := command(ctx, "bash", "-c", line+" --json "+out)
	c.Env = append(os.Environ(), "LEXSEM_DATA="+dataDir())
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", line, err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	values, err := reading(raw, as)
	for k, v := range values {
		values[k] = rounded(v)
	}
	return values, err
}

// rounded has four decimals, as recorded values have.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// kept is the path of the report of a measured command.
func (w *workshop) kept(r *runs.Run, c runs.Command) string {
	return filepath.Join(w.encodings, "reports", r.Name+"-"+r.SumOf(c)+".json")
}

// expand replaces $LEXSEM_DATA with the folder of the judged sets.
func expand(line string) (string, error) {
	dir, err := filepath.Abs(dataDir())
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("the judged sets are not there: %w; set LEXSEM_DATA (docs/data.md)", err)
	}
	return strings.ReplaceAll(line, "$LEXSEM_DATA", dir), nil
}

// lastChange is the last commit that changed the program, not only documents or this tool.
func lastChange(ctx context.Context) (string, error) {
	paths := []string{"--", "*.go", "*.s", "go.mod", "go.sum", ":!internal/dev/figures", ":!internal/dev/runs", ":!internal/dev/house"}
	out, err := exec.CommandContext(ctx, "git", append([]string{"log", "-1", "--format=%h"}, paths...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git log: %w; runs are recorded in a checkout", err)
	}
	commit := strings.TrimSpace(string(out))
	changed, err := exec.CommandContext(ctx, "git", append([]string{"status", "--porcelain"}, paths...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git status: %w", err)
	}
	if len(changed) > 0 {
		commit += " and changes"
	}
	return commit, nil
}

// machine describes this machine, without its name.
func machine() string {
	model := runtime.GOARCH
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				model = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	return fmt.Sprintf("%d cores of %s, %s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.Version())
}
