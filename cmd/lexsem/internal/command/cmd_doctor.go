package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
	"github.com/lexsem/lexsem/internal/cachefile"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/secret"
	"github.com/lexsem/lexsem/store"
)

var cmdDoctor = command{
	name:    "doctor",
	summary: "check this machine, and with --db a database",
	about: `
Checks the build, the cache, the runtime, the model and the vectors that the model computes. It
downloads nothing. Files in the cache are hashed; other commands compare only their size and time.

With --db it also checks the database. It reads every record and its checksum; compares every
vector, its codes, the words and the metadata with the stored documents; recounts a sample of the
sufficient statistics and cells; searches for a sample of vectors by themselves; and reports how
much of the corpus the fitted bridge has seen. The exit code is that of the first check that failed.

With --repair it repairs the database. Data that is derived from the stored documents is rebuilt if
it is wrong. If stored documents are damaged, the database stays as it is: every readable document
is saved into a new database next to it, and the others are named. The exit code is 0 if no document
is lost, else 5. --model is needed only if the record that names the model is lost. For a database
without a model whose record is lost, --dim gives the length of the vectors, and --metric the metric
if it is not cosine.`,
	examples: []string{"lexsem doctor --db notes.db --json", "lexsem doctor --repair --db notes.db --to rescued.db"},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print as JSON")
		repair := f.bool("repair", "repair the database, or save its readable documents into a new one")
		to := f.str("to", "", "`DIR`folder of the new database of --repair; it must not exist (default DB"+salvagedSuffix+")")
		dim := f.int("dim", 0, "for --repair: length of the vectors, if the database has no model and its record is lost")
		metric := f.str("metric", "", "`NAME`for --repair: metric of the vectors, if its record is lost; default cosine")
		return func(ctx context.Context, a *app, _ []string) error {
			switch {
			case *repair:
				return runRepair(ctx, a, *to, *dim, *metric, *asJSON)
			case *to != "":
				return usagef("--to goes with --repair")
			case *dim != 0:
				return usagef("--dim goes with --repair")
			case *metric != "":
				return usagef("--metric goes with --repair")
			}
			return runDoctor(ctx, a, *asJSON)
		}
	},
}

// check is one line of doctor.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
	err    error
}

// doctorReport is the output of doctor --json.
type doctorReport struct {
	Healthy  bool                   `json:"healthy"`
	Version  versionInfo            `json:"version"`
	CPU      []string               `json:"cpu_features"`
	CacheDir string                 `json:"cache_dir"`
	From     []provision.Provenance `json:"from"`
	Backend  string                 `json:"backend,omitempty"` // "onnx" or "native"
	Checks   []check                `json:"checks"`
	Database *databaseReport        `json:"database,omitempty"`
}

type databaseReport struct {
	statsSummary
	SelfRecall  float64  `json:"self_recall"`
	Sampled     int      `json:"sampled"`
	Vectors     int      `json:"vectors_checked"` // with their codes, against the stored ones
	Sums        int      `json:"sums"`            // of tokens, that RLR keeps
	SumsDone    int      `json:"sums_recounted"`
	Cells       int      `json:"cells"` // of local bridges
	CellsDone   int      `json:"cells_recounted"`
	Unreachable int      `json:"unreachable"`
	Unfitted    int      `json:"unfitted"`
	Problems    []string `json:"problems"`

	Files answer.Problems `json:"file_problems"` // what stats --json has as problems
}

func (r *doctorReport) pass(name, format string, args ...any) {
	r.Checks = append(r.Checks, check{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)})
}

func (r *doctorReport) fail(name string, err error) {
	c := check{Name: name, Detail: secret.Hide(summaryOf(err)), Remedy: secret.Hide(hintOf(err)), err: err}
	r.Checks = append(r.Checks, c)
}

func (r *doctorReport) error() error {
	for _, c := range r.Checks {
		if !c.OK {
			return hinted(&checkFailed{c}, c.Remedy)
		}
	}
	return nil
}

// checkFailed ends doctor with the exit code of the failed check.
type checkFailed struct{ check }

func (e *checkFailed) Error() string { return fmt.Sprintf("%s: %s", e.Name, e.Detail) }
func (e *checkFailed) Unwrap() error { return e.err }

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	if a.db != "" {
		if _, err := a.needDB(); err != nil {
			return err
		}
	}
	r := &doctorReport{Version: versions(), CPU: cpuFeatures(), From: []provision.Provenance{}}
	r.environment(a)
	model := a.model
	if model == "" && a.db != "" {
		stored, err := a.storedModel(ctx, a.db)
		if err != nil {
			r.fail("database", err)
		}
		model = stored
	}
	model = cmp.Or(model, a.defaultModel())
	enc := r.encoder(ctx, a, model)
	if enc != nil {
		defer enc.Close()
	}
	if a.db != "" && r.error() == nil || a.db != "" && enc == nil && !r.failed("database") {
		r.database(ctx, a, enc)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := r.error()
	r.Healthy = err == nil
	if asJSON {
		if e := json.NewEncoder(a.Stdout).Encode(r); e != nil {
			return e
		}
		return err
	}
	r.write(a)
	return err
}

