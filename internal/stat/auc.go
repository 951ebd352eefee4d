package stat

import "fmt"

// AUC is the area under the ROC curve: the probability that a positive item scores higher than a
// negative one. Equal scores count half. 0.5 is chance. Cost O(n·m).
func AUC(positive, negative []float64) (float64, error) {
	if len(positive) == 0 || len(negative) == 0 {
		return 0, fmt.Errorf("%w: %d positive items, %d negative ones", ErrSample, len(positive), len(negative))
	}
	higher := 0.0
	for _, p := range positive {
		for _, n := range negative {
			switch {
			case p > n:
				higher++
			case p == n:
				higher += .5
			}
		}
	}
	return higher / float64(len(positive)) / float64(len(negative)), nil
}
