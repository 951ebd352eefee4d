package ann

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/index"
)

// indexKind makes an index that Run can measure.
type indexKind struct {
	exact bool // has no candidate pool
	make  func(dim int, o Options) (measured, error)
}

// measured is what Run needs of an index.
type measured interface {
	Add(ids []uint64, vectors []float32) error
	Delete(ids []uint64) int
	Search(dst []index.Neighbor, q []float32, o index.SearchOptions) ([]index.Neighbor, error)
	Scores(dst []float32, q []float32, ids []uint64) error
	Len() int
}

// baselines are indexes of other libraries, for comparison only. To add one, write a file
// that registers it.
var baselines = map[string]indexKind{}

func registerBaseline(name string, k indexKind) string {
	baselines[name] = k
	return name
}

// Indexes lists the indexes that Run can measure: index.Kinds and the baselines.
func Indexes() []string {
	names := index.Kinds()
	for name := range baselines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func findIndex(name string) (indexKind, error) {
	if k, ok := baselines[name]; ok {
		return k, nil
	}
	if !slices.Contains(index.Kinds(), name) {
		return indexKind{}, fmt.Errorf("%w: index %q; known are %s", bench.ErrUnknownName, name, strings.Join(Indexes(), ", "))
	}
	return indexKind{
		exact: strings.HasPrefix(name, index.KindFlat),
		make:  func(dim int, o Options) (measured, error) { return newIndex(name, dim, o) },
	}, nil
}

// newIndex makes an index of one of index.Kinds.
func newIndex(kind string, dim int, o Options) (index.Index, error) {
	x, err := index.New(kind, o.options(dim))
	if errors.Is(err, index.ErrOptions) {
		err = fmt.Errorf("%w: %w", bench.ErrOption, err)
	}
	return x, err
}

// options returns the options of an index of this package.
func (o Options) options(dim int) index.Options {
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
