package stat

import "fmt"

// Choice says how well scores choose the better of two items. Choosing the earlier item of a pair is
// the positive answer. Precision is the share of right answers among choices of the earlier item.
// Recall is the share chosen among earlier items that are better. F1 is their harmonic mean. A measure
// is 0 if its denominator is 0.
type Choice struct{ Accuracy, Precision, Recall, F1 float64 }

// Choices scores all pairs of items with different truth. The earlier item is chosen if its score is
// higher, else the later one, also for equal scores. Cost O(n²).
func Choices(score, truth []float64) (Choice, error) {
	if len(score) != len(truth) {
		return Choice{}, fmt.Errorf("%w: %d scores for %d judgements", ErrSample, len(score), len(truth))
	}
	var right, chosen, better, both, pairs float64
	for later := range truth {
		for earlier := range later {
			if truth[earlier] == truth[later] {
				continue
			}
			choice, is := score[earlier] > score[later], truth[earlier] > truth[later]
			pairs++
			if choice == is {
				right++
			}
			if choice {
				chosen++
			}
			if is {
				better++
			}
			if choice && is {
				both++
			}
		}
	}
	if pairs == 0 {
		return Choice{}, fmt.Errorf("%w: no two items differ in what is judged", ErrSample)
	}
	return Choice{right / pairs, both / max(chosen, 1), both / max(better, 1), 2 * both / max(chosen+better, 1)}, nil
}
