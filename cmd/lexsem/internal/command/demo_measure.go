package command

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// leftOut are packages about the internals of object files, compilers and kernels: few
// readers ask about them, and their one-line comments are alike.
var leftOut = []string{"debug/", "syscall", "go/constant", "regexp/syntax", "text/template/parse", "plugin"}

// chooseDocs leaves out packages of little general interest and reduces the rest to n
// passages, drawn by a hash of their ids.
func chooseDocs(docs []engine.Document, n int) []engine.Document {
	kept := slices.DeleteFunc(slices.Clone(docs), func(d engine.Document) bool {
		return slices.ContainsFunc(leftOut, func(p string) bool {
			path := importPathOf(d.ID)
			return path == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
		})
	})
	if len(kept) <= n {
		return kept
	}
	hash := func(id string) uint64 {
		h := fnv.New64a()
		h.Write([]byte(id))
		return h.Sum64()
	}
	hashes := make([]uint64, len(kept))
	for i, d := range kept {
		hashes[i] = hash(d.ID)
	}
	slices.Sort(hashes)
	return slices.DeleteFunc(kept, func(d engine.Document) bool { return hash(d.ID) > hashes[n-1] })
}

// measure runs the demo's probes: queries made from passages drawn with a seed
// of their own, answered by each variant.
func (b *demoBuilder) measure(ctx context.Context, docs []engine.Document, p *progress) ([]demoRow, error) {
	corpus := &bench.Corpus{Name: "the Go documentation"}
	for _, d := range docs {
		corpus.Passages = append(corpus.Passages, bench.Passage{ID: d.ID, Title: d.Title, Body: d.Text})
	}
	in := bench.TaskInput{Corpus: corpus, Targets: bench.NewTargets(corpus.Passages), Seed: demoSeed, Limit: demoProbes}
	var rows []demoRow
	for _, name := range []string{"keyword", "part:16"} {
		task, err := bench.MakeTask(name, in)
		if err != nil {
			return nil, err
		}
		row, err := b.probe(ctx, task, p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (b *demoBuilder) probe(ctx context.Context, task *bench.Task, p *progress) (demoRow, error) {
	row := demoRow{Task: task.Name, Queries: len(task.Queries), NDCG1: map[string]float64{}}
	texts := make([]string, len(task.Queries))
	for i, q := range task.Queries {
		texts[i] = q.Text
	}
	encoded, err := b.db.encoder().Encode(ctx, encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		return row, fmt.Errorf("encoding the probe %s: %w", task.Name, err)
	}
	metric, err := bench.ParseMetric("ndcg@1")
	if err != nil {
		return row, err
	}
	for v, way := range demoWays {
		rankings := bench.Rankings{}
		for i, q := range task.Queries {
			res, err := b.db.Search(ctx, engine.Query{Text: q.Text, Vector: encoded[i].Dense, K: 1, Mode: way.mode, Variant: way.variant})
			if err != nil {
				return row, fmt.Errorf("probe %s: %w", task.Name, err)
			}
			for _, h := range res.Hits {
				rankings[q.ID] = append(rankings[q.ID], bench.Ranked{ID: h.ID, Score: float64(h.Score)})
			}
			p.update(step{stage: "measuring " + task.Name, done: v*len(texts) + i + 1, total: len(demoWays) * len(texts), unit: "searches"})
		}
		scores, err := bench.Evaluate(task.Qrels, rankings, []bench.Metric{metric})
		if err != nil {
			return row, err
		}
		row.NDCG1[way.name] = scores.Mean[metric.Name]
	}
	return row, nil
}

// demoQuery is one query of the demo and, if known, its relevant passage.
type demoQuery struct {
	Kind   string              `json:"kind"`
	Query  string              `json:"query"`
	Target string              `json:"target,omitempty"`
	Thread string              `json:"thread,omitempty"` // of an asked one, where somebody asked it
	Right  []string            `json:"right,omitempty"`  // of an asked one, the entries that answer it
	Hits   map[string][]string `json:"hits"`             // ids by the way to search
	Best   []string            `json:"-"`                // lines about the best hit of the user's own query
}

// builtinQueries are used if the user gives no query. Their targets are the passages that
// a reader of the documentation would look for.
var builtinQueries = []demoQuery{
	{Kind: "question", Query: "how to wait for several goroutines to finish", Target: "sync.WaitGroup"},
	{Kind: "keywords", Query: "least significant bit trailing zero", Target: "math/bits.TrailingZeros"},
	{Kind: "part", Query: "minimizes memory copying. The zero value is ready to use", Target: "strings.Builder"},
}

// search runs the demo's queries, or the user's own.
func (o demoOptions) search(ctx context.Context, db *database) ([]demoQuery, error) {
	if err := db.Flush(ctx); err != nil { // local bridges are part of what is shown
		return nil, err
	}
	queries := slices.Clone(builtinQueries)
	for _, q := range askedQueries {
		q.Kind = asked
		queries = append(queries, q)
	}
	if *o.query != "" {
		queries = []demoQuery{{Kind: "query", Query: *o.query}}
	}
	for i := range queries {
		q := &queries[i]
		q.Hits = map[string][]string{}
		for _, way := range demoWays {
			res, err := db.Search(ctx, engine.Query{Text: q.Query, K: 3, Mode: way.mode, Variant: way.variant, Spans: *o.query != ""})
			if err != nil {
				return nil, err
			}
			ids := []string{}
			for _, h := range res.Hits {
				ids = append(ids, h.ID)
			}
			q.Hits[way.name] = ids
			if *o.query != "" && len(res.Hits) > 0 {
				best := res.Hits[0]
				q.Best = append([]string{best.Title}, snippet(best, demoWidth-4, 3)...)
			}
		}
	}
	return queries, nil
}
