//go:build unix

package main

// This file compiles in every commit: it uses only the common API of the engine, and looks up
// the rest by name.

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

const (
	commit = 1000 // documents a commit
	warm   = 50   // searches before the first that is timed
	timed  = 3000
)

// hit is a hit of a search.
type hit struct {
	ID    string
	Score float32
}

// times are CPU and wall time.
type times struct{ CPU, Wall float64 }

// report has the results of one run. Add, in seconds, includes the background work after it;
// Open is in milliseconds; Search is in microseconds a search, by mode and variant. Bytes are
// those on disk after Close. Hits are those of each query. Steps are further measures, the same in every report.
type report struct {
	Add    times
	Open   times
	Bytes  float64
	Search map[string]times
	Hits   map[string][][]hit
	Steps  []step
}

// step is a measure, with the format of its figures.
type step struct {
	Name, Format string
	times
}

func (r *report) add(name, format string, t times) { r.Steps = append(r.Steps, step{name, format, t}) }

// asked are the modes and variants that every version has.
var asked = [][2]string{{engine.ModeDense, "none"}, {engine.ModeDense, "rlr"}, {engine.ModeDense, "rlr-local"}, {engine.ModeLexical, ""}, {engine.ModeHybrid, "rlr"}}

// measure adds documents to a new database and searches it.
func measure(ctx context.Context, documents, queries string) (r report, err error) {
	docs, err := read(documents)
	if err != nil {
		return r, err
	}
	wanted, err := read(queries)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "pairs")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var o engine.Options
	if f := reflect.ValueOf(&o).Elem().FieldByName("TokenStates"); f.IsValid() {
		f.SetString("off") // a search that reads them is another one
	}
	dim := len(docs[0].Vector)
	open := func() (*engine.Engine, error) {
		return engine.Open(ctx, dir, encoder.NewHash(dim), o)
	}
	e, err := open()
	if err != nil {
		return r, err
	}
	defer func() {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	clock := startClock()
	for at := 0; at < len(docs); at += commit {
		if _, err := e.Add(ctx, docs[at:min(len(docs), at+commit)]); err != nil {
			return r, err
		}
	}
	if err := settle(ctx, e); err != nil {
		return r, err
	}
	r.Add = clock.since(1)
	err = e.Close()
	if e = nil; err != nil {
		return r, err
	}
	if r.Bytes, err = size(dir); err != nil {
		return r, err
	}
	clock = startClock()
	if e, err = open(); err != nil {
		e = nil
		return r, err
	}
	r.Open = clock.since(1e3)
	docs = nil // their memory is not the database's
	r.Search, r.Hits = map[string]times{}, map[string][][]hit{}
	for _, a := range asked {
		search := func(i int) (engine.Result, error) {
			d := wanted[i%len(wanted)]
			return e.Search(ctx, engine.Query{Text: d.Text, Vector: d.Vector, Mode: a[0], Variant: a[1]})
		}
		name := a[0] + " " + a[1]
		if _, err := search(0); err != nil { // the first may ask for work, such as local bridges
			return r, err
		}
		if err := settle(ctx, e); err != nil {
			return r, err
		}
		for i := range max(warm, len(wanted)) {
			found, err := search(i)
			if err != nil {
				return r, err
			}
			if i < len(wanted) {
				hits := make([]hit, len(found.Hits))
				for k, h := range found.Hits {
					hits[k] = hit{h.ID, h.Score}
				}
				r.Hits[name] = append(r.Hits[name], hits)
			}
		}
		clock := startClock()
		for i := range timed {
			if _, err := search(i); err != nil {
				return r, err
			}
		}
		r.Search[name] = clock.since(1e6 / timed)
	}
	held, err := resident()
	if err != nil {
		return r, err
	}
	if held > 0 {
		r.add("memory after searches", "%.0f MiB", times{held, held})
	}
	file := dir + ".backup"
	clock = startClock()
	// The type of its report has moved.
	made := reflect.ValueOf(e).MethodByName("Backup").Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(file)})
	if err, failed := made[1].Interface().(error); failed {
		return r, err
	}
	r.add("a backup", "%.2f s", clock.since(1))
	f, err := os.Stat(file)
	if err != nil {
		return r, err
	}
	r.add("size of a backup", "%.0f bytes", times{float64(f.Size()), float64(f.Size())})
	return r, os.Remove(file)
}

// resident is the memory of this process in MiB, without what the system may take back: garbage, and pages of files.
// It is 0 on systems without /proc.
func resident() (float64, error) {
	debug.FreeOSMemory()
	raw, err := os.ReadFile("/proc/self/status")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "RssAnon: %f kB", &kb); n == 1 {
			return kb / 1024, nil
		}
	}
	return 0, errors.New("/proc/self/status has no RssAnon")
}

// size is the number of bytes that the files in dir take on disk.
func size(dir string) (n float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if s, ok := i.Sys().(*syscall.Stat_t); err == nil && ok {
			n += float64(s.Blocks) * 512
		}
		return err
	})
	return n, err
}

// settle waits for the background work after commits, in trees that have such work.
func settle(ctx context.Context, e any) error {
	if e, ok := e.(interface{ Flush(context.Context) error }); ok {
		return e.Flush(ctx)
	}
	return nil
}

// read reads an export of lexsem export --vectors. For a document in chunks it uses the first
// vector.
func read(name string) (docs []engine.Document, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for in := json.NewDecoder(bufio.NewReader(f)); ; {
		var d struct {
			ID          string `json:"_id"`
			Title, Text string
			Lexsem      struct{ Rows []struct{ Vector []byte } }
		}
		if err := in.Decode(&d); err == io.EOF && len(docs) > 0 {
			return docs, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", name, len(docs)+1, err)
		}
		if len(d.Lexsem.Rows) == 0 || len(d.Lexsem.Rows[0].Vector) == 0 {
			return nil, fmt.Errorf("%s: document %q has no vector; write it by lexsem export --vectors", name, d.ID)
		}
		b := d.Lexsem.Rows[0].Vector
		v := make([]float32, len(b)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		docs = append(docs, engine.Document{ID: d.ID, Title: d.Title, Text: d.Text, Vector: v})
	}
}

type clock struct {
	cpu  float64
	wall time.Time
}

func startClock() clock { return clock{cpu(), time.Now()} }

func (c clock) since(scale float64) times {
	return times{(cpu() - c.cpu) * scale, time.Since(c.wall).Seconds() * scale}
}

// cpu is the CPU time of the process, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for bad arguments alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
