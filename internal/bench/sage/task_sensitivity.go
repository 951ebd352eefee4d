package sage

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/parallel"
)

// runSensitivity tests whether similarity falls as 1 − p/(1+p) with the changed share p
// of a text (Sec. A.4). It computes 1 minus the mean absolute error, over insertions of
// filler text and over removals. The score is the mean of the two. The result also counts
// the texts that the model cuts, since a model does not see the text after the cut.
func runSensitivity(in input) ([]result, error) {
	docs, err := readPassages(filepath.Join(in.dir, "corpus.jsonl"))
	if err != nil {
		return nil, err
	}
	if in.uncut {
		cuts, err := in.cuts(docs)
		if err != nil {
			return nil, err
		}
		var whole []bench.Passage
		for i, c := range cuts {
			if !slices.Contains(c, true) {
				whole = append(whole, docs[i])
			}
		}
		if docs = whole; len(docs) == 0 {
			return nil, fmt.Errorf("%w: of every text the model cuts some version; go without uncut", errData)
		}
	}
	var drawn []bench.Passage
	for _, at := range sample(len(docs), in.limit, in.seed) {
		drawn = append(drawn, docs[at])
	}
	cuts, err := in.cuts(drawn)
	if err != nil {
		return nil, err
	}
	var texts []string
	var expected []float64 // of each version of a document
	for _, d := range drawn {
		s := d.Text()
		texts = append(texts, s)
		expected = expected[:0]
		for _, p := range insertion {
			for _, place := range places {
				texts, expected = append(texts, in.inserted(d, p, place)), append(expected, 1-p/(1+p))
			}
		}
		for _, p := range removal {
			for _, place := range places {
				texts, expected = append(texts, remove(s, p, place)), append(expected, 1-p/(1+p))
			}
		}
	}
	size, inserted := 1+len(expected), len(insertion)*len(places)
	return in.eachMeasure(texts, 0, func(_ similarity, s scorer, r *result) error {
		r.Items = len(texts) / size
		errors := make([][2]float64, r.Items)
		err := parallel.Each(in.ctx, r.Items, func(d int) error {
			scores := make([]float64, size)
			s.Against(span(d*size, size))(scores, d*size)
			for i, want := range expected {
				e := math.Abs(scores[1+i] - want)
				if i < inserted {
					errors[d][0] += e / float64(inserted)
				} else {
					errors[d][1] += e / float64(len(expected)-inserted)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		var sum [2]float64
		for _, e := range errors {
			sum[0], sum[1] = sum[0]+e[0], sum[1]+e[1]
		}
		insert, remove := 1-sum[0]/float64(r.Items), 1-sum[1]/float64(r.Items)
		r.Parts = map[string]float64{"insertion": insert, "removal": remove}
		r.Score = (insert + remove) / 2
		r.Cut = cutShares(cuts)
		return nil
	})
}

// inserted is a text with filler of share p of its tokens at a place.
func (in input) inserted(d bench.Passage, p, place float64) string {
	rng := newRand(in.seed, "insert\x00"+d.ID+strconv.FormatFloat(p+place*10, 'g', -1, 64))
	return insert(rng, d.Text(), p, place)
}
