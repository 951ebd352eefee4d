package sage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/stat"
)

// pair is a line of pairs.jsonl: two texts with a human score.
type pair struct {
	Split string   `json:"split"`
	A     string   `json:"text1"`
	B     string   `json:"text2"`
	Score *float64 `json:"score"`
}

// readPairs reads the pairs of the split test, or all pairs if none has that split.
func readPairs(dir string) ([]pair, error) {
	name := filepath.Join(dir, "pairs.jsonl")
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all, test []pair
	err = bench.EachLine(f, name, bench.ReadOptions{}, func(_ int, b []byte) error {
		var p pair
		if err := json.Unmarshal(b, &p); err != nil || p.A == "" || p.B == "" || p.Score == nil {
			return fmt.Errorf("%w: want an object with text1, text2 and score (%v)", bench.ErrBrokenLine, err)
		}
		all = append(all, p)
		if p.Split == "test" {
			test = append(test, p)
		}
		return nil
	})
	if len(test) > 0 {
		return test, err
	}
	return all, err
}

// runPreference compares the similarity of two texts with its human score (Sec. A.2):
// Pearson's r as (r+1)/2, correlation, and the choice between every two pairs by
// accuracy, precision, recall and F1. The score is the mean of the correlation and of the
// mean of the four others, as in the paper's Tables 1 to 3. The order within two pairs is
// drawn. The paper has judgements of summaries; these are judgements of sentences.
func runPreference(in input) ([]result, error) {
	pairs, err := readPairs(in.dir)
	if err != nil {
		return nil, err
	}
	newRand(in.seed, "choices").Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	var texts []string
	var human []float64
	for _, p := range pairs {
		texts, human = append(texts, p.A, p.B), append(human, *p.Score)
	}
	return in.eachMeasure(texts, 0, func(m similarity, s scorer, r *result) error {
		scores := make([]float64, len(pairs))
		// The candidates of a collection are the second texts of all pairs.
		second := make([]int, len(pairs))
		for i := range second {
			second[i] = 2*i + 1
		}
		if m.Collection {
			against := s.Against(second)
			err := parallel.Each(in.ctx, len(pairs), func(i int) error {
				row := make([]float64, len(pairs))
				against(row, 2*i)
				scores[i] = row[i]
				return nil
			})
			if err != nil {
				return err
			}
		} else {
			for i := range pairs {
				s.Against(second[i:i+1])(scores[i:i+1], 2*i)
			}
		}
		pearson, err := stat.Pearson(scores, human)
		if err != nil {
			return fmt.Errorf("%w: %w", errData, err)
		}
		spearman, err := stat.Spearman(scores, human)
		if err != nil {
			return fmt.Errorf("%w: %w", errData, err)
		}
		choice, err := stat.Choices(scores, human)
		if err != nil {
			return fmt.Errorf("%w: %w", errData, err)
		}
		r.Items = len(pairs)
		r.Parts = map[string]float64{
			"pearson": pearson, "spearman": spearman, "correlation": (pearson + 1) / 2,
			"accuracy": choice.Accuracy, "precision": choice.Precision, "recall": choice.Recall, "f1": choice.F1,
		}
		r.Score = ((pearson+1)/2 + (choice.Accuracy+choice.Precision+choice.Recall+choice.F1)/4) / 2
		return nil
	})
}

// eachMeasure prepares each measure on texts and lets fn fill its result. The first
// texts, as many as queries says, are queries.
func (in input) eachMeasure(texts []string, queries int, fn func(similarity, scorer, *result) error) ([]result, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("%w: no text to compare", errData)
	}
	var out []result
	for _, m := range in.measure {
		in.report(bench.Progress{Stage: m.Name, Done: 0, Total: 1})
		s, err := m.Prepare(in.ctx, env{Encoder: in.enc, Queries: queries, Report: in.report}, texts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		r := result{Similarity: m.Name}
		if err := fn(m, s, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		out = append(out, r)
		in.report(bench.Progress{Stage: m.Name, Done: 1, Total: 1})
	}
	return out, nil
}
