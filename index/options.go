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

// MaxLen is the largest number of vectors in one index.
const MaxLen = 1<<31 - 1

// Options shape an index. The zero value of each field but Dim is its default.
type Options struct {
	// Dim is the length of the vectors, 1 to 65,536. Required.
	Dim int
	// Metric is the name of a registered metric; "" means "cosine".
	Metric string
	// M is the number of links an hnsw node makes on each layer; on layer 0 it
	// may have twice as many. 2 to 512; 0 means 16, 20 for hnsw-fast and 12 for hnsw-compact.
	M int
	// EfConstruction is the size of the candidate pool when an hnsw node is
	// linked. M to 65,536; 0 means 200, 600 for hnsw-fast (or M if that is more).
	EfConstruction int
	// Ef is the size of the candidate pool of an hnsw search that names none.
	// 1 to 65,536; 0 means 64.
	Ef int
	// Seed decides on which layers hnsw nodes lie. Equal seeds, options and
	// calls give equal graphs, whatever Workers is.
	Seed uint64
	// Tail is the number of vectors that an hnsw index may keep beside its graph:
	// searches compare all of them, and Linker.Link takes them into the graph. Add
	// then costs about what it does in a flat index, until there are more: the
	// first of them it links itself, unless Grow has left more than Tail. 0 to MaxLen; 0 means that Add links all. The
	// graph then depends on the calls of Link as well.
	Tail int
	// Workers is the number of goroutines of Add, Delete and SearchBatch; 0
	// means as many as the Go runtime runs at once. Keeper.SetWorkers changes it.
	Workers int
}

// Validate reports every fault of o at once: ErrOptions and ErrUnknownMetric,
// joined.
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
	check("Tail", o.Tail, 0, MaxLen, false)
	check("Workers", o.Workers, 1, 1<<10, true)
	if _, ok := metrics[o.metricName()]; !ok {
		errs = append(errs, fmt.Errorf("metric %q (known: %s): %w", o.Metric, strings.Join(Metrics(), ", "), ErrUnknownMetric))
	}
	return errors.Join(errs...)
}

func (o Options) metricName() string {
	if o.Metric == "" {
		return Cosine
	}
	return o.Metric
}

// withDefaults fills the zero fields in, the shape of a graph as its kind has it.
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

// Kinds are the names that New takes, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// New makes an empty index of one of Kinds. Errors are ErrUnknownKind and
// those of Options.Validate. Every index that New returns also is a
// BatchSearcher and a Snapshotter.
func New(kind string, o Options) (Index, error) {
	k, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("kind %q (known: %s): %w", kind, strings.Join(Kinds(), ", "), ErrUnknownKind)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return k.new(o.withDefaults(k)), nil
}
