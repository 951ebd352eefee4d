package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// EngineProcess measures a process that opens a database: the times of opening and of the first
// search, and memory. Memory is in MiB, read from Linux's /proc after garbage collection. It is nil on
// other systems.
type EngineProcess struct {
	OpenSeconds float64 `json:"open_seconds"`
	FirstMS     float64 `json:"first_search_ms"`
	// RSS is all resident memory at rest, after searches. Before is the resident memory before the
	// database was opened.
	RSS    *float64 `json:"rss_mb"`
	Before *float64 `json:"rss_before_mb"`
	// Held is the memory of the database: the growth of memory outside files, plus all mapped derived
	// files, resident or not.
	Held *float64 `json:"held_mb"`
	// Parts is engine.Stats.Memory at rest, in bytes by part.
	Parts map[string]int64 `json:"memory"`
	// Peak is the peak of resident memory while ten documents are replaced, including the background
	// work that follows. It is nil if not requested.
	Peak *float64 `json:"rss_peak_mb"`
}

// MeasureEngineProcess opens a database that RunEngine made, with options of the same dimension and
// seed. It measures this process, which should be a fresh one. With replace it then replaces ten
// documents. Otherwise the database is unchanged.
func MeasureEngineProcess(ctx context.Context, dir string, o EngineOptions, replace bool) (p *EngineProcess, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	enc, corpus := newLifeEncoder(o.Dim), newLifeCorpus(o.Docs, o.Dim, o.Seed+1)
	queries, docs := corpus.queries(64), corpus.again(0, min(10, o.Docs))
	before, err := memory(dir)
	if err != nil {
		return nil, err
	}
	p = &EngineProcess{}
	start := time.Now()
	e, err := engine.Open(ctx, dir, enc, engine.Options{MustExist: true})
	if err != nil {
		return nil, err
	}
	p.OpenSeconds = time.Since(start).Seconds()
	defer func() { err = errors.Join(err, e.Close()) }()
	start = time.Now()
	if _, err := e.Search(ctx, queries[0]); err != nil {
		return nil, err
	}
	p.FirstMS = ms(time.Since(start))
	for _, q := range queries {
		if _, err := e.Search(ctx, q); err != nil {
			return nil, err
		}
	}
	if err := rest(ctx, 2*o.sizes.linger); err != nil { // vectors that were read are given back a second behind the last search
		return nil, err
	}
	s, err := e.Stats(ctx)
	if err != nil {
		return nil, err
	}
	p.Parts = maps.Collect(s.Memory.Parts())
	now, err := memory(dir)
	if err != nil {
		return nil, err
	}
	if now != nil {
		p.RSS, p.Before = mib(now.resident), mib(before.resident)
		p.Held = mib(now.anonymous - before.anonymous + now.mapped)
	}
	if !replace {
		return p, nil
	}
	if err := forgetPeak(); err != nil {
		return nil, err
	}
	if _, err := e.Upsert(ctx, docs); err != nil {
		return nil, err
	}
	if _, err := e.Search(ctx, queries[1]); err != nil {
		return nil, err
	}
	if err := rest(ctx, o.sizes.moment); err != nil {
		return nil, err
	}
	if now, err = memory(dir); err == nil && now != nil {
		p.Peak = mib(now.peak)
	}
	return p, err
}

func mib(bytes int64) *float64 {
	x := float64(bytes) / (1 << 20)
	return &x
}

// usage is memory of this process in bytes.
type usage struct{ resident, peak, anonymous, mapped int64 }

// memory collects garbage, gives it back and reads what is left, with the
// derived files below dir that are mapped; nil where there is no /proc.
func memory(dir string) (*usage, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	debug.FreeOSMemory() // collects first
	u, err := resident()
	if err != nil {
		return nil, err
	}
	derived, err := filepath.Abs(filepath.Join(dir, "derived"))
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || !strings.HasPrefix(f[5], derived+"/") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); err != nil {
			return nil, fmt.Errorf("/proc/self/maps: %q: %w", lines.Text(), err)
		}
		u.mapped += to - from
	}
	return u, nil
}

// resident reads the memory of this process, but for what is mapped, from Linux's /proc.
func resident() (*usage, error) {
	u := &usage{}
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	for field, to := range map[string]*int64{"VmRSS:": &u.resident, "VmHWM:": &u.peak, "RssAnon:": &u.anonymous} {
		_, rest, ok := strings.Cut(string(raw), field)
		if !ok {
			return nil, fmt.Errorf("/proc/self/status says nothing of %s", field)
		}
		kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/self/status: %s %w", field, err)
		}
		*to = kib << 10
	}
	return u, nil
}

// forgetPeak makes the peak of resident memory begin anew.
func forgetPeak() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// diskBytes is the size of all files below dir.
func diskBytes(dir string) (int64, error) {
	bytes, _, err := diskUse(dir)
	return bytes, err
}

// diskUse is the size and number of all files below dir, those that go meanwhile left out.
func diskUse(dir string) (bytes int64, files int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				bytes, files = bytes+info.Size(), files+1
			}
		}
		if path != dir && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return bytes, files, err
}
