package bench

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// SoakOptions say how long a database is used by RunSoak, and how. The zero value of
// each field is its default.
type SoakOptions struct {
	Docs    int           // documents at first, and about as many at any time; 20,000
	Dim     int           // dimension of their vectors; 384
	For     time.Duration // how long it is used once they are in; 10 minutes
	Samples int           // how often it is looked at, evenly; 240
	Workers int           // goroutines that read, write and delete; 2
	Seed    uint64        // of texts, vectors and choices; 1
	Dir     string        // where the database is made, and removed at the end; the system's folder for such
	// Progress, if not nil, is called from one goroutine at a time.
	Progress func(Progress)
}

func (o *SoakOptions) fill() error {
	for p, v := range map[*int]int{&o.Docs: 20_000, &o.Dim: 384, &o.Samples: 240, &o.Workers: 2} {
		if *p == 0 {
			*p = v
		}
	}
	if o.For == 0 {
		o.For = 10 * time.Minute
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Workers < 1 || o.Docs < 10*o.Workers || o.Dim < 2 || o.Samples < 4 || o.For < time.Duration(o.Samples)*time.Millisecond {
		return fmt.Errorf("%w: %d documents of %d dimensions, %d workers, %d samples in %v; use 10 documents a worker, 2 dimensions, 4 samples and a millisecond for each at least",
			ErrOption, o.Docs, o.Dim, o.Workers, o.Samples, o.For)
	}
	return nil
}

// SoakReport is the outcome of RunSoak; its JSON form is a contract.
type SoakReport struct {
	Docs    int     `json:"docs"`
	Dim     int     `json:"dim"`
	Seconds float64 `json:"seconds"`
	Workers int     `json:"workers"`
	// LimitMB is the limit that the Go runtime keeps its memory to (GOMEMLIMIT), in MiB; null for none.
	LimitMB *float64 `json:"memory_limit_mb"`
	// What was done: searches and reads of a document, 70 of 100 operations; documents stored, 20, and deleted, 10.
	Reads   int `json:"reads"`
	Writes  int `json:"writes"`
	Deletes int `json:"deletes"`
	// Wrong counts answers that are not what the documents of the moment give, FirstWrong tells the first.
	Wrong      int    `json:"wrong"`
	FirstWrong string `json:"first_wrong,omitempty"`
	// Growth tells of each figure how its median in the last quarter of the time lies
	// above that of the second quarter, as a share of that: "rss_mb", "disk_mb", "files",
	// "descriptors", "goroutines", "p50_ms".
	Growth  map[string]float64 `json:"growth"`
	Samples []SoakSample       `json:"samples"`
}

// SoakSample is one look at the process. Memory and descriptors are read from
// Linux's /proc and 0 elsewhere.
type SoakSample struct {
	Seconds     float64 `json:"seconds"` // since the documents were in
	RSS         float64 `json:"rss_mb"`  // MiB, the pages of mapped files included
	Anonymous   float64 `json:"anonymous_mb"`
	Disk        float64 `json:"disk_mb"`
	Files       int     `json:"files"`
	Descriptors int     `json:"descriptors"`
	Goroutines  int     `json:"goroutines"`
	Documents   int     `json:"documents"`
	Operations  int     `json:"operations"` // since the sample before
	P50         float64 `json:"p50_ms"`     // of the searches since
	P99         float64 `json:"p99_ms"`
}

// soakFigures are those of SoakReport.Growth.
var soakFigures = map[string]func(SoakSample) float64{
	"rss_mb":      func(s SoakSample) float64 { return s.RSS },
	"disk_mb":     func(s SoakSample) float64 { return s.Disk },
	"files":       func(s SoakSample) float64 { return float64(s.Files) },
	"descriptors": func(s SoakSample) float64 { return float64(s.Descriptors) },
	"goroutines":  func(s SoakSample) float64 { return float64(s.Goroutines) },
	"p50_ms":      func(s SoakSample) float64 { return s.P50 },
}

// RunSoak uses one database for a long time: each worker reads 70 times, stores 20
// and deletes 10 documents of 100 operations, one a commit, and holds what it gets
// against what it has stored and deleted itself. Half of what is stored takes the place
// of documents that are gone, so there are about as many at any time. Then the database is closed,
// opened, verified and compared with what was acknowledged. It works through the API of
// package engine alone. ErrWrong, with the report, if an answer was wrong.
func RunSoak(ctx context.Context, o SoakOptions) (r *SoakReport, err error) {
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
		s.r.LimitMB = mib(limit)
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
		return s.r, fmt.Errorf("%w: %d answers, the first: %s", ErrWrong, s.r.Wrong, s.r.FirstWrong)
	}
	return s.r, nil
}

