// Package load measures a database over its life: Run takes the times and sizes of its operations, and
// Soak works on one for hours and checks that nothing grows and nothing is lost. "lexsem bench engine"
// and "lexsem bench soak" are their commands.
package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/process"
)

// Parts are the parts of Run, in the order in which they run. Adding documents always
// runs.
var Parts = []string{
	"open", "search", "backup", "upsert", "add", "delete", "fit", "graph", "repartition", "snapshot", "deadlines", "close", "collapse",
}

// engineStalls are the parts that "stalls" includes.
var engineStalls = []string{"add", "delete", "fit", "graph", "repartition", "snapshot"}

// Options are the options of Run. A zero field means its default.
type Options struct {
	Docs    int      // number of documents; default 20,000
	Dim     int      // dimension of the vectors; default 384, and with Texts the encoder's
	Words   int      // words of a document, from half as many to half as many again; default 120
	Seed    uint64   // seed of texts, vectors and choices; default 1
	Rounds  int      // number of rounds; a stall is that of the best round; default 3
	Readers int      // goroutines that search during other work; default 1
	Parts   []string // some of Parts, or "stalls"; default all
	Dir     string   // folder of the databases, which are removed at the end; default is the system's temporary folder
	// Texts, if not "", is a corpus, as bench.ReadCorpora reads it, whose phrases make the texts. Encoder encodes
	// them, documents while they are added. Otherwise words and vectors are made, and Encoder must be nil.
	Texts   string
	Encoder encoder.Encoder
	// TokenStates is engine.Options.TokenStates.
	TokenStates string
	// Fresh runs MeasureProcess in a new process. nil runs it in this process, where memory
	// figures say less.
	Fresh func(ctx context.Context, dir string, o Options, replace bool) (*Process, error)
	// Progress, if not nil, is called by one goroutine at a time.
	Progress func(bench.Progress)

	sizes engineSizes
}

// engineSizes are the amounts of work during searches; tests use smaller ones.
type engineSizes struct {
	bulk     int // documents of the parts add and delete
	graph    int // documents at which a graph is built
	changes  int // changes after which derived state is saved, at least
	add      int // documents of an Add that Close meets
	fit      int // training queries of a fit beside searches
	closeFit int // training queries of a fit that Close meets
	alike    int // near-duplicates
	queries  int // different queries, 8 at least
	// stream is how long small commits follow one another. linger is how long searches are timed after
	// work returned. moment is how long a process must be idle to count as at rest.
	stream, linger, moment time.Duration
}

func (o *Options) fill() error {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&o.Docs, 20_000)
	set(&o.Dim, 384)
	set(&o.Words, lifeLength)
	set(&o.Rounds, 3)
	set(&o.Readers, 1)
	o.Seed = cmp.Or(o.Seed, 1)
	if o.sizes == (engineSizes{}) {
		o.sizes = engineSizes{
			bulk: 5000, graph: 50_000, changes: 20_000, add: 20_000, fit: 4000, closeFit: 20_000, alike: 7000, queries: 256,
			stream: 2 * time.Second, linger: time.Second, moment: 150 * time.Millisecond,
		}
	}
	if (o.Texts == "") != (o.Encoder == nil) {
		return fmt.Errorf("%w: Texts and Encoder go together; give both or neither", bench.ErrOption)
	}
	if o.Encoder != nil {
		o.Dim = o.Encoder.Dim()
	}
	if o.Words < 4 {
		return fmt.Errorf("%w: documents of %d words; use 4 at least", bench.ErrOption, o.Words)
	}
	if o.Docs < 20 || o.Dim < 2 || o.Rounds < 1 || o.Readers < 1 {
		return fmt.Errorf("%w: %d documents of %d dimensions, %d rounds, %d readers; use 20 documents, 2 dimensions, 1 round and 1 reader at least", bench.ErrOption, o.Docs, o.Dim, o.Rounds, o.Readers)
	}
	var parts []string
	for _, p := range o.Parts {
		switch {
		case p == "stalls":
			parts = append(parts, engineStalls...)
		case slices.Contains(Parts, p):
			parts = append(parts, p)
		default:
			return fmt.Errorf("%w: part %q; there are %s, and stalls", bench.ErrUnknownName, p, strings.Join(Parts, ", "))
		}
	}
	if o.Parts = parts; len(parts) == 0 {
		o.Parts = Parts
	}
	return nil
}

