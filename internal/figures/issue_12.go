package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The sheet of the engine wants a quiet machine with two cores. Stalls, rates
// and memory are those of LEXSEM_FIGURES_DOCS documents (100,000), which take
// some 30 minutes a dimension; 12.upsert and 12.first, four dimensions at 2,000
// documents, take five. LEXSEM_MILLION=1 adds the opening of a million vectors;
// without it that is not measured, and a MISS.
func init() {
	for _, dim := range []int{384, 768, 1536, 3072} {
		register("12", small12(dim),
			limit(id12("upsert", dim), "search after an upsert of 1, 10 or 1,000 documents less 1.5 × its time at rest, ms, the worst mode; two products off from 1,536 on", 5),
			limit(id12("first", dim), "first search of a process, likewise", 5))
	}
	register("12", memory12,
		limit("12.rss.rest", "MiB resident at rest, 2,000 documents at 3,072", 250),
		limit("12.rss.factor", "most MiB resident while a factor is made, likewise", 350))
	for _, d := range []struct {
		dim  int
		rate float64
	}{{384, 8000}, {1536, 3000}} {
		figures := []figure{goal(id12("rate", d.dim), "documents with vectors of their own added a second, two cores", d.rate)}
		for _, work := range stalls12 {
			figures = append(figures, limit(id12("stall."+work, d.dim), "longest search beside it, ms above that beside one busy goroutine, best of three", 20))
		}
		if d.dim == 384 {
			figures = append(figures,
				limit("12.open.closed", "seconds to open as closed", 0.15),
				limit("12.open.behind", "seconds to open a thousand documents behind", 0.4),
				limit("12.bytes.vectors", "bytes a document of codes, graph and RLR", 384+500),
				limit("12.bytes.words", "bytes of words and columns over those of the documents as JSON", 1),
				limit("12.collapse", "seconds of 10,000 hits over 7,000 near-duplicates, collapsed", 0.5),
				limit("12.close.add", "seconds of Close during an Add of 20,000", 1),
				limit("12.close.fit", "seconds of Close during a Fit", 1),
				limit("12.deadline", "ms by which any call came back after its deadline", 10))
		} else {
			figures = append(figures,
				limit("12.rss.reopened", "resident over the float32 vectors after opening, d 1,536", 1.6),
				limit("12.rss.ingested", "resident over the float32 vectors after adding, d 1,536", 2))
		}
		register("12", large12(d.dim), figures...)
	}
	register("12", lexical12, limit("12.lexical", "seconds of a lexical search through the command line, 2,000 documents, least of five", 0.1))
	register("12", million12, limit("12.open.million", "seconds to open a million vectors, d 384", 0.5))
}

// stalls12 are the kinds of work that searches run beside.
var stalls12 = []string{"add_1", "add_10", "add_5000", "delete_5000", "fit", "graph", "repartition", "snapshot"}

func id12(name string, dim int) string { return fmt.Sprintf("12.%s.%d", name, dim) }

// engineReport is what the sheet reads of lexsem bench engine; what was not
// measured is nil.
type engineReport struct {
	Docs, Dim int
	Rate      *float64 `json:"docs_per_second"`
	Open      *float64 `json:"open_seconds"`
	Behind    *float64 `json:"open_behind_seconds"`
	First     *float64 `json:"first_search_ms"`
	Modes     map[string]struct {
		P50   float64             `json:"p50_ms"`
		After map[string]*float64 `json:"after_upsert_ms"`
	}
	Stall    map[string]*float64 `json:"stall_ms"`
	Overrun  *float64            `json:"deadline_overrun_ms"`
	Close    map[string]*float64 `json:"close_seconds"`
	Collapse *float64            `json:"collapse_seconds"`
	RSS      *float64            `json:"rss_mb"`
	Ingested *float64            `json:"rss_after_ingest_mb"`
	Peak     *float64            `json:"rss_peak_mb"`
	Parts    map[string]float64  `json:"memory_per_document"`
	JSON     *float64            `json:"json_per_document"`
	Product  float64             `json:"product_ms"`
}

func engine12(ctx context.Context, w *workshop, docs, dim int, parts string) (*engineReport, error) {
	r := &engineReport{}
	_, err := w.report(ctx, r, "bench", "engine", "--docs", strconv.Itoa(docs), "--dim", strconv.Itoa(dim), "--parts", parts)
	return r, err
}

// values12 are figures by id, of those that were measured.
type values12 map[string]float64

func (v values12) set(id string, x *float64) {
	if x != nil {
		v[id] = *x
	}
}

// small12 measures searches after commits and the first of a process.
func small12(dim int) measure {
	return func(ctx context.Context, w *workshop) (map[string]float64, error) {
		r, err := engine12(ctx, w, 2000, dim, "open,search,upsert")
		if err != nil {
			return nil, err
		}
		return r.afterCommits(), nil
	}
}

