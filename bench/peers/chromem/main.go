//go:build unix

// Command chromem answers queries with chromem-go, an exact index in pure Go, by the
// protocol of ../main.go. It is a separate module, so the library is no dependency of
// lexsem.
//
//	chromem BASE.fbin QUERIES.fbin
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/philippgille/chromem-go"
	"golang.org/x/sys/unix"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chromem:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: chromem BASE.fbin QUERIES.fbin")
	}
	runtime.GOMAXPROCS(1) // it spreads each query over all cores
	base, err := read(os.Args[1])
	if err != nil {
		return err
	}
	queries, err := read(os.Args[2])
	if err != nil {
		return err
	}
	c, err := chromem.NewDB().CreateCollection("vectors", nil, nil)
	if err != nil {
		return err
	}
	docs := make([]chromem.Document, len(base))
	for i, v := range base {
		docs[i] = chromem.Document{ID: strconv.Itoa(i), Embedding: v}
	}
	ctx := context.Background()
	start, cpu := time.Now(), cpuTime()
	if err := c.AddDocuments(ctx, docs, 1); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"cpu": (cpuTime() - cpu).Seconds(), "wall": time.Since(start).Seconds(),
	}); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "answers ") {
			for _, q := range queries {
				found, err := c.QueryEmbedding(ctx, q, 10, nil, nil)
				if err != nil {
					return err
				}
				for _, r := range found {
					fmt.Print(r.ID, " ")
				}
				fmt.Println()
			}
			continue
		}
		var ef, from, to int
		if _, err := fmt.Sscan(in.Text(), &ef, &from, &to); err != nil {
			return fmt.Errorf("%q: %w", in.Text(), err)
		}
		start, cpu := time.Now(), cpuTime()
		for _, q := range queries[from:to] {
			if _, err := c.QueryEmbedding(ctx, q, 10, nil, nil); err != nil {
				return err
			}
		}
		fmt.Println((cpuTime() - cpu).Nanoseconds(), time.Since(start).Nanoseconds())
	}
	return in.Err()
}

// read returns the vectors of an .fbin file.
func read(name string) ([][]float32, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(data) < 8 {
		return nil, fmt.Errorf("%s has no header", name)
	}
	n, d := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[4:]))
	data = data[8:]
	if len(data) != 4*n*d {
		return nil, fmt.Errorf("%s has %d bytes for %d vectors of %d", name, len(data), n, d)
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, d)
		for j := range out[i] {
			out[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*d+j):]))
		}
	}
	return out, nil
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