// Report is the result of Run. Its JSON form is stable. Figures that were not measured are
// null.
type Report struct {
	Docs int `json:"docs"`
	Dim  int `json:"dim"`
	// DocsPerSecond is the rate of Add for documents with their own vectors, 1,000 a commit.
	DocsPerSecond *float64 `json:"docs_per_second"`
	// SettledPerSecond and SettledPerCPUSecond are the documents by the time, and by the processor time of all threads,
	// until the background work after the last of them is done. The texts are made in that time.
	SettledPerSecond    *float64 `json:"docs_per_second_settled"`
	SettledPerCPUSecond *float64 `json:"docs_per_cpu_second_settled"`
	// OpenSeconds is the time to open a closed database. OpenBehind is the time to open one that was
	// killed after 1,000 more documents were added. Both are medians of Rounds processes.
	OpenSeconds *float64 `json:"open_seconds"`
	OpenBehind  *float64 `json:"open_behind_seconds"`
	// OpenCPU and OpenBehindCPU are their processor times.
	OpenCPU       *float64 `json:"open_cpu_seconds"`
	OpenBehindCPU *float64 `json:"open_behind_cpu_seconds"`
	// FirstMS is the time of the first search of a process, by vector and words.
	FirstMS *float64 `json:"first_search_ms"`
	// P50 and P99 are search times at rest, by vector and words, alternately dense and hybrid.
	P50 *float64 `json:"search_p50_ms"`
	P99 *float64 `json:"search_p99_ms"`
	// P50Beside and P99Beside are those beside a stream of commits of ten documents.
	P50Beside *float64 `json:"search_beside_writer_p50_ms"`
	P99Beside *float64 `json:"search_beside_writer_p99_ms"`
	// ControlMax is the largest stall.Control.
	ControlMax *float64 `json:"control_max_ms"`
	// AfterUpsert is the median time of the first search after an upsert of 1, 10 or 1,000 documents,
	// by their number: the larger of the modes dense and hybrid.
	AfterUpsert map[string]*float64 `json:"search_after_upsert_ms"`
	// Stall is stall.Stall by kind of work.
	Stall map[string]*float64 `json:"stall_ms"`
	// Overrun is the largest delay of a return after the call's deadline.
	Overrun *float64            `json:"deadline_overrun_ms"`
	Close   map[string]*float64 `json:"close_seconds"`
	// RSS is Process.RSS. BytesPerVector is Process.Held per document, without the 4·Dim
	// bytes of its vector. It includes everything else, such as words and caches.
	RSS            *float64 `json:"rss_mb"`
	BytesPerVector *float64 `json:"bytes_per_vector"`
	DiskBytes      *int64   `json:"disk_bytes"`
	// BackupSeconds is the time of a complete backup to a file of BackupBytes, BackupCPU the processor time.
	BackupSeconds *float64 `json:"backup_seconds"`
	BackupCPU     *float64 `json:"backup_cpu_seconds"`
	BackupBytes   *int64   `json:"backup_bytes"`
	// Parts are Process.Parts per document. JSONBytes is the mean size of a document as JSON
	// without its vector, over 1,000 documents.
	Parts     map[string]float64 `json:"memory_per_document"`
	JSONBytes *float64           `json:"json_per_document"`

	// The following fields are details.
	Modes  map[string]*mode  `json:"modes"`
	Stalls map[string]*stall `json:"stalls"`
	// Overruns is the largest delay after the deadline, by call. Collapse is the time of a collapsed
	// search of 10,000 hits over near-duplicates, in seconds.
	Overruns map[string]float64 `json:"deadline_overruns_ms"`
	Collapse *float64           `json:"collapse_seconds"`
	// DocsPerCPUSecond is DocsPerSecond by processor time of all threads. Other work on the machine
	// affects it less.
	DocsPerCPUSecond *float64 `json:"docs_per_cpu_second"`
	// RSSIngest is the growth of resident memory from adding the documents. RSSIngestOwn is the part
	// outside files, which the system cannot reclaim. RSSPeak is Process.Peak.
	RSSIngest    *float64 `json:"rss_after_ingest_mb"`
	RSSIngestOwn *float64 `json:"rss_own_after_ingest_mb"`
	RSSPeak      *float64 `json:"rss_peak_mb"`
	// ProductMS is the time of one product of a Dim×Dim float64 matrix with a vector, in plain Go.
	ProductMS float64 `json:"product_ms"`
}

