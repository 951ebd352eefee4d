// Command bleve compares this project's inverted index with bleve: the same passages, the
// same queries, one process. Both answer each query in turn, in changing order. It is a
// separate module, so bleve is no dependency of the product.
//
//	cd bench/peers/bleve && go run . --data DIR[,DIR…] [--queries 1000] [--rounds 3]
//
// DIR is a corpus in the BEIR layout. Both analyse English with stop words and Snowball
// stems (bleve's analyzer "en"); a query is the union of its words in both (bleve's match
// query); both return ten ids. bleve is asked twice: with its TF-IDF, its default, and
// with BM25. Sizes are those on disk: bleve's index folder with only the ids stored, and
// our snapshot file.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// row holds the measurements of one index.
type row struct {
	Name         string  `json:"name"`
	BuildSeconds float64 `json:"build_seconds"`
	DiskBytes    int64   `json:"disk_bytes"`
	DiskShare    float64 `json:"disk_share_of_text"`
	P50          float64 `json:"p50_us"`
	P99          float64 `json:"p99_us"`
	FirstIsOurs  float64 `json:"first_hit_agrees"` // share of queries whose first hit is the one of our BM25
}

func main() {
	data := flag.String("data", "", "folder in the BEIR layout, or several separated by commas")
	n := flag.Int("queries", 1000, "queries, half of them copied spans of nine words, half keywords")
	rounds := flag.Int("rounds", 3, "times every query is asked; the fastest counts")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if err := run(*data, *n, *rounds, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "bleve peer:", err)
		os.Exit(1)
	}
}

// peer answers queries.
type peer struct {
	row
	search func(query string) (first int, err error)
	took   []time.Duration // the fastest of each query
	first  []int
}

func run(data string, n, rounds int, asJSON bool) error {
	if data == "" || n < 2 || rounds < 1 {
		return fmt.Errorf("give --data DIR, --queries from 2 and --rounds from 1")
	}
	c, err := bench.ReadCorpora(data, bench.ReadOptions{})
	if err != nil {
		return err
	}
	targets := bench.NewTargets(c.Passages)
	var bytes int64
	for _, t := range targets.Texts {
		bytes += int64(len(t))
	}
	in := bench.TaskInput{Corpus: c, Targets: targets, Seed: 1, Limit: n / 2}
	var queries []string
	for _, name := range []string{"part:9", "keyword"} {
		task, err := bench.MakeTask(name, in)
		if err != nil {
			return err
		}
		for _, q := range task.Queries {
			queries = append(queries, q.Text)
		}
	}
	tmp, err := os.MkdirTemp("", "lexsem-bleve-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ours, err := lexsem(tmp, targets.Texts)
	if err != nil {
		return err
	}
	peers := []*peer{ours}
	for _, model := range []string{index.TFIDFScoring, index.BM25Scoring} {
		p, done, err := other(filepath.Join(tmp, model), model, targets.Texts)
		if err != nil {
			return fmt.Errorf("bleve with %s: %w", model, err)
		}
		defer done()
		peers = append(peers, p)
	}
	if err := ask(peers, queries, rounds); err != nil {
		return err
	}
	rows := make([]row, len(peers))
	for i, p := range peers {
		p.DiskShare = float64(p.DiskBytes) / float64(bytes)
		slices.Sort(p.took)
		p.P50 = micros(p.took[len(p.took)/2])
		p.P99 = micros(p.took[len(p.took)*99/100])
		rows[i] = p.row
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{
			"passages": targets.Len(), "text_bytes": bytes, "queries": len(queries), "rounds": rounds, "cpus": runtime.NumCPU(), "rows": rows})
	}
	fmt.Printf("%d passages, %.1f MB of text, %d queries, fastest of %d\n\n", targets.Len(), float64(bytes)/1e6, len(queries), rounds)
	fmt.Printf("%-16s %9s %10s %9s %9s %9s %12s\n", "", "build s", "disk MB", "of text", "p50 µs", "p99 µs", "first as ours")
	for _, r := range rows {
		fmt.Printf("%-16s %9.1f %10.1f %8.0f%% %9.0f %9.0f %11.1f%%\n", r.Name, r.BuildSeconds, float64(r.DiskBytes)/1e6, 100*r.DiskShare, r.P50, r.P99, 100*r.FirstIsOurs)
	}
	return nil
}

