package load

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/process"
)

// Process measures a process that opens a database: the times of opening and of the first
// search, and memory. Memory is in MiB, read from Linux's /proc after garbage collection. It is nil on
// other systems.
type Process struct {
	OpenSeconds float64 `json:"open_seconds"`
	OpenCPU     float64 `json:"open_cpu_seconds"` // processor time of all threads
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

// MeasureProcess opens a database that Run made, with options of the same dimension and
// seed. It measures this process, which should be a fresh one. With replace it then replaces ten
// documents. Otherwise the database is unchanged.
func MeasureProcess(ctx context.Context, dir string, o Options, replace bool) (p *Process, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	corpus, enc, err := o.corpus(ctx, o.Seed+1)
	if err != nil {
		return nil, err
	}
	queries, err := corpus.asked(ctx, enc, 64)
	if err != nil {
		return nil, err
	}
	docs := corpus.again(0, min(10, o.Docs))
	before, err := process.Memory(dir)
	if err != nil {
		return nil, err
	}
	p = &Process{}
	start, used := time.Now(), process.CPUTime()
	e, err := engine.Open(ctx, dir, enc, engine.Options{MustExist: true})
	if err != nil {
		return nil, err
	}
	p.OpenSeconds, p.OpenCPU = time.Since(start).Seconds(), (process.CPUTime() - used).Seconds()
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
	if err := rest(ctx, 2*o.sizes.linger); err != nil { // vectors that were read are given back a second after the last search
		return nil, err
	}
	s, err := e.Stats(ctx)
	if err != nil {
		return nil, err
	}
	p.Parts = maps.Collect(s.Memory.Parts())
	now, err := process.Memory(dir)
	if err != nil {
		return nil, err
	}
	if now != nil {
		p.RSS, p.Before = process.MiB(now.Resident), process.MiB(before.Resident)
		p.Held = process.MiB(now.Anonymous - before.Anonymous + now.Mapped)
	}
	if !replace {
		return p, nil
	}
	if err := process.ForgetPeak(); err != nil {
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
	if now, err = process.Memory(dir); err == nil && now != nil {
		p.Peak = process.MiB(now.Peak)
	}
	return p, err
}
