package report

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/ann"
	"github.com/lexsem/lexsem/internal/bench/compare"
	"github.com/lexsem/lexsem/internal/bench/load"
	"github.com/lexsem/lexsem/internal/bench/repeat"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// corpus writes a small judged corpus whose texts hold what markup must not be
// made of.
func corpus(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "harbour")
	var docs, queries, qrels strings.Builder
	for i := range 40 {
		fmt.Fprintf(&docs, "{\"_id\":\"p%d\",\"text\":\"Quay %d <b>lies</b> by the | mole of basin%d & has crane%d, lamp%d, rope%d and bollard%d near the old gate.\"}\n", i, i, i%7, i%5, i%3, i%11, i)
		fmt.Fprintf(&queries, "{\"_id\":\"q%d\",\"text\":\"<script>alert(%d)</script> crane%d rope%d bollard%d\"}\n", i, i, i%5, i%11, i)
		fmt.Fprintf(&qrels, "q%d\tp%d\t1\n", i, i)
	}
	trial.Files(t, dir, map[string]string{"corpus.jsonl": docs.String(), "queries.jsonl": queries.String(), "qrels/test.tsv": qrels.String()})
	return dir
}

func measured(t *testing.T, o bench.Options) *bench.Report {
	t.Helper()
	rep, err := bench.Run(context.Background(), encoder.NewHash(32), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func bundle(t *testing.T) *Bundle {
	t.Helper()
	dir := corpus(t)
	o := bench.Options{Data: dir, Systems: []string{"dense", "rlr", "bm25"}, Tasks: []string{"query", "part:3", "part:6"}, Cases: 2}
	curve, err := repeat.RunCurve(context.Background(), encoder.NewHash(32), bench.Options{
		Data: dir, Systems: []string{"dense", "slr"}, Tasks: []string{"keyword"}}, repeat.OverQueries, []int{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	return &Bundle{
		Benches: []*bench.Report{measured(t, o)}, Curves: []*repeat.Curve{curve},
		ANN:   []*ann.Report{{Index: "hnsw", N: 100, Points: []ann.Point{{Ef: 16, Recall: .9, QPS: 1000}, {Ef: 64, Recall: .99, QPS: 300}}}},
		Soaks: []*load.SoakReport{{Docs: 50, Reads: 700, Growth: map[string]float64{"rss_mb": .01}, Samples: []load.SoakSample{{Seconds: 1, RSS: 90, Anonymous: 40, Disk: 7, P50: .1, P99: .2}, {Seconds: 2, RSS: 91, Anonymous: 41, Disk: 8, P50: .2, P99: .3}}}},
		Lives: []*load.Report{{Docs: 100, DocsPerSecond: new(float64), RSS: new(1.0)}, {Docs: 200, DocsPerSecond: new(float64), RSS: new(2.0)}},
	}
}

// TestPageStandsAlone holds the page to be well formed, to run nothing and to
// fetch nothing, with every text escaped.
func TestPageStandsAlone(t *testing.T) {
	var b bytes.Buffer
	if err := bundle(t).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<link", "src=", "url(", "@import", "<b>lies", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"Scores by task", "against span length", "Where it lost most", "harbour over queries", "Recall against speed", "&lt;script&gt;alert", "Training loss"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := bundle(t).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for _, line := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(line, "|") - strings.Count(line, `\|`)
		if columns == 0 {
			columns = n
		} else if n != columns {
			t.Errorf("a row of %d cells in a table of %d: %s", n, columns, line)
		}
	}
	for _, want := range []string{"**query**, 40 queries", "| dense |", "## Index hnsw", "keyword: queries"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestTerminalAndPageShowOneP: the p of the terminal, of the page and of the
// Markdown is the corrected one, which differs from the raw one where several
// systems are compared.
func TestTerminalAndPageShowOneP(t *testing.T) {
	rep := measured(t, bench.Options{Data: corpus(t), Systems: []string{"dense", "rlr", "bm25", "rrf", "hybrid"}, Tasks: []string{"query", "part:6"}})
	var terminal, page, markdown bytes.Buffer
	b := &Bundle{Benches: []*bench.Report{rep}}
	if err := errors.Join(rep.WriteTable(&terminal, nil), b.WriteHTML(&page), b.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	figures, _, ok := strings.Cut(page.String(), "Holm’s method")
	if !ok {
		t.Error("the page does not say how p is corrected")
	}
	shown := []struct{ where, text, row string }{ // row finds the p of a system, once a task
		{"terminal", terminal.String(), `(?m)^.* SYSTEM .* (\S+) +\S+$`},
		{"page", figures, `<tr><td>SYSTEM</td>.*<td>([^<]*)</td><td>[^<]*</td></tr>`},
		{"Markdown", markdown.String(), `(?m)^\| SYSTEM \|.*\| ([^|]*) \|$`},
	}
	corrected := 0
	for _, system := range []string{"rlr", "bm25", "rrf", "hybrid"} {
		for i, task := range []string{"query", "part:6"} {
			c := compare.Find(rep.Results, system, task).VsDense
			if c.PHolm != c.P {
				corrected++
			}
			for _, s := range shown {
				rows := regexp.MustCompile(strings.Replace(s.row, "SYSTEM", system, 1)).FindAllStringSubmatch(s.text, -1)
				if len(rows) != 2 {
					t.Fatalf("%s: %d rows of %s, want 2", s.where, len(rows), system)
				}
				p, err := strconv.ParseFloat(strings.Trim(rows[i][1], " ≤†"), 64)
				if err != nil || math.Abs(p-c.PHolm) > .00005 {
					t.Errorf("%s: p of %s on %s is %q, want %.4f by Holm (%.4f alone)", s.where, system, task, rows[i][1], c.PHolm, c.P)
				}
			}
		}
	}
	if corrected < 4 {
		t.Errorf("only %d of 8 comparisons were corrected: the test shows nothing", corrected)
	}
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	want := bundle(t)
	dir := t.TempDir()
	var files []string
	write := func(name string, v any) {
		var b bytes.Buffer
		if err := bench.WriteJSON(&b, v); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("bench.json", want.Benches[0])
	write("curve.json", want.Curves[0])
	write("ann.json", want.ANN[0])
	write("soak.json", want.Soaks[0])
	write("small.json", want.Lives[0])
	write("large.json", want.Lives[1])
	got, err := Read(files...)
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := errors.Join(want.WriteHTML(&a), got.WriteHTML(&b)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("a page from files is not the page of the measurement")
	}
	for name, text := range map[string]string{"empty": "", "no object": "[1]", "other": `{"a":1}`, "broken": `{"results":`, "no results": `{"results":[]}`} {
		file := filepath.Join(dir, "bad")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); !errors.Is(err, compare.ErrReport) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCharts: every chart is a document by itself, with a name of its own.
func TestCharts(t *testing.T) {
	b := bundle(t)
	b.ANN = append(b.ANN,
		&ann.Report{N: 1000, Index: "small", Points: []ann.Point{{Recall: .97, CPU: 10}, {Recall: .99, CPU: 40}}},
		&ann.Report{N: 4000, Index: "small", Points: []ann.Point{{Recall: .99, CPU: 90}, {Recall: .97, CPU: 40}}})
	names := map[string]bool{}
	for _, c := range b.Charts() {
		if names[c.Name] || strings.ContainsAny(c.Name, "/: ") {
			t.Errorf("chart named %q", c.Name)
		}
		names[c.Name] = true
		var out bytes.Buffer
		if err := c.WriteSVG(&out); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(&out)
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
	}
	for _, want := range []string{"harbour-tasks-ndcg@1", "harbour-spans-ndcg@10", "harbour-queries-keyword", "recall-speed", "size-cost", "soak-space", "soak-searches"} {
		if !names[want] {
			t.Errorf("no chart %s among %v", want, names)
		}
	}
}

func TestCostIsReadBetweenPoints(t *testing.T) {
	us, ok := cpuAt([]ann.Point{{Recall: .99, CPU: 40}, {Recall: .97, CPU: 10}}, .98)
	if !ok || us < 19.99 || us > 20.01 {
		t.Errorf("%v, %v; want 20", us, ok)
	}
	if _, ok := cpuAt([]ann.Point{{Recall: .5, CPU: 1}, {Recall: .9, CPU: 2}}, .98); ok {
		t.Error("a recall that no point reaches has a cost")
	}
}
