package sage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/stat"
)

// runClustering cuts the texts into as many clusters as there are classes, by complete
// linkage over 1 − similarity, and scores them by V-measure (Sec. A.5). If a measure
// depends on all candidates, the mean of both directions counts. Time and memory grow
// with the square of the texts: 7,600 take 116 MB.
func runClustering(in input) ([]result, error) {
	docs, err := readPassages(filepath.Join(in.dir, "corpus.jsonl"))
	if err != nil {
		return nil, err
	}
	labels, err := readLabels(filepath.Join(in.dir, "labels.tsv"))
	if err != nil {
		return nil, err
	}
	var texts []string
	var classes []int
	number := map[string]int{}
	for _, at := range sample(len(docs), in.limit, in.seed) {
		label, ok := labels[docs[at].ID]
		if !ok {
			return nil, fmt.Errorf("%w: text %q has no line in labels.tsv", errData, docs[at].ID)
		}
		if _, seen := number[label]; !seen {
			number[label] = len(number)
		}
		texts, classes = append(texts, docs[at].Text()), append(classes, number[label])
	}
	if len(number) < 2 {
		return nil, fmt.Errorf("%w: %d class; clusters need two or more", errData, len(number))
	}
	n := len(texts)
	return in.eachMeasure(texts, 0, func(m similarity, s scorer, r *result) error {
		distances, err := in.distances(s, n, m.Collection)
		if err != nil {
			return err
		}
		clusters, err := stat.CompleteLinkage(distances, n, len(number))
		if err != nil {
			return err
		}
		homogeneity, completeness, v, err := stat.VMeasure(classes, clusters)
		if err != nil {
			return err
		}
		r.Items, r.Score = n, v
		r.Parts = map[string]float64{"homogeneity": homogeneity, "completeness": completeness, "v": v}
		return nil
	})
}

// distances are 1 − similarity, d(i, j) for j < i at i(i−1)/2 + j.
func (in input) distances(s scorer, n int, collection bool) ([]float32, error) {
	out := make([]float32, n*(n-1)/2)
	if !collection {
		err := parallel.Each(in.ctx, n, func(i int) error {
			row := make([]float64, i)
			s.Against(span(0, i))(row, i)
			for j, v := range row {
				out[i*(i-1)/2+j] = float32(1 - v)
			}
			return nil
		})
		return out, err
	}
	against := s.Against(span(0, n))
	// Rows are halves of the mean: those above the diagonal are added second.
	for _, upper := range []bool{false, true} {
		err := parallel.Each(in.ctx, n, func(i int) error {
			row := make([]float64, n)
			against(row, i)
			if !upper {
				for j := range i {
					out[i*(i-1)/2+j] = float32(1 - row[j]/2)
				}
				return nil
			}
			for j := i + 1; j < n; j++ {
				out[j*(j-1)/2+i] -= float32(row[j] / 2)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readLabels reads labels.tsv: id and label, under an optional heading.
func readLabels(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	err = bench.EachLine(f, file, bench.ReadOptions{}, func(line int, b []byte) error {
		id, label, ok := strings.Cut(string(b), "\t")
		if !ok || id == "" || label == "" {
			return fmt.Errorf("%w: want id and label separated by a tab", bench.ErrBrokenLine)
		}
		if line == 1 && label == "label" {
			return nil
		}
		if _, twice := out[id]; twice {
			return fmt.Errorf("%w: text %q has a label earlier in the file", bench.ErrDuplicateID, id)
		}
		out[id] = label
		return nil
	})
	return out, err
}
