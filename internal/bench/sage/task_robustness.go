package sage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/bench"
)

// runRobustness tests whether surface changes of a document leave it nearer than its
// summary, and changes of meaning leave it farther (Sec. A.3). It reports three shares of
// documents: those whose summary is nearer than every semantic change, those whose
// superficial changes are all nearer than the summary, and those whose superficial
// changes are all nearer than the semantic ones. The score is the mean of the three and
// of the share of documents that meet all three, as in Sec. 2.2. Documents of one
// sentence, which cannot be shuffled, are left out.
func runRobustness(in input) ([]result, error) {
	docs, err := readPassages(filepath.Join(in.dir, "corpus.jsonl"))
	if err != nil {
		return nil, err
	}
	summaries := map[string]string{}
	err = eachPassage(filepath.Join(in.dir, "variants", "summaries.jsonl"), func(p bench.Passage) error {
		if _, twice := summaries[p.ID]; !twice {
			summaries[p.ID] = p.Text()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(p bench.Passage) bool { return summaries[p.ID] == "" || len(sentences(p.Text())) < 2 })
	if len(docs) == 0 {
		return nil, fmt.Errorf("%w: no document of two sentences has a summary", errData)
	}
	// A group is a document, its superficial and semantic changes, its summary.
	size := 2 + len(superficial) + len(semantic)
	var texts []string
	for _, at := range sample(len(docs), in.limit, in.seed) {
		s := docs[at].Text()
		texts = append(texts, s)
		for _, c := range append(slices.Clone(superficial), semantic...) {
			texts = append(texts, c.apply(newRand(in.seed, c.name+"\x00"+docs[at].ID), s))
		}
		texts = append(texts, summaries[docs[at].ID])
	}
	return in.eachMeasure(texts, 0, func(_ similarity, s scorer, r *result) error {
		r.Items = len(texts) / size
		var summaryOverSemantic, superficialOverSummary, superficialOverSemantic, together float64
		scores := make([]float64, size)
		for from := 0; from < len(texts); from += size {
			s.Against(span(from, size))(scores, from)
			surface, meaning, summary := scores[1:1+len(superficial)], scores[1+len(superficial):size-1], scores[size-1]
			if summary > slices.Max(meaning) {
				summaryOverSemantic++
			}
			if slices.Min(surface) > summary {
				superficialOverSummary++
			}
			if slices.Min(surface) > slices.Max(meaning) {
				superficialOverSemantic++
			}
			if slices.Min(surface) > summary && summary > slices.Max(meaning) {
				together++
			}
		}
		n := float64(r.Items)
		r.Parts = map[string]float64{"summary_over_semantic": summaryOverSemantic / n, "superficial_over_summary": superficialOverSummary / n, "superficial_over_semantic": superficialOverSemantic / n, "together": together / n}
		r.Score = (summaryOverSemantic + superficialOverSummary + superficialOverSemantic) / (3 * n)
		return nil
	})
}

// span returns n positions: from, from+1, …
func span(from, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = from + i
	}
	return out
}

func readPassages(file string) ([]bench.Passage, error) {
	var out []bench.Passage
	err := eachPassage(file, func(p bench.Passage) error {
		if p.Text() != "" {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

func eachPassage(file string, fn func(bench.Passage) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return bench.EachPassage(f, file, bench.ReadOptions{}, fn)
}
