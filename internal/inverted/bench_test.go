package inverted_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

// questions are queries of the length that questions have: nine words in a row
// of a passage, function words included.
func questions(passages []record, n int) []string {
	r := rand.New(rand.NewPCG(7, 9))
	var out []string
	for len(out) < n {
		s := passages[r.IntN(len(passages))].text()
		words := text.Words(nil, s)
		if len(words) < 9 {
			continue
		}
		i := r.IntN(len(words) - 8)
		out = append(out, s[words[i].Start:words[i+8].End])
	}
	return out
}

// corpus100k is 100,000 passages of the scale set: all, and then its first
// ones again.
func corpus100k(b *testing.B) []record {
	p := readRecords(b, filepath.Join(dataDir(b, "scale-mix"), "corpus.jsonl"))
	for i := 0; len(p) < 100_000; i++ {
		p = append(p, p[i])
	}
	return p[:100_000]
}

// BenchmarkSearch measures top-10 searches over 100,000 passages, in memory and
// on a snapshot, and reports the median and the 99th percentile, and sizes in
// percent of the texts: of the snapshot, and of what is held in memory.
func BenchmarkSearch(b *testing.B) {
	passages, a := corpus100k(b), analyzer(b)
	o := inverted.Options{Analysis: a.Digest()}
	start := time.Now()
	x, bytesOfText := build(b, a, passages)
	built := time.Since(start)
	path := filepath.Join(b.TempDir(), "words")
	start = time.Now()
	if err := snapshot.Write(path, snapshot.Header{Kind: "words"}, x.Save); err != nil {
		b.Fatal(err)
	}
	wrote := time.Since(start)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	start = time.Now()
	f, err := snapshot.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	opened, err := inverted.OpenWords(o, f)
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	var queries [][]text.Term
	for _, q := range questions(passages, 2000) {
		queries = append(queries, a.Terms(nil, q))
	}
	for _, c := range []struct {
		name string
		x    *inverted.Words
	}{{"memory", x}, {"snapshot", opened}} {
		b.Run(c.name, func(b *testing.B) {
			var dst []inverted.Scored
			var took []time.Duration
			for b.Loop() {
				q := queries[len(took)%len(queries)]
				start := time.Now()
				var err error
				if dst, err = c.x.Search(b.Context(), dst[:0], q, 10, nil); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
			b.ReportMetric(100*float64(c.x.Bytes())/float64(bytesOfText), "bytes-%")
		})
	}
	b.Logf("built in %v, written in %v, opened in %v; snapshot %.1f %% of the texts", built, wrote, took, 100*float64(info.Size())/float64(bytesOfText))
}

// BenchmarkEdit measures edits of one passage of some 120 words, and of 5,000,
// on an index of 100,000 in memory and on a snapshot, by documents.
func BenchmarkEdit(b *testing.B) {
	passages, a := corpus100k(b), analyzer(b)
	o := inverted.Options{Analysis: a.Digest()}
	x, _ := build(b, a, passages)
	words := passages[0].text()
	for i := 1; len(text.Words(nil, words)) < 120; i++ {
		words += " " + passages[i].text()
	}
	one := a.Terms(nil, words)
	var many [][]text.Term
	for _, p := range passages[:5000] {
		many = append(many, a.Terms(nil, p.text()))
	}
	for _, c := range []struct {
		name string
		x    *inverted.Words
	}{{"memory", x}, {"snapshot", reopened(b, o, x)}} {
		b.Run(c.name+"/one", func(b *testing.B) {
			x, id := c.x, uint64(1<<20)
			for b.Loop() {
				e := x.Edit()
				if err := e.Add(id, one); err != nil {
					b.Fatal(err)
				}
				x, id = e.Done(), id+1
			}
		})
		b.Run(c.name+"/5000", func(b *testing.B) {
			for b.Loop() {
				e := c.x.Edit()
				for i, d := range many {
					if err := e.Add(uint64(1<<20+i), d); err != nil {
						b.Fatal(err)
					}
				}
				e.Done()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/5000, "µs/document")
		})
		b.Run(c.name+"/remove", func(b *testing.B) {
			x, id := c.x, uint64(1)
			for b.Loop() {
				e := x.Edit()
				if _, err := e.Remove([]uint64{id}); err != nil {
					b.Fatal(err)
				}
				x, id = e.Done(), id+1
			}
		})
	}
}

// BenchmarkTerms measures the analysis of the scale set's passages.
func BenchmarkTerms(b *testing.B) {
	passages, a := corpus100k(b), analyzer(b)
	var terms []text.Term
	n, i := 0, 0
	for b.Loop() {
		terms = a.Terms(terms[:0], passages[i%len(passages)].text())
		n += len(terms)
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/term")
}

// BenchmarkFolds folds 7,000 sets of 119 word pairs that differ from one by up to
// sixteen: three quarters are near one that came before, the others nearly.
func BenchmarkFolds(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]uint64, 120)
	for i := range words {
		words[i] = r.Uint64N(50_000)
	}
	sets := make([][]uint64, 7000)
	for i := range sets {
		own := slices.Clone(words)
		for range r.IntN(9) {
			own[r.IntN(len(own))] = r.Uint64N(50_000)
		}
		for j := 1; j < len(own); j++ {
			sets[i] = append(sets[i], own[j-1]<<32|own[j])
		}
		slices.Sort(sets[i])
		sets[i] = slices.Compact(sets[i])
	}
	for b.Loop() {
		f := inverted.NewFolds(.8)
		for _, s := range sets {
			if _, ok := f.Find(s); !ok {
				f.Add(s)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(sets)), "ns/set")
}
