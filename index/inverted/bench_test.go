package inverted_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lexsem/lexsem/index/inverted"
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

// BenchmarkSearch measures top-10 searches over 100,000 passages and reports
// the median and the 99th percentile, and sizes in percent of the texts: of the
// snapshot, and of what is held in memory.
func BenchmarkSearch(b *testing.B) {
	passages, a := corpus100k(b), analyzer(b)
	start := time.Now()
	x, bytesOfText := build(b, a, passages)
	built := time.Since(start)
	var snap bytes.Buffer
	if _, err := x.WriteTo(&snap); err != nil {
		b.Fatal(err)
	}
	start = time.Now()
	if _, err := inverted.LoadWords(inverted.Options{Analysis: a.Digest()}, snap.Bytes()); err != nil {
		b.Fatal(err)
	}
	loaded := time.Since(start)
	var queries [][]text.Term
	for _, q := range questions(passages, 2000) {
		queries = append(queries, a.Terms(nil, q))
	}
	var dst []inverted.Scored
	var took []time.Duration
	for b.Loop() {
		q := queries[len(took)%len(queries)]
		start := time.Now()
		var err error
		if dst, err = x.Search(dst[:0], q, 10, nil); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(100*float64(snap.Len())/float64(bytesOfText), "snapshot-%")
	b.ReportMetric(100*float64(x.Bytes())/float64(bytesOfText), "memory-%")
	b.ReportMetric(built.Seconds(), "build-s")
	b.ReportMetric(loaded.Seconds(), "load-s")
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