// mode measures the searches of one mode. "dense" and "hybrid" search by vector and words,
// "vector" is dense without words, and "lexical" searches by words alone.
type mode struct {
	Variant     string              `json:"variant"` // variant that modulated the last search
	CPU         float64             `json:"cpu_ms"`  // mean processor time
	P50         float64             `json:"p50_ms"`
	P99         float64             `json:"p99_ms"`
	AfterUpsert map[string]*float64 `json:"after_upsert_ms"`
}

// life is the state of one Run.
type life struct {
	o       Options
	r       *Report
	enc     encoder.Encoder
	corpus  *lifeCorpus
	queries []engine.Query
	dir     string
	main    string // the folder of the database, closed
}

// Run measures a database under use: the rate of adding documents with vectors; search times at
// rest, after a commit and during other work; deadlines; the times of Open and Close; memory and disk.
// Texts and vectors are made, and no model runs. It uses only the API of package engine.
//
// Run it on an idle machine. Two runs are comparable if their control times agree. An error comes with
// a report of what was measured before it, unless nothing could be measured.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	b := &life{o: o, r: &Report{
		Docs: o.Docs, Dim: o.Dim, AfterUpsert: map[string]*float64{"1": nil, "10": nil, "1000": nil},
		Stall: map[string]*float64{}, Close: map[string]*float64{"idle": nil, "during_add": nil, "during_fit": nil},
		Modes: map[string]*mode{}, Stalls: map[string]*stall{}, Overruns: map[string]float64{},
		ProductMS: product(o.Dim),
	}}
	for _, name := range []string{"add_1", "add_10", "add_5000", "delete_5000", "fit", "graph", "repartition", "snapshot"} {
		b.r.Stall[name] = nil
	}
	if b.corpus, b.enc, err = o.corpus(ctx, o.Seed); err != nil {
		return nil, err
	}
	if b.queries, err = b.corpus.asked(ctx, b.enc, o.sizes.queries); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp(o.Dir, "lexsem-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.main = filepath.Join(b.dir, "main")
	steps := []struct {
		part string
		run  func(context.Context) error
	}{
		{"", b.ingest}, {"open", b.open}, {"search", b.search}, {"backup", b.backup}, {"upsert", b.upsert}, {"add", b.adds}, {"delete", b.adds}, {"fit", b.fits},
		{"graph", b.graph}, {"repartition", b.repartition}, {"snapshot", b.snapshot}, {"deadlines", b.deadlines}, {"close", b.closes}, {"collapse", b.collapse},
	}
	for i, s := range steps {
		if s.part != "" && !b.wants(s.part) || s.part == "delete" && b.wants("add") {
			continue
		}
		if o.Progress != nil {
			o.Progress(bench.Progress{Stage: "measure " + s.part, Done: i, Total: len(steps)})
		}
		if err := s.run(ctx); err != nil {
			return b.r, err
		}
	}
	return b.r, nil
}

func (b *life) wants(part string) bool { return slices.Contains(b.o.Parts, part) }