// ask lets every peer answer every query, in an order drawn for each query, so no peer
// always finds warm caches.
func ask(peers []*peer, queries []string, rounds int) error {
	for _, p := range peers {
		p.took, p.first = make([]time.Duration, len(queries)), make([]int, len(queries))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		for i, q := range queries {
			for _, k := range rng.Perm(len(peers)) {
				p := peers[k]
				began := time.Now()
				first, err := p.search(q)
				took := time.Since(began)
				if err != nil {
					return fmt.Errorf("%s: %q: %w", p.Name, q, err)
				}
				p.first[i] = first
				if round == 0 || took < p.took[i] {
					p.took[i] = took
				}
			}
		}
	}
	for _, p := range peers {
		same := 0
		for i, f := range p.first {
			if f == peers[0].first[i] {
				same++
			}
		}
		p.FirstIsOurs = float64(same) / float64(len(queries))
	}
	return nil
}

// lexsem is this project's index.
func lexsem(dir string, texts []string) (*peer, error) {
	began := time.Now()
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		return nil, err
	}
	x, err := inverted.NewWords(inverted.Options{Analysis: a.Digest()})
	if err != nil {
		return nil, err
	}
	e := x.Edit()
	var terms []text.Term
	for i, t := range texts {
		terms = a.Terms(terms[:0], t)
		if err := e.Add(uint64(i), terms); err != nil {
			return nil, err
		}
	}
	x = e.Done()
	path := filepath.Join(dir, "words.snap")
	if err := snapshot.Write(path, snapshot.Header{Kind: "words"}, x.Save); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	p := &peer{row: row{Name: "lexsem BM25", BuildSeconds: time.Since(began).Seconds(), DiskBytes: info.Size()}}
	var hits []inverted.Scored
	p.search = func(query string) (int, error) {
		var err error
		if hits, err = x.Search(context.Background(), hits[:0], a.Asked(terms[:0], query), 10, nil); err != nil || len(hits) == 0 {
			return -1, err
		}
		return int(hits[0].ID), nil
	}
	return p, nil
}

// other is bleve with one of its scoring models.
func other(dir, model string, texts []string) (*peer, func(), error) {
	field := bleve.NewTextFieldMapping()
	field.Analyzer, field.Store, field.IncludeTermVectors, field.IncludeInAll, field.DocValues = en.AnalyzerName, false, false, false, false
	doc := mapping.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", field)
	m := bleve.NewIndexMapping()
	m.DefaultMapping, m.ScoringModel = doc, model
	began := time.Now()
	ix, err := bleve.New(dir, m)
	if err != nil {
		return nil, nil, err
	}
	const batch = 1000
	b := ix.NewBatch()
	for i, t := range texts {
		if err := b.Index(fmt.Sprint(i), map[string]string{"text": t}); err != nil {
			return nil, nil, err
		}
		if b.Size() == batch || i == len(texts)-1 {
			if err := ix.Batch(b); err != nil {
				return nil, nil, err
			}
			b.Reset()
		}
	}
	p := &peer{row: row{Name: "bleve " + strings.ToUpper(model), BuildSeconds: time.Since(began).Seconds()}}
	if err := settle(dir, &p.DiskBytes); err != nil {
		return nil, nil, err
	}
	p.search = func(query string) (int, error) {
		q := bleve.NewMatchQuery(query)
		q.SetField("text")
		res, err := ix.SearchInContext(context.Background(), bleve.NewSearchRequestOptions(q, 10, 0, false))
		if err != nil || len(res.Hits) == 0 {
			return -1, err
		}
		var first int
		_, err = fmt.Sscan(res.Hits[0].ID, &first)
		return first, err
	}
	return p, func() { ix.Close() }, nil
}

// settle waits until bleve's background merging ends, for at most a minute, and returns
// the size of its folder.
func settle(dir string, size *int64) error {
	for last, still := int64(-1), 0; still < 4; time.Sleep(500 * time.Millisecond) {
		*size = 0
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // a segment may go away while it is looked at
			}
			if info, err := d.Info(); err == nil {
				*size += info.Size()
			}
			return nil
		})
		if err != nil {
			return err
		}
		if still++; *size != last {
			still = 0
		}
		last = *size
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