// soak is a run of RunSoak.
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

// sum stands for a text: the texts themselves would be a good part of the memory that is
// measured.
func (s *soak) sum(text string) uint64 { return maphash.String(s.seed, text) }

// soakWorker owns the documents whose numbers leave its own over when they are
// divided by the number of workers: no other writes them, so it knows what they are.
type soakWorker struct {
	s       *soak
	rng     *rand.Rand
	corpus  *lifeCorpus
	queries []engine.Query

	mu                            sync.Mutex
	texts                         map[int]uint64 // sums of the texts of its documents; none of a deleted one
	all                           []int          // its numbers
	gone                          []int          // those of documents that it has deleted
	done                          int            // operations since the last sample
	took                          []time.Duration
	reads, writes, deletes, wrong int
	first                         string
}

// fill stores the documents, a thousand a commit.
func (s *soak) fill(ctx context.Context) error {
	for w := range s.o.Workers {
		seed := s.o.Seed*1000 + uint64(w)
		x := &soakWorker{s: s, rng: rand.New(rand.NewPCG(seed, 0x736f616b)), corpus: newLifeCorpus(s.o.Docs, s.o.Dim, seed), texts: map[int]uint64{}}
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
		s.o.Progress(Progress{Stage: stage, Done: done, Total: total})
	}
}

// use lets the workers work, and looks at the process meanwhile.
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
		if s.r.FirstWrong == "" {
			s.r.FirstWrong = x.first
		}
	}
	return errors.Join(append(errs, err)...)
}

// watch takes the samples; it returns when the last one is taken, or ctx ends.
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
	bytes, files, err := diskUse(s.dir)
	if err != nil {
		return x, err
	}
	x.Disk, x.Files = *mib(bytes), files
	if runtime.GOOS != "linux" {
		return x, nil
	}
	u, err := resident()
	if err != nil {
		return x, err
	}
	x.RSS, x.Anonymous = *mib(u.resident), *mib(u.anonymous)
	open, err := os.ReadDir("/proc/self/fd")
	x.Descriptors = len(open)
	return x, err
}

// operate does one operation.
func (x *soakWorker) operate(ctx context.Context) error {
	n := x.all[x.rng.IntN(len(x.all))]
	switch p := x.rng.IntN(100); {
	case p >= 70 && p < 80 && len(x.gone) > 0:
		return x.store(ctx, x.gone[x.rng.IntN(len(x.gone))])
	case p < 20:
		return x.get(ctx, n)
	case p < 70:
		return x.search(ctx)
	case p < 90:
		return x.store(ctx, n)
	default:
		return x.remove(ctx, n)
	}
}

func (x *soakWorker) count(kind *int, op func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*kind++
	x.done++
	op()
}

func (x *soakWorker) found(format string, args ...any) {
	x.wrong++
	if x.first == "" {
		x.first = fmt.Sprintf(format, args...)
	}
}

