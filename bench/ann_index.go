package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/index"
)

// annKind makes an index that RunANN can measure.
type annKind struct {
	exact bool // has no candidate pool
	make  func(dim int, o ANNOptions) (index.Index, error)
}

// annBaselines are indexes of others, for comparison only. Add one by a file
// that registers it.
var annBaselines = map[string]annKind{}

func registerBaseline(name string, k annKind) string {
	annBaselines[name] = k
	return name
}

// ANNIndexes lists the indexes that RunANN can measure: index.Kinds and the baselines.
func ANNIndexes() []string {
	names := index.Kinds()
	for name := range annBaselines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func findANN(name string) (annKind, error) {
	if k, ok := annBaselines[name]; ok {
		return k, nil
	}
	if !slices.Contains(index.Kinds(), name) {
		return annKind{}, fmt.Errorf("%w: index %q; known are %s", ErrUnknownName, name, strings.Join(ANNIndexes(), ", "))
	}
	return annKind{
		exact: strings.HasPrefix(name, index.KindFlat),
		make: func(dim int, o ANNOptions) (index.Index, error) {
			x, err := index.New(name, o.options(dim))
			if errors.Is(err, index.ErrOptions) {
				err = fmt.Errorf("%w: %w", ErrOption, err)
			}
			return x, err
		},
	}, nil
}

// options are those of an index of this package.
func (o ANNOptions) options(dim int) index.Options {
	return index.Options{Dim: dim, M: o.M, EfConstruction: o.EfConstruction, Seed: o.Seed, Workers: o.Threads}
}

// panicError says that the library under measurement panicked.
type panicError struct {
	count int // calls that panicked
	first any
}

func (e *panicError) Error() string {
	return fmt.Sprintf("the index panicked in %d calls, first with: %v", e.count, e.first)
}

// distance is 1 − cosine of two unit vectors, summed in float64.
func distance(a, b []float32) float32 {
	var s float64
	for i, x := range a {
		s += float64(x) * float64(b[i])
	}
	return float32(1 - s)
}

// normalize scales a to unit length and reports whether it has a direction.
func normalize(a []float32) bool {
	var s float64
	for _, x := range a {
		s += float64(x) * float64(x)
	}
	if s == 0 {
		return false
	}
	f := 1 / math.Sqrt(s)
	for i, x := range a {
		a[i] = float32(float64(x) * f)
	}
	return true
}
