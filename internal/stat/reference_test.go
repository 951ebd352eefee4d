package stat

import (
	"errors"
	"math"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/recorded"
)

// TestEqualsReference holds every statistic to what SciPy, scikit-learn and
// statsmodels said about 1,000 random samples (testdata/make_reference.py).
func TestEqualsReference(t *testing.T) {
	type reference struct {
		X, Y                         []float64
		Pearson, Spearman            float64
		Classes, Clusters            []int
		Homogeneity, Completeness, V float64
		P, Holm                      []float64
		Distances                    [][]float32
		K                            int
		Labels                       []int
	}
	all, err := recorded.Lines[reference]("testdata/reference.jsonl.gz")
	if err != nil || len(all) != 1000 {
		t.Fatalf("%d lines, want 1,000 (%v)", len(all), err)
	}
	for line, r := range all {
		same := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("line %d: %s is %v, want %v", line, what, got, want)
			}
		}
		p, err := Pearson(r.X, r.Y)
		if err != nil {
			t.Fatal(err)
		}
		same("Pearson", p, r.Pearson)
		s, err := Spearman(r.X, r.Y)
		if err != nil {
			t.Fatal(err)
		}
		same("Spearman", s, r.Spearman)
		h, c, v, err := VMeasure(r.Classes, r.Clusters)
		if err != nil {
			t.Fatal(err)
		}
		same("homogeneity", h, r.Homogeneity)
		same("completeness", c, r.Completeness)
		same("V", v, r.V)
		for i, q := range Holm(r.P) {
			same("Holm", q, r.Holm[i])
		}
		var d []float32
		for _, row := range r.Distances {
			d = append(d, row...)
		}
		labels, err := CompleteLinkage(d, len(r.Labels), r.K)
		if err != nil {
			t.Fatal(err)
		}
		_, _, agree, _ := VMeasure(r.Labels, labels)
		if math.Abs(agree-1) > 1e-9 {
			t.Errorf("line %d: clusters %v, scikit-learn has %v", line, labels, r.Labels)
		}
	}
}

// TestBootstrapCovers checks the promise of an interval: of 95 % ones over
// samples of a known mean, about 95 in 100 hold it.
func TestBootstrapCovers(t *testing.T) {
	held, rounds := 0, 400
	for r := range rounds {
		rng := newTestRand(uint64(r))
		x := make([]float64, 120)
		for i := range x {
			x[i] = rng.Float64()
		}
		iv, err := Bootstrap([][]float64{x, x}, 500, 9)
		if err != nil {
			t.Fatal(err)
		}
		if iv[0] != iv[1] {
			t.Fatalf("the same measure has the intervals %v and %v", iv[0], iv[1])
		}
		if iv[0].Low <= .5 && .5 <= iv[0].High {
			held++
		}
	}
	if share := float64(held) / float64(rounds); share < .91 || share > .985 {
		t.Errorf("%.3f of the intervals hold the true mean, want about .95", share)
	}
	again, _ := Bootstrap([][]float64{{0, 1, 1, 0, 1}}, 100, 3)
	once, _ := Bootstrap([][]float64{{0, 1, 1, 0, 1}}, 100, 3)
	if again[0] != once[0] {
		t.Error("one seed gives two intervals")
	}
}

func TestChoices(t *testing.T) {
	for _, c := range []struct {
		score, truth []float64
		want         Choice
	}{
		{[]float64{3, 2, 1}, []float64{5, 4, 0}, Choice{1, 1, 1, 1}},
		{[]float64{1, 2, 3}, []float64{5, 4, 0}, Choice{}},
		{[]float64{1, 2, 3}, []float64{0, 4, 5}, Choice{Accuracy: 1}}, // the later one each time
		{[]float64{1, 1}, []float64{5, 4}, Choice{}},
		{[]float64{1, 1}, []float64{4, 5}, Choice{Accuracy: 1}},
		{[]float64{1, 2, 0}, []float64{0, 4, 4}, Choice{Accuracy: .5}},
		// The earlier is better of (0,1), (0,3), (2,3), and chosen of (0,1), (0,2), (0,3), (1,2).
		{[]float64{3, 2, 1, 1}, []float64{2, 1, 3, 1}, Choice{2. / 5, 2. / 4, 2. / 3, 4. / 7}},
	} {
		got, err := Choices(c.score, c.truth)
		for _, d := range []float64{got.Accuracy - c.want.Accuracy, got.Precision - c.want.Precision, got.Recall - c.want.Recall, got.F1 - c.want.F1} {
			if err != nil || math.Abs(d) > 1e-12 {
				t.Errorf("%v against %v is %+v (%v), want %+v", c.score, c.truth, got, err, c.want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	nan := float32(math.NaN())
	for name, err := range map[string]error{
		"lengths":     second(Pearson([]float64{1, 2}, []float64{1})),
		"constant":    second(Pearson([]float64{1, 1}, []float64{1, 2})),
		"one pair":    second(Spearman([]float64{1}, []float64{1})),
		"no pair":     second(Choices([]float64{1, 2}, []float64{3, 3})),
		"uneven":      second(Choices([]float64{1}, nil)),
		"resamples":   second(Bootstrap([][]float64{{1}}, 1, 1)),
		"ragged":      second(Bootstrap([][]float64{{1, 2}, {1}}, 100, 1)),
		"clusters":    second(CompleteLinkage(nil, 1, 2)),
		"distances":   second(CompleteLinkage([]float32{1}, 3, 1)),
		"not numbers": second(CompleteLinkage([]float32{nan}, 2, 1)),
	} {
		if !errors.Is(err, ErrSample) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, _, err := VMeasure([]int{1}, nil); !errors.Is(err, ErrSample) {
		t.Errorf("labels: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
