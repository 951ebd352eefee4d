package bench

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/modulate"
)

// LocalRLR uses local bridges: an RLR for each cell of a k-means partition. Each probed cell is
// scanned with its own query vector. The default is local.CellsFor the number of passages, with all
// cells probed.
var _ = RegisterSystem(SystemKind{
	Name:  "rlr-local",
	Usage: "rlr-local[:cells:probed]",
	Doc:   "an RLR for each cell of a partition",
	Make: func(arg string) (System, error) {
		cells, probed, err := parseLocal(arg)
		if err != nil {
			return System{}, err
		}
		name := "rlr-local"
		if arg != "" {
			name += ":" + arg
		}
		return System{
			Name: name,
			Need: encoder.NeedDense, Constants: []string{"local-beta", "local-lambda", "cell"},
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				r, fit, err := prepareLocal(ctx, s, cells, probed)
				return r, fit, err
			},
		}, nil
	},
})

// LocalStack uses local bridges on top of a fitted slr.
var _ = RegisterSystem(SystemKind{
	Name:  "rlr-local+slr",
	Usage: "rlr-local+slr",
	Doc:   "local bridges on top of a fitted slr",
	Make: func(arg string) (System, error) {
		if err := noArgument(arg); err != nil {
			return System{}, err
		}
		stack, err := modulate.ParseStack(modulate.SLR.Name)
		if err != nil {
			return System{}, err
		}
		return System{
			Name: "rlr-local+slr",
			Need: stack.Need(),
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				m, fit, err := s.modulator(ctx, stack)
				if err != nil {
					return nil, nil, err
				}
				r, local, err := prepareLocal(ctx, s, 0, 0)
				if err != nil {
					return nil, nil, err
				}
				r.first, r.held = m, fit.Bytes
				fit.Seconds += local.Seconds
				fit.CPUSeconds += local.CPUSeconds
				return r, fit, nil
			},
		}, nil
	},
})

// parseLocal reads "cells:probed" or "cells". "" gives 0, 0, which stand for the defaults.
func parseLocal(arg string) (cells, probed int, err error) {
	if arg == "" {
		return 0, 0, nil
	}
	first, second, two := strings.Cut(arg, ":")
	cells, err = strconv.Atoi(first)
	if err == nil && two {
		probed, err = strconv.Atoi(second)
	}
	if err != nil || cells < 1 || two && (probed < 1 || probed > cells) {
		return 0, 0, fmt.Errorf("%w: %q is not cells:probed; write rlr-local:80:8 with 1 to as many probed as there are cells", ErrUnknownName, arg)
	}
	return cells, probed, nil
}

func prepareLocal(ctx context.Context, s *Setting, cells, probed int) (*localRetriever, *Fit, error) {
	began, cpu := time.Now(), process.CPUTime()
	n := s.Targets.Len()
	if cells > n {
		return nil, nil, fmt.Errorf("%w: %d cells of %d distinct passages; ask for fewer", ErrUnknownName, cells, n)
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i)
	}
	o := local.Options{Seed: s.Seed, Workers: func() int { return runtime.GOMAXPROCS(0) }}
	localBy(s.Constants, &o, n)
	if cells > 0 {
		o.Cells = cells
	}
	b, err := local.Build(ctx, s.Encoder.Dim(), s.Encoder.VocabSize(), local.Source{
		IDs:     ids,
		Tokens:  func(id uint64) ([]int32, error) { return s.Passages[id].Tokens.Lexical(nil), nil },
		Vectors: func(id uint64) []float32 { return s.Passages[id].Dense },
	}, o)
	if err != nil {
		return nil, nil, fmt.Errorf("fitting local bridges: %w", err)
	}
	r := &localRetriever{setting: s, bridges: b, probed: probed}
	if probed == 0 {
		r.probed = b.Cells()
	}
	return r, &Fit{
		Seconds: time.Since(began).Seconds(), CPUSeconds: (process.CPUTime() - cpu).Seconds(), Passages: n,
	}, nil
}

// localRetriever probes the cells of each question.
type localRetriever struct {
	setting *Setting
	first   modulate.Modulator // what the cells' shifts are added to; nil for the dense vector
	held    int64              // bytes that first reads
	bridges *local.Bridges
	probed  int
	scratch sync.Pool // of *localScratch
}

type localScratch struct {
	cells   []int
	vectors []float32
	probes  []local.Probe
	found   []local.Scored
}

// bytes is the memory of the cells, of the vectors that score the final candidates, and of the
// first modulation of the query.
func (r *localRetriever) bytes() int64 {
	return r.setting.indexBytes() + r.bridges.Bytes().Total() + r.held
}

// Retrieve searches on all cores, one question a core.
func (r *localRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel.Each(ctx, len(questions), func(i int) error {
		s, ok := r.scratch.Get().(*localScratch)
		if !ok {
			s = &localScratch{}
		}
		defer r.scratch.Put(s)
		if err := r.search(ctx, s, questions[i], k); err != nil {
			return fmt.Errorf("question %q: %w", questions[i].Text, err)
		}
		out[i] = make([]Hit, len(s.found))
		for j, f := range s.found {
			out[i][j] = Hit{Target: int(f.ID), Score: float64(f.Score)}
		}
		return nil
	})
	return out, err
}

// search stores its answer in s.found.
func (r *localRetriever) search(ctx context.Context, s *localScratch, q Question, k int) (err error) {
	in := r.input(q)
	if s.cells, err = r.bridges.Probe(s.cells[:0], in, r.probed); err != nil {
		return err
	}
	if s.vectors, err = r.bridges.Modulate(ctx, s.vectors[:0], in, s.cells); err != nil {
		return err
	}
	d := len(in.Dense)
	s.probes = s.probes[:0]
	for j, c := range s.cells {
		s.probes = append(s.probes, local.Probe{Cell: c, Query: s.vectors[j*d : (j+1)*d]})
	}
	s.found, err = r.bridges.Search(ctx, s.found[:0], s.probes, k, nil)
	return err
}

func (r *localRetriever) input(q Question) modulate.Input {
	in := inputOf(q)
	if r.first != nil {
		in.Dense = r.first.Modulate(nil, in)
	}
	return in
}

// scores writes the score of each of the targets ids into dst.
func (r *localRetriever) scores(dst []float32, q Question, ids []uint64) error {
	in, d := r.input(q), len(q.Output.Dense)
	at := map[int]int{}
	var cells []int
	for _, id := range ids {
		c, _ := r.bridges.Cell(id)
		if _, ok := at[c]; !ok {
			at[c] = len(cells)
			cells = append(cells, c)
		}
	}
	rows, err := r.bridges.Modulate(context.Background(), nil, in, cells)
	if err != nil {
		return err
	}
	for i, id := range ids {
		c, _ := r.bridges.Cell(id)
		dst[i] = 0
		for j, x := range r.setting.Passages[id].Dense {
			dst[i] += x * rows[at[c]*d+j]
		}
	}
	return nil
}
