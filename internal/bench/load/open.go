package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/process"
)

// open measures processes that open the database.
func (b *life) open(ctx context.Context) (err error) {
	fresh := b.o.Fresh
	if fresh == nil {
		fresh = MeasureProcess
	}
	// The first search of a process is compared with one at rest, so nothing may be left to do: an ingestion can end before its graph is linked.
	e, err := b.create(ctx, b.main, engine.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(b.caughtUp(ctx, e), e.Close()); err != nil {
		return err
	}
	plain := b.o
	plain.Fresh, plain.Progress, plain.Parts = nil, nil, nil
	var opened, openedCPU, first []time.Duration
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	for range b.o.Rounds {
		p, err := fresh(ctx, b.main, plain, false)
		if err != nil {
			return err
		}
		if b.r.Parts == nil {
			b.r.Parts = map[string]float64{}
			for name, bytes := range p.Parts {
				b.r.Parts[name] = float64(bytes) / float64(b.o.Docs)
			}
		}
		opened, openedCPU, first = append(opened, seconds(p.OpenSeconds)), append(openedCPU, seconds(p.OpenCPU)), append(first, seconds(p.FirstMS/1000))
		if p.RSS != nil && (b.r.RSS == nil || *p.RSS < *b.r.RSS) {
			b.r.RSS, b.r.BytesPerVector = p.RSS, new(*p.Held*(1<<20)/float64(b.o.Docs)-4*float64(b.o.Dim))
		}
	}
	if b.r.JSONBytes, err = b.jsonBytes(); err != nil {
		return err
	}
	took, cpu, ms := middle(opened).Seconds(), middle(openedCPU).Seconds(), ms(middle(first))
	b.r.OpenSeconds, b.r.OpenCPU, b.r.FirstMS = &took, &cpu, &ms

	killed, behind := filepath.Join(b.dir, "killed"), filepath.Join(b.dir, "behind")
	err = b.with(ctx, b.main, engine.Options{}, func(e *engine.Engine, dir string) error {
		if err := b.caughtUp(ctx, e); err != nil {
			return err
		}
		if _, err := e.Add(ctx, b.corpus.fresh(1000)); err != nil {
			return err
		}
		if err := rest(ctx, b.o.sizes.moment); err != nil {
			return err
		}
		return os.CopyFS(killed, os.DirFS(dir)) // what a kill would leave
	})
	if err != nil {
		return err
	}
	opened, openedCPU = nil, nil
	for range b.o.Rounds {
		if err := os.CopyFS(behind, os.DirFS(killed)); err != nil {
			return err
		}
		p, err := fresh(ctx, behind, plain, true)
		if err != nil {
			return err
		}
		opened, openedCPU = append(opened, seconds(p.OpenSeconds)), append(openedCPU, seconds(p.OpenCPU))
		if p.Peak != nil && (b.r.RSSPeak == nil || *p.Peak < *b.r.RSSPeak) {
			b.r.RSSPeak = p.Peak
		}
		if err := os.RemoveAll(behind); err != nil {
			return err
		}
	}
	late, lateCPU := middle(opened).Seconds(), middle(openedCPU).Seconds()
	b.r.OpenBehind, b.r.OpenBehindCPU = &late, &lateCPU
	return os.RemoveAll(killed)
}

// backup times a complete backup of the database at rest.
func (b *life) backup(ctx context.Context) (err error) {
	e, err := b.create(ctx, b.main, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := b.caughtUp(ctx, e); err != nil {
		return err
	}
	file, start, used := filepath.Join(b.dir, "backup"), time.Now(), process.CPUTime()
	made, err := e.Backup(ctx, file)
	if err != nil {
		return err
	}
	took, cpu := time.Since(start).Seconds(), (process.CPUTime() - used).Seconds()
	b.r.BackupSeconds, b.r.BackupCPU, b.r.BackupBytes = &took, &cpu, &made.Bytes
	return os.Remove(file)
}