// afterCommits is what 12.upsert and 12.first are of.
func (r *engineReport) afterCommits() values12 {
	v, allowed := values12{}, 0.0
	if r.Dim >= 1536 {
		allowed = 2 * r.Product
	}
	worst, all := math.Inf(-1), len(r.Modes) > 0
	for _, m := range r.Modes {
		for _, n := range []string{"1", "10", "1000"} {
			if m.After[n] == nil {
				all = false
				continue
			}
			worst = max(worst, *m.After[n]-1.5*m.P50-allowed)
		}
	}
	if all {
		v[id12("upsert", r.Dim)] = worst
	}
	if m, ok := r.Modes["hybrid"]; ok && r.First != nil {
		v[id12("first", r.Dim)] = *r.First - 1.5*m.P50 - allowed
	}
	return v
}

func memory12(ctx context.Context, w *workshop) (map[string]float64, error) {
	r, err := engine12(ctx, w, 2000, 3072, "open")
	if err != nil {
		return nil, err
	}
	v := values12{}
	v.set("12.rss.rest", r.RSS)
	v.set("12.rss.factor", r.Peak)
	return v, nil
}

func large12(dim int) measure {
	return func(ctx context.Context, w *workshop) (map[string]float64, error) {
		docs, err := docs12()
		if err != nil {
			return nil, err
		}
		parts := "open,stalls"
		if dim == 384 {
			parts += ",deadlines,close,collapse"
		}
		r, err := engine12(ctx, w, docs, dim, parts)
		if err != nil {
			return nil, err
		}
		v := values12{}
		v.set(id12("rate", dim), r.Rate)
		for _, work := range stalls12 {
			v.set(id12("stall."+work, dim), r.Stall[work])
		}
		if dim == 384 {
			v.set("12.open.closed", r.Open)
			v.set("12.open.behind", r.Behind)
			if m := r.Parts; m != nil && r.JSON != nil {
				v["12.bytes.vectors"] = m["codes"] + m["graph"] + m["rlr"]
				v["12.bytes.words"] = (m["words"] + m["columns"]) / *r.JSON
			}
			v.set("12.collapse", r.Collapse)
			v.set("12.close.add", r.Close["during_add"])
			v.set("12.close.fit", r.Close["during_fit"])
			v.set("12.deadline", r.Overrun)
			return v, nil
		}
		floats := 4 * float64(docs) * float64(dim) / (1 << 20)
		for id, x := range map[string]*float64{"12.rss.reopened": r.RSS, "12.rss.ingested": r.Ingested} {
			if x != nil {
				v[id] = *x / floats
			}
		}
		return v, nil
	}
}

// docs12 is how many documents the large figures are of.
func docs12() (int, error) {
	s := os.Getenv("LEXSEM_FIGURES_DOCS")
	if s == "" {
		return 100_000, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 20 {
		return 0, fmt.Errorf("LEXSEM_FIGURES_DOCS is %q; set it to a number from 20", s)
	}
	return n, nil
}

// lexical12 times the command line as a shell sees it, on a machine that lacks
// the model which the documents were encoded with.
func lexical12(ctx context.Context, w *workshop) (map[string]float64, error) {
	db, corpus, empty := filepath.Join(w.tmp, "lexical"), filepath.Join(w.tmp, "lexical.jsonl"), filepath.Join(w.tmp, "no-models")
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "{\"_id\": \"%d\", \"text\": \"document %d speaks of number%d and of colour%d in a sentence\"}\n", i, i, i, i%7)
	}
	if err := os.WriteFile(corpus, []byte(b.String()), 0o644); err != nil {
		return nil, err
	}
	c, err := w.lexsem(ctx, "index", "--db", db, "--quiet", "--vector-cache", "0", corpus)
	if err == nil {
		err = c.Run()
	}
	if err != nil {
		return nil, fmt.Errorf("lexsem index: %w", err)
	}
	least := math.Inf(1)
	for range 5 {
		c, err := w.lexsem(ctx, "search", "--db", db, "--cache", empty, "--offline", "--mode", "lexical", "number77")
		if err != nil {
			return nil, err
		}
		start := time.Now()
		out, err := output(c)
		if err != nil {
			return nil, err
		}
		least = min(least, time.Since(start).Seconds())
		if !strings.Contains(string(out), "number77") {
			return nil, fmt.Errorf("lexsem search did not find the document: %s", out)
		}
	}
	return map[string]float64{"12.lexical": least}, nil
}

func million12(ctx context.Context, w *workshop) (map[string]float64, error) {
	v := values12{}
	if os.Getenv("LEXSEM_MILLION") == "" {
		return v, nil
	}
	r, err := engine12(ctx, w, 1_000_000, 384, "open")
	if err != nil {
		return nil, err
	}
	v.set("12.open.million", r.Open)
	return v, nil
}
