package index

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// maxLen is the greatest number of vectors in one index.
const maxLen = 1<<31 - 1

// Options shape an index. Zero values of all fields except Dim mean the defaults.
type Options struct {
	// Dim is the length of the vectors, 1 to 65,536. Required.
	Dim int
	// Metric is one of Metrics; "" means "cosine".
	Metric string
	// M is the number of links that an hnsw node makes on each layer, 2 to 512; up to twice as many on
	// layer 0. 0 means 16; 20 for hnsw-fast; 12 for hnsw-compact.
	M int
	// EfConstruction is the size of the candidate pool when an hnsw node is linked, M to 65,536. 0
	// means 200, or 600 for hnsw-fast (or M if that is more).
	EfConstruction int
	// Ef is the size of the candidate pool for hnsw searches that do not set one, 1 to 65,536; 0 means
	// 64.
	Ef int
	// Seed decides the layers of hnsw nodes. Equal seeds, options and calls give equal graphs, for any
	// number of Workers.
	Seed uint64
	// Tail is the capacity of the unlinked buffer of an hnsw index, 0 to maxLen. Add then costs about
	// as much as in a flat index; searches compare the whole buffer; Linker.Link links its vectors.
	// Beyond Tail, Add itself links the first ones, unless Grow has left more. 0 means that Add links
	// all. The graph then also depends on the calls of Link.
	Tail int
	// Workers is the number of goroutines of Add, Delete and SearchBatch; 0 means GOMAXPROCS.
	// Index.SetWorkers changes it.
	Workers int
}

// Validate returns all errors of o, joined, each an ErrOptions.
func (o Options) Validate() error {
	var errs []error
	check := func(name string, v, lo, hi int, zero bool) {
		if v >= lo && v <= hi || zero && v == 0 {
			return
		}
		or := ""
		if zero {
			or = " (or 0 for the default)"
		}
		errs = append(errs, fmt.Errorf("%s is %d, must be %d to %d%s: %w", name, v, lo, hi, or, ErrOptions))
	}
	check("Dim", o.Dim, 1, 1<<16, false)
	check("M", o.M, 2, 512, true)
	check("EfConstruction", o.EfConstruction, max(1, min(o.M, 512)), 1<<16, true)
	check("Ef", o.Ef, 1, 1<<16, true)
	check("Tail", o.Tail, 0, maxLen, false)
	check("Workers", o.Workers, 1, 1<<10, true)
	if _, ok := metrics[o.metricName()]; !ok {
		errs = append(errs, fmt.Errorf("metric %q (known: %s): %w", o.Metric, strings.Join(Metrics(), ", "), errMetric))
	}
	return errors.Join(errs...)
}

func (o Options) metricName() string {
	if o.Metric == "" {
		return Cosine
	}
	return o.Metric
}

// withDefaults fills in the zero fields; the shape of a graph depends on its kind.
func (o Options) withDefaults(k kind) Options {
	o.Metric = o.metricName()
	o.M = cmp.Or(o.M, k.links, 16)
	o.EfConstruction = cmp.Or(o.EfConstruction, max(cmp.Or(k.pool, 200), o.M))
	o.Ef = cmp.Or(o.Ef, 64)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return o
}

// kind is a registered implementation.
type kind struct {
	new   func(Options) Index
	links int // default of M; 0 means 16
	pool  int // default of EfConstruction; 0 means 200
}

var kinds = map[string]kind{}

func registerKind(name string, k kind) string {
	kinds[name] = k
	return name
}

// Kinds returns the names that New accepts, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// New makes an empty index of one of Kinds. Errors: ErrOptions.
func New(kind string, o Options) (Index, error) {
	k, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("kind %q (known: %s): %w", kind, strings.Join(Kinds(), ", "), errKind)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return k.new(o.withDefaults(k)), nil
}
