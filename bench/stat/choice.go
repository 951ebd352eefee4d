package stat

import "fmt"

// Choice is how well scores choose the better of two items. An item that stands
// before the other is the positive answer: Precision is the share of right ones
// among the choices of the earlier item, Recall the share of the earlier items
// that are better and were chosen, F1 their harmonic mean. Each is 0 where
// nothing is to be divided by.
type Choice struct{ Accuracy, Precision, Recall, F1 float64 }

// Choices asks every two items of different truth which is the better. The
// earlier one is chosen where its score is higher, else the later one, at equal
// scores too. Cost O(n²).
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