func (r *doctorReport) failed(name string) bool {
	for _, c := range r.Checks {
		if c.Name == name && !c.OK {
			return true
		}
	}
	return false
}

func (r *doctorReport) environment(a *app) {
	v := r.Version
	r.pass("program", "lexsem %s, %s, %s, %d CPUs, %s", v.Version, v.Go, v.Platform, runtime.NumCPU(), strings.Join(r.CPU, " "))
	if v.CGO {
		r.pass("cgo", "on: ONNX Runtime can be used")
	} else {
		r.pass("cgo", "off: models are run in Go")
	}
	dir, err := a.cacheDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		r.CacheDir = dir
		var f *os.File
		if f, err = os.CreateTemp(dir, ".doctor-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		r.fail("cache", hinted(err, "name a writable folder with --cache or LEXSEM_CACHE"))
		return
	}
	r.pass("cache", "%s, writable", dir)
	folder, err := a.vectorCacheDir()
	var files []cachefile.File
	if err == nil {
		files, err = cachefile.Files(folder)
	}
	if err != nil {
		r.fail("vectors", err)
		return
	}
	var vectors, states int64
	models := 0
	for _, f := range files {
		if f.States {
			states += f.Bytes
		} else {
			vectors += f.Bytes
			models++
		}
	}
	of := bytesOf(vectors) + " of " + count(models, "model", "models")
	if states > 0 {
		of += ", and " + bytesOf(states) + " of token states"
	}
	r.pass("vectors", "of texts that were encoded, %s, are kept in %s", of, folder)
}

// encoder checks runtime and model and returns the open encoder, or nil.
func (r *doctorReport) encoder(ctx context.Context, a *app, model string) encoder.Encoder {
	if dense, sparse := encoder.SplitSparse(model); sparse != "" {
		both := []encoder.Encoder{r.encoder(ctx, a, cmp.Or(dense, a.defaultModel())), r.encoder(ctx, a, sparse)}
		if both[0] == nil || both[1] == nil {
			return cmp.Or(both...)
		}
		enc, err := encoder.WithSparse(both[0], both[1])
		if err != nil {
			r.fail("encoder", err)
		}
		return enc
	}
	if dim, ok, err := modelname.Hash(model); ok || err != nil {
		if err != nil {
			r.fail("model", err)
			return nil
		}
		r.pass("model", "%s, no runtime needed", model)
		return encoder.NewHash(dim)
	}
	switch {
	case model == modelNone:
		r.pass("model", "none: the database holds only vectors")
		return nil
	case modelname.Remote(model):
		r.pass("model", "%s, behind a URL; not checked", model)
		return nil
	}
	p := a.progress()
	o := a.modelOptions(p)
	o.Offline, o.Verify = true, true
	m, err := models.Find(ctx, model, o)
	p.done()
	if err != nil {
		r.fail("model", modelError(err))
		return nil
	}
	r.From = m.From
	for _, f := range m.From {
		digest := ""
		if f.SHA256 != "" {
			digest = ", SHA-256 " + clipColumns(f.SHA256, 13)
		}
		r.pass(f.Artifact, "%s, %s%s", f.Path, origin(f), digest)
	}
	begin := time.Now()
	enc, backend, err := m.Open(ctx)
	if err != nil {
		r.fail("encoder", modelError(err))
		return nil
	}
	r.Backend = backend
	if err := selfTest(ctx, enc); err != nil {
		r.fail("encoder", err)
		return enc
	}
	fp := enc.Fingerprint()
	r.pass("encoder", "%s: %d dimensions, %s, %s pooling, %d tokens; run by %s; opened and tested in %s",
		fp.Model, fp.Dim, fp.Precision, fp.Pooling, fp.MaxTokens, backendWords(backend), short(time.Since(begin)))
	return enc
}

// selfTest encodes the probe texts one by one and compares the vectors with the
// fingerprint, which the encoder computed in one batch.
func selfTest(ctx context.Context, enc encoder.Encoder) error {
	want := enc.Fingerprint()
	got := want
	for i, text := range encoder.ProbeTexts {
		out, err := enc.Encode(ctx, encoder.Passage, encoder.Texts(text), encoder.NeedDense)
		if err != nil {
			return err
		}
		got.Probe[i] = out[0].Dense
	}
	return encoder.Check("the encoder's own probe", want, got)
}

