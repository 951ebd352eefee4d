package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/bench/vectors"
)

// errWrong: a search or read disagrees with what was stored.
var errWrong = errors.New("wrong answers")

// SoakOptions are the options of Soak. A zero field means its default.
type SoakOptions struct {
	Docs    int           // number of documents, which stays about the same; default 20,000
	Dim     int           // dimension of the vectors; default 384
	For     time.Duration // duration of use after the documents are stored; default 10 minutes
	Samples int           // number of samples, evenly spaced; default 240
	Workers int           // goroutines that read, write and delete; default 2
	Seed    uint64        // seed of texts, vectors and choices; default 1
	Dir     string        // folder of the database, which is removed at the end; default is the system's temporary folder
	// Progress, if not nil, is called by one goroutine at a time.
	Progress func(bench.Progress)
}

func (o *SoakOptions) fill() error {
	for p, v := range map[*int]int{&o.Docs: 20_000, &o.Dim: 384, &o.Samples: 240, &o.Workers: 2} {
		if *p == 0 {
			*p = v
		}
	}
	o.For = cmp.Or(o.For, 10*time.Minute)
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Workers < 1 || o.Docs < 10*o.Workers || o.Dim < 2 || o.Samples < 4 || o.For < time.Duration(o.Samples)*time.Millisecond {
		return fmt.Errorf("%w: %d documents of %d dimensions, %d workers, %d samples in %v; use 10 documents a worker, 2 dimensions, 4 samples and a millisecond for each at least",
			bench.ErrOption, o.Docs, o.Dim, o.Workers, o.Samples, o.For)
	}
	return nil
}

// Soak uses one database for a long time and checks every result. Of 100 operations a worker makes
// 70 reads, stores 20 documents and deletes 10, one a commit. It compares each result with what it has
// stored and deleted itself. Half of the stored documents replace deleted ones, so the number of
// documents stays about the same. At the end the database is closed, opened, verified and compared
// with the acknowledged writes. It uses only the API of package engine.
//
// A wrong result gives errWrong together with the report.
func Soak(ctx context.Context, o SoakOptions) (r *SoakReport, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "lexsem-soak-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &soak{o: o, seed: maphash.MakeSeed(), dir: filepath.Join(dir, "db"), enc: newLifeEncoder(o.Dim), r: &SoakReport{Docs: o.Docs, Dim: o.Dim, Workers: o.Workers, Growth: map[string]float64{}}}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		s.r.LimitMB = process.MiB(limit)
	}
	if s.e, err = engine.Open(ctx, s.dir, s.enc, engine.Options{}); err != nil {
		return nil, err
	}
	err = s.fill(ctx)
	if err == nil {
		err = s.use(ctx)
	}
	if err = errors.Join(err, s.e.Close()); err != nil {
		return nil, err
	}
	s.growth()
	if err := s.prove(ctx); err != nil {
		return s.r, err
	}
	if s.r.Wrong > 0 {
		return s.r, fmt.Errorf("%w: %d answers, the first: %s", errWrong, s.r.Wrong, s.r.FirstWrong)
	}
	return s.r, nil
}

// soak is a run of Soak.
type soak struct {
	o       SoakOptions
	r       *SoakReport
	dir     string
	enc     *lifeEncoder
	e       *engine.Engine
	workers []*soakWorker
	start   time.Time
	seed    maphash.Seed
}

// sum is a hash that stands for a text: keeping the texts would take a large part of the measured
// memory.
func (s *soak) sum(text string) uint64 { return maphash.String(s.seed, text) }

// fill stores the documents, a thousand a commit.
func (s *soak) fill(ctx context.Context) error {
	vectors := vectors.NewCollection(min(s.o.Docs, 2_000), s.o.Dim, s.o.Seed) // one, of few clusters, since it counts as measured memory
	for w := range s.o.Workers {
		seed := s.o.Seed*1000 + uint64(w)
		x := &soakWorker{s: s, rng: rand.New(rand.NewPCG(seed, 0x736f616b)), corpus: lifeCorpusOf(vectors.Another(seed), seed), texts: map[int]uint64{}}
		x.queries = x.corpus.queries(256)
		for n := w; n < s.o.Docs; n += s.o.Workers {
			x.all = append(x.all, n)
		}
		s.workers = append(s.workers, x)
	}
	stored := 0
	for _, x := range s.workers {
		for numbers := range slices.Chunk(x.all, 1000) {
			docs := make([]engine.Document, len(numbers))
			for i, n := range numbers {
				docs[i] = x.corpus.again(n, 1)[0]
				x.texts[n] = s.sum(docs[i].Text)
			}
			if _, err := s.e.Add(ctx, docs); err != nil {
				return err
			}
			stored += len(docs)
			s.progress("store", stored, s.o.Docs)
		}
	}
	return nil
}

