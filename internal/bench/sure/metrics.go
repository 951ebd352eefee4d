package sure

import "math"

// rdcTerm is one query's term of ranking deviation consistency (Eq. 7): 1 − |σ_M − σ_G| / max(σ_M, σ_G).
// σ_M and σ_G are the standard deviations of the ranks of a query's versions by the system and by the
// reference. It is in [0, 1], and 1 if both are 0.
func rdcTerm(ranks, reference []float64) float64 {
	m, g := deviation(ranks), deviation(reference)
	if m == g {
		return 1
	}
	return 1 - math.Abs(m-g)/max(m, g)
}

// rocTerm is one query's term of ranking order consistency (Eq. 8, 9): the share of pairs of versions in
// the same order in both rankings, in [0, 1]. A tie agrees only with a tie. With fewer than two
// versions it is 1.
func rocTerm(ranks, reference []float64) float64 {
	same, pairs := 0, 0
	for i := range ranks {
		for j := range i {
			pairs++
			if sign(ranks[i]-ranks[j]) == sign(reference[i]-reference[j]) {
				same++
			}
		}
	}
	if pairs == 0 {
		return 1
	}
	return float64(same) / float64(pairs)
}

// gap is the mean distance between two ranks.
func gap(ranks []float64) float64 {
	sum, pairs := 0.0, 0
	for i := range ranks {
		for j := range i {
			sum += math.Abs(ranks[i] - ranks[j])
			pairs++
		}
	}
	if pairs == 0 {
		return 0
	}
	return sum / float64(pairs)
}

// deviation is the standard deviation of x over its length.
func deviation(x []float64) float64 {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(x)))
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