// ingest fills the database that all other parts use.
func (b *life) ingest(ctx context.Context) error {
	before, err := process.Memory(b.main)
	if err != nil {
		return err
	}
	e, err := b.create(ctx, b.main, engine.Options{})
	if err != nil {
		return err
	}
	per := func(took time.Duration) *float64 {
		return new(float64(b.o.Docs) / max(took, time.Millisecond).Seconds())
	}
	start, used := time.Now(), process.CPUTime()
	took, cpu, err := b.fill(ctx, e, b.o.Docs)
	if err == nil {
		b.r.DocsPerSecond, b.r.DocsPerCPUSecond = per(took), per(cpu)
		err = e.Flush(ctx)
	}
	if err == nil {
		b.r.SettledPerSecond, b.r.SettledPerCPUSecond = per(time.Since(start)), per(process.CPUTime()-used)
		err = rest(ctx, b.o.sizes.moment)
	}
	if after, memoryErr := process.Memory(b.main); memoryErr != nil {
		err = errors.Join(err, memoryErr)
	} else if after != nil {
		b.r.RSSIngest, b.r.RSSIngestOwn = process.MiB(after.Resident-before.Resident), process.MiB(after.Anonymous-before.Anonymous)
	}
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}
	n, err := process.DiskBytes(b.main)
	b.r.DiskBytes = &n
	return err
}

// fill adds new documents, a thousand per commit, and returns the clock time and the processor time
// spent in Add.
func (b *life) fill(ctx context.Context, e *engine.Engine, n int) (took, cpu time.Duration, err error) {
	for left := n; left > 0; {
		docs := b.corpus.fresh(min(left, 1000))
		start, used := time.Now(), process.CPUTime()
		if _, err := e.Add(ctx, docs); err != nil {
			return took, cpu, err
		}
		took, cpu = took+time.Since(start), cpu+process.CPUTime()-used
		left -= len(docs)
	}
	return took, cpu, nil
}

func (b *life) create(ctx context.Context, dir string, o engine.Options) (*engine.Engine, error) {
	o.TokenStates = b.o.TokenStates
	return engine.Open(ctx, dir, b.enc, o)
}

// with runs fn on a copy of a closed database, then closes and removes the copy. fn may close it.
func (b *life) with(ctx context.Context, from string, o engine.Options, fn func(e *engine.Engine, dir string) error) (err error) {
	dir := filepath.Join(b.dir, "copy")
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return err
	}
	e, err := b.create(ctx, dir, o)
	if err != nil {
		return err
	}
	return errors.Join(fn(e, dir), e.Close())
}

// onMain calls fn with the database of all documents, after a few searches.
func (b *life) onMain(ctx context.Context, fn func(e *engine.Engine) error) error {
	return b.with(ctx, b.main, engine.Options{}, func(e *engine.Engine, _ string) error {
		if err := b.warm(ctx, e); err != nil {
			return err
		}
		return fn(e)
	})
}

// warm searches a few times in every mode.
func (b *life) warm(ctx context.Context, e *engine.Engine) error {
	for _, q := range b.queries[:8] {
		for _, mode := range lifeModes {
			if _, err := e.Search(ctx, mode.of(q)); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonBytes is the mean size of a document as JSON without its vector.
func (b *life) jsonBytes() (*float64, error) {
	const n = 1000
	bytes := 0
	for _, d := range b.corpus.again(0, n) {
		raw, err := json.Marshal(map[string]any{"_id": d.ID, "text": d.Text, "metadata": d.Metadata})
		if err != nil {
			return nil, err
		}
		bytes += len(raw)
	}
	return new(float64(bytes) / n), nil
}

// product times a product of a dim×dim matrix with a vector.
func product(dim int) float64 {
	m, x, y := make([]float64, dim*dim), make([]float64, dim), make([]float64, dim)
	for i := range m {
		m[i] = 1 / float64(i+1)
	}
	for i := range x {
		x[i] = float64(i)
	}
	best := math.Inf(1)
	for range 5 {
		start := time.Now()
		for i := range y {
			row, s := m[i*dim:(i+1)*dim], 0.0
			for j, v := range row {
				s += v * x[j]
			}
			y[i] = s
		}
		best = min(best, ms(time.Since(start)))
	}
	return best
}