func (s *soak) progress(stage string, done, total int) {
	if s.o.Progress != nil {
		s.o.Progress(bench.Progress{Stage: stage, Done: done, Total: total})
	}
}

// use lets the workers run and samples the process meanwhile.
func (s *soak) use(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.start = time.Now()
	end := s.start.Add(s.o.For)
	errs := make([]error, len(s.workers))
	var wg sync.WaitGroup
	for i, x := range s.workers {
		wg.Go(func() {
			for errs[i] == nil && time.Now().Before(end) && ctx.Err() == nil {
				errs[i] = x.operate(ctx)
			}
			if errs[i] != nil {
				cancel()
			}
		})
	}
	err := s.watch(ctx)
	if err != nil {
		cancel()
	}
	wg.Wait()
	s.r.Seconds = time.Since(s.start).Seconds()
	for _, x := range s.workers {
		s.r.Reads, s.r.Writes, s.r.Deletes, s.r.Wrong = s.r.Reads+x.reads, s.r.Writes+x.writes, s.r.Deletes+x.deletes, s.r.Wrong+x.wrong
		s.r.FirstWrong = cmp.Or(s.r.FirstWrong, x.first)
	}
	return errors.Join(append(errs, err)...)
}

// watch takes the samples until the last one is taken or ctx ends.
func (s *soak) watch(ctx context.Context) error {
	for i := range s.o.Samples {
		at := s.start.Add(s.o.For * time.Duration(i+1) / time.Duration(s.o.Samples))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(at)):
		}
		sample, err := s.sample()
		if err != nil {
			return err
		}
		s.r.Samples = append(s.r.Samples, sample)
		s.progress("use", i+1, s.o.Samples)
	}
	return nil
}

func (s *soak) sample() (SoakSample, error) {
	x := SoakSample{Seconds: time.Since(s.start).Seconds(), Goroutines: runtime.NumGoroutine()}
	var took []time.Duration
	for _, w := range s.workers {
		w.mu.Lock()
		took, x.Operations, x.Documents = append(took, w.took...), x.Operations+w.done, x.Documents+len(w.texts)
		w.took, w.done = w.took[:0], 0
		w.mu.Unlock()
	}
	if len(took) > 0 {
		x.P50, x.P99 = ms(middle(took)), ms(quantileOf(took, 0.99))
	}
	bytes, files, err := process.DiskUse(s.dir)
	if err != nil {
		return x, err
	}
	x.Disk, x.Files = *process.MiB(bytes), files
	if runtime.GOOS != "linux" {
		return x, nil
	}
	u, err := process.Resident()
	if err != nil {
		return x, err
	}
	x.RSS, x.Anonymous = *process.MiB(u.Resident), *process.MiB(u.Anonymous)
	open, err := os.ReadDir("/proc/self/fd")
	x.Descriptors = len(open)
	return x, err
}

// prove opens the database anew, verifies it and compares all documents.
func (s *soak) prove(ctx context.Context) (err error) {
	e, err := engine.Open(ctx, s.dir, s.enc, engine.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	proof, err := e.Verify(ctx, nil)
	if err != nil {
		return err
	}
	if len(proof.Problems) > 0 {
		return fmt.Errorf("after the soak the database has %d problems: %s", len(proof.Problems), proof.Problems[0])
	}
	left := 0
	for _, x := range s.workers {
		left += len(x.texts)
	}
	for d, err := range e.All(ctx, engine.Filter{}) {
		if err != nil {
			return err
		}
		var n int
		if _, err := fmt.Sscanf(d.ID, "doc%d", &n); err != nil {
			return fmt.Errorf("after the soak there is a document %q", d.ID)
		}
		if want, live := s.workers[n%len(s.workers)].texts[n]; !live || want != s.sum(d.Text) {
			return fmt.Errorf("after the soak document %s is there, and should be: %v, or has another text", d.ID, live)
		}
		left--
	}
	if left != 0 {
		return fmt.Errorf("after the soak %d documents are missing", left)
	}
	return nil
}
