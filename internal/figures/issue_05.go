package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Fusion is measured on each of these by the judged queries and the probes.
var fused05 = map[string][]string{
	"sure-nq":      {"query", "keyword", "part:8", "part:16"},
	"sure-msmarco": {"query", "keyword", "part:16"},
	"sure-fiqa":    {"query", "keyword", "part:16"},
	"capret-en":    {"query"},
	"scifact":      {"query"},
	"limit-small":  {"query"},
}

func init() {
	var fs []figure
	add := func(id, what string, target float64) {
		fs = append(fs, figure{id: id, what: what, target: target})
	}
	for _, f := range []struct {
		data   string
		target float64
	}{{"capret-en", 78}, {"scifact", 73}, {"limit-small", 99}} {
		add("05."+f.data, "nDCG@10 of hybrid, "+f.data, f.target)
	}
	for _, data := range []string{"sure-nq", "sure-msmarco", "sure-fiqa"} {
		for _, task := range fused05[data] {
			if task == "query" {
				add("05."+data+".query", "nDCG@1 points of hybrid over dense, judged queries, "+data, -0.3)
			} else {
				add("05."+data+"."+strings.ReplaceAll(task, ":", ""), "nDCG@1 points of hybrid over bm25, "+task+", "+data, -1.5)
			}
		}
	}
	add("05.capret-en.stretch", "nDCG@10 of hybrid, capret-en, the further goal", 80)
	add("05.scifact.stretch", "nDCG@10 of hybrid, scifact, the further goal", 74.5)
	add("05.parents", "least nDCG@10 points of hybrid over the better of its parents (rlr, bm25), over all of these", 0)
	add("05.bm25.scifact", "nDCG@10 of bm25 alone, scifact", 68)
	add("05.bm25.capret-en", "nDCG@10 of bm25 alone, capret-en", 71)
	register("05", measure05, append(fs,
		figure{id: "05.bm25.reference", what: "greatest difference of BM25 scores to bm25s, scifact", target: 1e-4, atMost: true},
		figure{id: "05.bm25.p50", what: "p50 of BM25 top-10 over 100,000 passages, ms", target: 1, atMost: true},
		figure{id: "05.bm25.bleve", what: "p50 of bleve's faster scoring over ours, same run, scale-mix", target: 1},
		figure{id: "05.bm25.size", what: "index on disk, percent of the text", target: 40, atMost: true},
	)...)
}

// measure05 takes 10 to 15 minutes on two cores: it encodes six corpora, and
// indexes 78,703 passages with bleve.
func measure05(ctx context.Context) (map[string]float64, error) {
	tmp, err := os.MkdirTemp("", "lexsem-figures-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "lexsem")
	if err := command(ctx, "go", "build", "-o", bin, "./cmd/lexsem").Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	values := map[string]float64{}
	return values, errors.Join(fusion05(ctx, bin, tmp, values), reference05(ctx, values), speed05(ctx, values), bleve05(ctx, values))
}

func fusion05(ctx context.Context, bin, tmp string, values map[string]float64) error {
	least := 100.0
	for data, tasks := range fused05 {
		got, err := scores05(ctx, bin, tmp, data, tasks)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			one := func(system string) float64 { return got[system+" "+task+" ndcg@1"] }
			ten := func(system string) float64 { return got[system+" "+task+" ndcg@10"] }
			least = min(least, ten("hybrid")-max(ten("rlr"), ten("bm25")))
			switch {
			case !strings.HasPrefix(data, "sure-"):
				values["05."+data] = ten("hybrid")
				values["05."+data+".stretch"] = ten("hybrid")
				values["05.bm25."+data] = ten("bm25")
			case task == "query":
				values["05."+data+".query"] = one("hybrid") - one("dense")
			default:
				values["05."+data+"."+strings.ReplaceAll(task, ":", "")] = one("hybrid") - one("bm25")
			}
		}
	}
	values["05.parents"] = least
	return nil
}

// scores05 runs the bench and returns its metrics × 100 by "system task metric".
func scores05(ctx context.Context, bin, tmp, data string, tasks []string) (map[string]float64, error) {
	out := filepath.Join(tmp, data+".json")
	if err := command(ctx, bin, "bench", "--data", filepath.Join(dataDir(), data), "--systems", "dense,rlr,bm25,hybrid",
		"--tasks", strings.Join(tasks, ","), "--metrics", "ndcg@1,ndcg@10", "--seed", "1", "--json", out).Run(); err != nil {
		return nil, fmt.Errorf("bench on %s: %w", data, err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var report struct {
		Results []struct {
			System, Task string
			Metrics      map[string]float64
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("bench report on %s: %w", data, err)
	}
	got := map[string]float64{}
	for _, r := range report.Results {
		for metric, v := range r.Metrics {
			got[r.System+" "+r.Task+" "+metric] = 100 * v
		}
	}
	for _, task := range tasks {
		for _, system := range []string{"dense", "rlr", "bm25", "hybrid"} {
			if _, ok := got[system+" "+task+" ndcg@10"]; !ok {
				return nil, fmt.Errorf("bench on %s: no figure of %s for %s", data, system, task)
			}
		}
	}
	return got, nil
}

var difference05 = regexp.MustCompile(`greatest difference over \d+ queries: (\S+)`)

// reference05 reads what the test against bm25s found.
func reference05(ctx context.Context, values map[string]float64) error {
	var out bytes.Buffer
	c := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "ReferenceScifact", "./index/inverted")
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("comparing with bm25s: %w\n%s", err, out.String())
	}
	m := difference05.FindStringSubmatch(out.String())
	if m == nil {
		return errors.New("comparing with bm25s: the test was skipped; set LEXSEM_DATA")
	}
	v, err := strconv.ParseFloat(m[1], 64)
	values["05.bm25.reference"] = v
	return err
}

var measured05 = regexp.MustCompile(`([0-9.]+) (p50-µs|snapshot-%)`)

// speed05 reads the benchmark over 100,000 passages.
func speed05(ctx context.Context, values map[string]float64) error {
	var out bytes.Buffer
	c := exec.CommandContext(ctx, "go", "test", "-run", "XXX", "-bench", "Search$", "-benchtime", "6000x", "./index/inverted")
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("searching 100,000 passages: %w\n%s", err, out.String())
	}
	for _, m := range measured05.FindAllStringSubmatch(out.String(), -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return err
		}
		if m[2] == "snapshot-%" {
			values["05.bm25.size"] = v
		} else {
			values["05.bm25.p50"] = v / 1000
		}
	}
	return nil
}

// bleve05 lets the peer's own module measure both indexes in one process.
func bleve05(ctx context.Context, values map[string]float64) error {
	data, err := filepath.Abs(filepath.Join(dataDir(), "scale-mix"))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	c := exec.CommandContext(ctx, "go", "run", ".", "--data", data, "--json")
	c.Dir, c.Stdout, c.Stderr = filepath.Join("bench", "peers", "bleve"), &out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("bleve: %w", err)
	}
	var report struct {
		Rows []struct {
			Name string
			P50  float64 `json:"p50_us"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return fmt.Errorf("bleve's report: %w", err)
	}
	if len(report.Rows) < 2 || !strings.HasPrefix(report.Rows[0].Name, "lexsem") {
		return fmt.Errorf("bleve's report has the rows %+v", report.Rows)
	}
	ours, best := report.Rows[0], 0.0
	for _, r := range report.Rows[1:] {
		if best == 0 || r.P50 < best {
			best = r.P50
		}
	}
	values["05.bm25.bleve"] = best / ours.P50
	return nil
}
