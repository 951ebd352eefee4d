package stat

import (
	"fmt"
	"math"
)

// VMeasure compares a clustering with true classes (Rosenberg and Hirschberg 2007): homogeneity 1 −
// H(C|K)/H(C), completeness 1 − H(K|C)/H(K), and their harmonic mean V, all in [0, 1]. With one class
// homogeneity is 1. With one cluster completeness is 1.
func VMeasure(classes, clusters []int) (homogeneity, completeness, v float64, err error) {
	if len(classes) != len(clusters) || len(classes) == 0 {
		return 0, 0, 0, fmt.Errorf("%w: %d classes for %d clusters; give one of each an item", ErrSample, len(classes), len(clusters))
	}
	n := float64(len(classes))
	joint := map[[2]int]float64{}
	c, k := map[int]float64{}, map[int]float64{}
	for i := range classes {
		joint[[2]int{classes[i], clusters[i]}]++
		c[classes[i]]++
		k[clusters[i]]++
	}
	hc, hk := entropy(c, n), entropy(k, n)
	var ck, kc float64 // H(C|K), H(K|C)
	for at, m := range joint {
		ck -= m / n * math.Log(m/k[at[1]])
		kc -= m / n * math.Log(m/c[at[0]])
	}
	homogeneity, completeness = 1, 1
	if hc > 0 {
		homogeneity = max(0, 1-ck/hc)
	}
	if hk > 0 {
		completeness = max(0, 1-kc/hk)
	}
	if homogeneity+completeness > 0 {
		v = 2 * homogeneity * completeness / (homogeneity + completeness)
	}
	return homogeneity, completeness, v, nil
}

func entropy(counts map[int]float64, n float64) float64 {
	h := 0.0
	for _, m := range counts {
		h -= m / n * math.Log(m/n)
	}
	return h
}
