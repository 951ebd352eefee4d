//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// searched is what the program takes for source code, and what it finds there.
type searched struct {
	NDCG  float64 `json:"ndcg@10"` // of files of code, the mean over the queries
	CPU   float64 `json:"cpu_s_per_mb,omitempty"`
	Disk  float64 `json:"disk_over_source_bytes,omitempty"`
	First float64 `json:"first_answer_s_per_mb,omitempty"` // until a search was answered
}

// ways are the databases that code measures, by the flags of index.
var ways = []struct{ name, index string }{
	{"default", ""},
	{"states", "--token-states on"},
	{"static", "--model static"},
	{"words", ""}, // before there are vectors
}

// code measures trees of source code with judged queries: dir has a folder for each, with tree, queries.jsonl and
// qrels.tsv (query, file, grade). As in the judgements' source, all grades count alike, and files that are not there do not
// count.
func code(ctx context.Context, dir, out string) error {
	tmp, err := os.MkdirTemp("", "code")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	trees, err := filepath.Glob(filepath.Join(dir, "*", "tree"))
	if err == nil && len(trees) == 0 {
		err = fmt.Errorf("%s has no folder with a tree in it", dir)
	}
	if err != nil {
		return err
	}
	c := &commands{dir: tmp}
	if err := c.build(ctx, "."); err != nil {
		return err
	}
	if _, _, err := c.time(ctx, 0, "setup", "--quiet", "--model", "static"); err != nil { // its table is made once
		return err
	}
	r, queries, total := map[string]*searched{}, 0.0, 0.0
	for _, w := range ways {
		r[w.name] = &searched{}
	}
	for _, tree := range trees {
		source := 0.0
		if err := filepath.WalkDir(tree, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var i os.FileInfo
				if i, err = d.Info(); err == nil {
					source += float64(i.Size())
				}
			}
			return err
		}); err != nil {
			return err
		}
		rel, err := judged(tree)
		if err != nil {
			return err
		}
		queries, total = queries+float64(len(rel)), total+source
		for _, w := range ways {
			got, db := r[w.name], filepath.Join(tmp, w.name+filepath.Base(filepath.Dir(tree)))
			if w.name == "words" {
				first, err := c.first(ctx, db, tree)
				if err != nil {
					return err
				}
				got.First += first
			} else {
				t, _, err := c.time(ctx, 0, append([]string{"index", "--quiet", "--background=false", "--vector-cache", "0", "--state-cache", "0", "--db", db, tree}, strings.Fields(w.index)...)...)
				if err != nil {
					return err
				}
				n, err := size(db)
				if err != nil {
					return err
				}
				got.CPU, got.Disk = got.CPU+t.CPU, got.Disk+n
			}
			sum, err := c.gain(ctx, tree, db, rel)
			if err != nil {
				return err
			}
			got.NDCG += sum
		}
	}
	for _, got := range r {
		got.First /= total / 1e6
		got.NDCG, got.CPU, got.Disk = got.NDCG/queries, got.CPU/(total/1e6), got.Disk/total
	}
	return save(r, out)
}

// judged returns the files that answer each query, of those that the tree has.
func judged(tree string) (map[string][]string, error) {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(tree), "qrels.tsv"))
	if err != nil {
		return nil, err
	}
	rel := map[string][]string{}
	for _, line := range strings.Split(string(raw), "\n")[1:] {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			continue
		}
		if grade, err := strconv.Atoi(f[2]); err != nil || grade < 1 {
			continue
		}
		if _, err := os.Stat(filepath.Join(tree, f[1])); err == nil {
			rel[f[0]] = append(rel[f[0]], f[1])
		}
	}
	return rel, nil
}

// gain searches a database for the judged queries and returns the sum of their nDCG@10.
func (c *commands) gain(ctx context.Context, tree, db string, rel map[string][]string) (sum float64, err error) {
	queries := filepath.Join(filepath.Dir(tree), "queries.jsonl")
	raw, err := exec.CommandContext(ctx, c.programs[0], "search", "--quiet", "--db", db, "--queries", queries, "-k", "50", "--format", "json").Output()
	if err != nil {
		return 0, fmt.Errorf("search %s: %w", tree, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var q struct {
			Query string `json:"query_id"`
			Hits  []struct{ ID string }
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return 0, err
		}
		var files []string
		for _, h := range q.Hits {
			if slices.Contains(languages, strings.TrimPrefix(filepath.Ext(h.ID), ".")) && !slices.Contains(files, h.ID) {
				files = append(files, h.ID)
			}
		}
		sum += ndcg(files, rel[q.Query])
	}
	return sum, lines.Err()
}

// ndcg is nDCG@10 of files in their order, where those of rel count alike; 0 if there is none of them.
func ndcg(files, rel []string) float64 {
	gain, most := 0.0, 0.0
	for i := range 10 {
		at := 1 / math.Log2(float64(i+2))
		if i < len(files) && slices.Contains(rel, files[i]) {
			gain += at
		}
		if i < len(rel) {
			most += at
		}
	}
	if most == 0 {
		return 0
	}
	return gain / most
}

// languages are the endings of files that count as code.
var languages = strings.Fields("py pyi js mjs cjs jsx ts tsx mts cts go java rs c h cc cpp cxx hh hpp hxx rb php kt scala swift ex exs lua sh zig hs cs")

// first indexes a tree in the background, and returns the seconds until a search was answered. It ends the process that
// makes the vectors, so that the database has words alone.
func (c *commands) first(ctx context.Context, db, tree string) (float64, error) {
	start := time.Now()
	if _, _, err := c.time(ctx, 0, "index", "--quiet", "--background", "--vector-cache", "0", "--db", db, tree); err != nil {
		return 0, err
	}
	if _, _, err := c.time(ctx, 0, "search", "--quiet", "--db", db, "-k", "1", "return the name"); err != nil {
		return 0, err
	}
	took := time.Since(start).Seconds()
	for range 2000 { // until that process has the database
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		raw, err := os.ReadFile(filepath.Join(db, "LOCK"))
		if err != nil {
			return 0, err
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			return took, syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, fmt.Errorf("no process makes the vectors of %s: it is too small to be measured without them", tree)
}