func (x *soakWorker) get(ctx context.Context, n int) error {
	d, err := x.s.e.Get(ctx, lifeID(n))
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	x.count(&x.reads, func() {
		if want, live := x.texts[n]; live != (err == nil) || live && x.s.sum(d.Text) != want {
			x.found("document %d: there %v, want %v, or its text is another", n, err == nil, live)
		}
	})
	return nil
}

// search asks in all modes by turns. Hits of documents that are this worker's own
// must be there, with the text that it gave them last, and a page must be full.
func (x *soakWorker) search(ctx context.Context) error {
	q := lifeModes[x.rng.IntN(len(lifeModes))].of(x.queries[x.rng.IntN(len(x.queries))])
	start := time.Now()
	got, err := x.s.e.Search(ctx, q)
	if err != nil {
		return err
	}
	took := time.Since(start)
	x.count(&x.reads, func() {
		x.took = append(x.took, took)
		if q.Mode != engine.ModeLexical && len(got.Hits) != 10 {
			x.found("%d hits of %q, want 10", len(got.Hits), q.Text)
		}
		for _, h := range got.Hits {
			var n int
			if _, err := fmt.Sscanf(h.ID, "doc%d", &n); err != nil {
				x.found("a hit %q", h.ID)
			} else if want, live := x.texts[n]; n%len(x.s.workers) == x.all[0] && (!live || x.s.sum(h.Text) != want) {
				x.found("hit %s: there %v, or its text is another", h.ID, live)
			}
		}
	})
	return nil
}

func (x *soakWorker) store(ctx context.Context, n int) error {
	docs := x.corpus.again(n, 1)
	if _, err := x.s.e.Upsert(ctx, docs); err != nil {
		return err
	}
	x.count(&x.writes, func() {
		x.texts[n] = x.s.sum(docs[0].Text)
		if i := slices.Index(x.gone, n); i >= 0 {
			x.gone = slices.Delete(x.gone, i, i+1)
		}
	})
	return nil
}

func (x *soakWorker) remove(ctx context.Context, n int) error {
	gone, err := x.s.e.Delete(ctx, []string{lifeID(n)})
	if err != nil {
		return err
	}
	x.count(&x.deletes, func() {
		if _, live := x.texts[n]; live != (gone == 1) {
			x.found("deleting document %d: %d were there, want %v", n, gone, live)
		} else if live {
			x.gone = append(x.gone, n)
		}
		delete(x.texts, n)
	})
	return nil
}

// growth compares quarters.
func (s *soak) growth() {
	quarter := len(s.r.Samples) / 4
	for name, of := range soakFigures {
		median := func(samples []SoakSample) float64 {
			var v []float64
			for _, x := range samples {
				v = append(v, of(x))
			}
			slices.Sort(v)
			return v[len(v)/2]
		}
		if before := median(s.r.Samples[quarter : 2*quarter]); before > 0 {
			s.r.Growth[name] = median(s.r.Samples[len(s.r.Samples)-quarter:])/before - 1
		}
	}
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

// WriteTable writes the report for people.
func (r *SoakReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d documents of %d dimensions, %d workers, %.0f s\n", r.Docs, r.Dim, r.Workers, r.Seconds)
	if r.LimitMB != nil {
		fmt.Fprintf(t, "memory limit of the Go runtime\t%.0f MiB\n", *r.LimitMB)
	}
	fmt.Fprintf(t, "reads, documents stored, deleted\t%d, %d, %d\n", r.Reads, r.Writes, r.Deletes)
	fmt.Fprintf(t, "wrong answers\t%d %s\n", r.Wrong, r.FirstWrong)
	most := map[string]float64{}
	for _, s := range r.Samples {
		for name, of := range soakFigures {
			most[name] = max(most[name], of(s))
		}
	}
	fmt.Fprintln(t, "\tmost\tlast quarter over the second")
	for _, name := range sortedKeys(soakFigures) {
		fmt.Fprintf(t, "%s\t%.4g\t%+.1f %%\n", name, most[name], 100*r.Growth[name])
	}
	return t.Flush()
}
