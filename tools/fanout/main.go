// Command fanout computes the times of queries over many shards from the times of one
// shard:
//
//	go run ./tools/fanout < times.txt
//
// times.txt has one line for each request to one shard: its time in milliseconds.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lexsem/lexsem/internal/fanout"
)

func main() {
	hedge := flag.Float64("hedge", .95, "ask another copy of a shard after the time that this share of its answers takes")
	queries := flag.Int("queries", 20_000, "queries to draw for each line")
	seed := flag.Uint64("seed", 1, "seed of the draws")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *hedge, *queries, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, hedge float64, queries int, seed uint64) error {
	shard, err := read(in)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "one shard, %d requests: p50 %s, p99 %s\n\n", len(shard), ms(fanout.Quantile(shard, .5)), ms(fanout.Quantile(shard, .99)))
	fmt.Fprintln(out, "shards      p50      p90      p99    p99.9   hedged: p50      p99    p99.9  requests a shard")
	for _, n := range []int{1, 3, 10, 30, 100, 300, 1000} {
		plain, err := fanout.Simulate(shard, fanout.Options{Shards: n, Queries: queries, Seed: seed})
		if err != nil {
			return err
		}
		hedged, err := fanout.Simulate(shard, fanout.Options{Shards: n, Queries: queries, Seed: seed, Hedge: hedge})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6d %8s %8s %8s %8s      %8s %8s %8s  %.3f\n", n, ms(plain.P50), ms(plain.P90), ms(plain.P99), ms(plain.P999), ms(hedged.P50), ms(hedged.P99), ms(hedged.P999), hedged.Asked)
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }

// read reads milliseconds, one per line.
func read(r io.Reader) (times []time.Duration, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0 && x < 1e9) {
			return nil, fmt.Errorf("line %d: %.80q; want milliseconds, 0 or more", n, text)
		}
		times = append(times, time.Duration(x*1e6))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("no times; give a line for each request to one shard, its milliseconds")
	}
	return times, nil
}