func (r *doctorReport) database(ctx context.Context, a *app, enc encoder.Encoder) {
	o := engine.Options{MustExist: true, Logger: a.warnings()}
	e, err := a.join(ctx, a.db, o, wants{open: func(ctx context.Context) (*own, error) {
		e, err := engine.Open(ctx, a.db, enc, o)
		if errors.Is(err, store.ErrLocked) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			o.ReadOnly = true // what is checked can be read beside other readers, too
			e, err = engine.Open(ctx, a.db, enc, o)
		}
		if err != nil {
			return nil, notFound(err, a.db)
		}
		w := &own{Engine: e, app: a, alone: o.ReadOnly}
		if enc != nil {
			w.model = enc.Fingerprint().Model
		}
		return w, nil
	}})
	if err != nil {
		r.fail("database", err)
		return
	}
	held := heldBy(e)
	p := a.progress()
	rep, err := e.Verify(ctx, func(ev engine.Progress) {
		p.update(step{stage: ev.Stage, done: ev.Done, total: ev.Total, unit: "records"})
	})
	p.done()
	var stats engine.Stats
	if err == nil {
		stats, err = e.Stats(ctx)
	}
	if err := errors.Join(err, e.close()); err != nil {
		r.fail("database", err)
		return
	}
	r.Database = &databaseReport{
		statsSummary: statsSummary{answer.NewStats(stats), held, nil}, SelfRecall: rep.SelfRecall, Sampled: rep.Sampled, Vectors: rep.Vectors,
		Sums: rep.Sums, SumsDone: rep.SumsRecounted, Cells: rep.Cells, CellsDone: rep.CellsRecounted,
		Unreachable: rep.Unreachable, Unfitted: rep.Unfitted, Problems: append([]string{}, rep.Problems...),
	}
	r.Database.Files = r.Database.statsSummary.Problems
	if held != nil {
		r.pass("holder", "%v has the database open and answered these checks", *held)
	}
	if len(rep.Problems) > 0 {
		r.fail("database", hinted(fmt.Errorf("%w: %s: %s", store.ErrCorrupt, count(len(rep.Problems), "problem", "problems"), rep.Problems[0]),
			"`lexsem doctor --repair --db DIR` repairs it, or saves the readable documents into a new database"))
	} else {
		r.pass("database", "%s, format %d: %s, every checksum right", stats.Dir, stats.FormatMajor, count(rep.Documents, "document", "documents"))
	}
	if rep.Documents > 0 {
		r.pass("index", "%s: %d of %d vectors unreachable, self-recall %.4f on %s", stats.Index, rep.Unreachable, rep.Vectors,
			rep.SelfRecall, count(rep.Sampled, "vector", "vectors"))
		r.pass("proof", "%s, their codes, words and metadata held to what is stored; %d of %s and %d of %s recounted",
			count(rep.Vectors, "vector", "vectors"), rep.SumsRecounted, count(rep.Sums, "sum", "sums"), rep.CellsRecounted, count(rep.Cells, "cell", "cells"))
	}
	if stats.Note != "" {
		r.pass("language", "%s", stats.Note)
	}
	if n := problemCounts(stats.Problems); n != "" {
		r.pass("files", "%s; the first: %s", n, problemLine(stats.Problems.First[0]))
	}
	bridge := "follows every change"
	switch {
	case stats.Default == engine.VariantNone:
		bridge = "is all there is by metric " + stats.Metric
	case stats.Default == "rlr" || stats.Default == engine.VariantLocal:
	case rep.Unfitted == 0:
		bridge = "has seen all passages"
	default:
		bridge = fmt.Sprintf("has not seen %s: run `lexsem fit` again", count(rep.Unfitted, "passage", "passages"))
	}
	r.pass("bridge", "%s %s", stats.Default, bridge)
}

func (r *doctorReport) write(a *app) {
	width := 1 << 16 // one line a check where it is not read but searched
	if a.StdoutTerminal {
		width = max(40, min(a.Width, 100)-24)
	}
	for _, c := range r.Checks {
		mark := a.style(green, "ok  ")
		if !c.OK {
			mark = a.style(red, "FAIL")
		}
		lines := strings.Split(strings.TrimRight(wrap(c.Detail, 0, width), "\n"), "\n")
		fmt.Fprintf(a.Stdout, "%s  %s  %s\n", mark, padRight(c.Name, 16), lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintf(a.Stdout, "%24s%s\n", "", l)
		}
	}
	if d := r.Database; d != nil {
		for i, p := range d.Problems {
			if i > 0 { // the first one stands above
				io.WriteString(a.Stdout, wrap(p, 24, 24+width))
			}
		}
	}
}

func padRight(s string, n int) string {
	if k := len([]rune(s)); k < n {
		return s + strings.Repeat(" ", n-k)
	}
	return s
}

// cpuFeatures names the instruction sets that the arithmetic can use.
func cpuFeatures() []string {
	out := []string{}
	for _, f := range []struct {
		has  bool
		name string
	}{
		{cpu.X86.HasAVX2, "avx2"}, {cpu.X86.HasFMA, "fma"}, {cpu.X86.HasAVX512F, "avx512f"},
		{cpu.X86.HasAVX512VNNI, "avx512vnni"}, {cpu.ARM64.HasASIMD, "neon"}, {cpu.ARM64.HasASIMDDP, "dotprod"},
	} {
		if f.has {
			out = append(out, f.name)
		}
	}
	return out
}
