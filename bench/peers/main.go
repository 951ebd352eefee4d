//go:build unix

// Command peers is this module's part in compare.py, which measures several vector libraries in turn. It
// makes vector files and answers queries on request.
//
//	peers vectors -n N -dim D -seed S -base FILE -queries FILE
//	peers serve -base FILE -queries FILE -index KIND [-snapshot FILE] [-threads N] [-k K] [-keep PERCENT] [-m M] [-ef-construction E]
//
// serve builds or loads the index and prints a line of JSON about it. A line "EF FROM TO" on standard input
// makes it answer the queries FROM to TO and print the processor time and the wall time in nanoseconds. A
// line "answers EF" makes it print the ids of the K nearest, one line a query.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/vectors"
	"github.com/lexsem/lexsem/internal/snapshot"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: peers vectors|serve [flags]")
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	base, queries := f.String("base", "", "file of vectors, .fbin"), f.String("queries", "", "file of queries, .fbin")
	switch args[0] {
	case "vectors":
		n, nq := f.Int("n", 100_000, "vectors"), f.Int("nq", 1_000, "queries")
		dim, seed := f.Int("dim", 384, "dimension"), f.Uint64("seed", 1, "seed")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		b, q := vectors.TextLike(*n, *nq, *dim, *seed)
		return errors.Join(write(*base, b), write(*queries, q))
	case "serve":
		kind, snap := f.String("index", index.KindHNSWInt8, "kind of index"), f.String("snapshot", "", "file to load from, or to save to after the build")
		threads, k := f.Int("threads", 1, "threads of the build"), f.Int("k", 10, "nearest that are asked for")
		keep := f.Int("keep", 100, "percent of the vectors that a filter lets through")
		o := index.Options{Seed: 1}
		f.IntVar(&o.M, "m", 0, "links of a node; 0 for the kind's own")
		f.IntVar(&o.EfConstruction, "ef-construction", 0, "candidates of a node; 0 for the kind's own")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		o.Workers = *threads
		return serve(*base, *queries, *kind, *snap, o, index.SearchOptions{K: *k}, *keep)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func write(name string, v *vectors.Set) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(vectors.Write(f, v), f.Close())
}

// built is what serve reports about its index.
type built struct {
	CPU   float64 `json:"cpu"`   // seconds, of the build; 0 when loaded
	Wall  float64 `json:"wall"`  // seconds
	Load  float64 `json:"load"`  // seconds of loading
	Bytes float64 `json:"bytes"` // a vector beside its float32 components
}

func serve(basePath, queryPath, kind, snap string, shape index.Options, o index.SearchOptions, keep int) error {
	queries, err := vectors.Read(queryPath)
	if err != nil {
		return err
	}
	ix, b, err := open(basePath, kind, snap, shape)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(b); err != nil {
		return err
	}
	if keep < 100 {
		filter(&o, ix.Len(), uint64(keep))
	}
	in := bufio.NewScanner(os.Stdin)
	var dst []index.Neighbor
	for in.Scan() {
		if rest, ok := strings.CutPrefix(in.Text(), "answers "); ok {
			if _, err := fmt.Sscan(rest, &o.Ef); err != nil {
				return err
			}
			for i := range queries.Len() {
				if dst, err = ix.Search(dst[:0], queries.Row(i), o); err != nil {
					return err
				}
				for _, n := range dst {
					fmt.Print(n.ID, " ")
				}
				fmt.Println()
			}
			continue
		}
		var from, to int
		if _, err := fmt.Sscan(in.Text(), &o.Ef, &from, &to); err != nil {
			return fmt.Errorf("%q: %w", in.Text(), err)
		}
		start, cpu := time.Now(), cpuTime()
		for i := from; i < to; i++ {
			if dst, err = ix.Search(dst[:0], queries.Row(i), o); err != nil {
				return err
			}
		}
		fmt.Println((cpuTime() - cpu).Nanoseconds(), time.Since(start).Nanoseconds())
	}
	return in.Err()
}

// filter lets a random sample of n vectors through, as a database that knows them would; kept in compare.py is the same.
func filter(o *index.SearchOptions, n int, percent uint64) {
	o.Allow = func(id uint64) bool { return id*0x9e3779b97f4a7c15>>32%100 < percent }
	var ids []uint64
	for id := range uint64(n) {
		if o.Allow(id) {
			ids = append(ids, id)
		}
	}
	o.Allowed = len(ids)
	o.Among = func(yield func(uint64) bool) {
		for _, id := range ids {
			if !yield(id) {
				return
			}
		}
	}
}

// open loads the index, or builds it and saves it.
func open(basePath, kind, snap string, o index.Options) (index.Index, built, error) {
	var b built
	base, err := vectors.Read(basePath)
	if err != nil {
		return nil, b, err
	}
	n := base.Len()
	o.Dim = base.Dim
	var before float64
	var ix index.Index
	if f, err := snapshot.Open(snap); err == nil { // for as long as the program runs
		before = heap()
		start := time.Now()
		if ix, err = index.Open(kind, o, f); err != nil {
			return nil, b, err
		}
		b.Load = time.Since(start).Seconds()
	} else {
		if ix, err = index.New(kind, o); err != nil {
			return nil, b, err
		}
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = uint64(i)
		}
		before = heap()
		start, cpu := time.Now(), cpuTime()
		if err := ix.Add(ids, base.Data); err != nil {
			return nil, b, err
		}
		b.CPU, b.Wall = (cpuTime() - cpu).Seconds(), time.Since(start).Seconds()
		if snap != "" {
			if err := snapshot.Write(snap, snapshot.Header{Kind: "vectors", Version: 1}, ix.Save); err != nil {
				return nil, b, err
			}
		}
	}
	b.Bytes = (heap()-before)/float64(n) - float64(4*base.Dim)
	runtime.KeepAlive(base)
	return ix, b, nil
}

// heap is the size of the live heap in bytes.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
