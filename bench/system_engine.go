package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/memo"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/bench/process"
)

// engine searches a database of the passages with the engine's Search and default options.
var _ = RegisterSystem(SystemKind{
	Name:  "engine",
	Usage: "engine[:MODE[/VARIANT][/tokens][/chunk=N]]",
	Doc:   "a database of the passages, long ones in chunks, as the engine answers from it: MODE is hybrid unless named, dense or lexical; tokens keeps token states; chunk= is of how many tokens, -1 for whole texts; its times include encoding the query",
	Make: func(arg string) (System, error) {
		o, err := parseEngine(arg)
		if err != nil {
			return System{}, err
		}
		name := "engine"
		if arg != "" {
			name += ":" + arg
		}
		return System{Name: name, Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) { return o.prepare(ctx, s) }}, nil
	},
})

// engineSystem describes the searches of a system.
type engineSystem struct {
	mode, variant string // "" for the engine's own choice
	tokens        bool
	chunk         int  // engine.Options.ChunkTokens
	over          bool // in front of Setting.Over
}

func parseEngine(arg string) (o engineSystem, err error) {
	if arg == "" {
		return o, nil
	}
	short := arg
	if at := strings.LastIndex(arg, "/chunk="); at >= 0 {
		if o.chunk, err = strconv.Atoi(arg[at+len("/chunk="):]); err != nil {
			return o, fmt.Errorf("%w: engine:%s: %w", ErrOption, arg, err)
		}
		if err := (engine.Options{ChunkTokens: o.chunk}).Validate(); err != nil {
			return o, fmt.Errorf("%w: engine:%s: %w", ErrOption, arg, err)
		}
		short = arg[:at]
	}
	mode, rest, _ := strings.Cut(short, "/")
	o.mode = mode
	if !slices.Contains([]string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical}, mode) {
		return o, fmt.Errorf("%w: engine:%s: mode %q; use engine:%s, engine:%s or engine:%s", ErrOption, arg, mode, engine.ModeHybrid, engine.ModeDense, engine.ModeLexical)
	}
	if rest, o.tokens = strings.CutSuffix("/"+rest, "/tokens"); strings.Count(rest, "/") > 1 {
		return o, fmt.Errorf("%w: engine:%s; use engine:MODE, and /VARIANT, /tokens and /chunk=N after it", ErrOption, arg)
	}
	o.variant = strings.TrimPrefix(rest, "/")
	return o, nil
}

func (o engineSystem) prepare(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
	began, cpuBegan := time.Now(), process.CPUTime()
	d, made, err := s.database(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	r := engineRetriever{d, engine.Query{Mode: o.mode, Variant: o.variant, Plain: true}}
	if o.tokens && o.mode == engine.ModeDense { // which reads them where a query says so
		r.query.Fusion.Tokens = besideVectors
	}
	return r, &Fit{Seconds: time.Since(began).Seconds(), CPUSeconds: (process.CPUTime() - cpuBegan).Seconds(), Cached: !made, Bytes: d.bytes, Passages: s.Targets.Len()}, nil
}

// database is the engine's database of one of the targets.
type database struct {
	engine engine.Database
	at     map[string]int // target by id, the first chunk of a text
	bytes  int64
}

// kind returns the database that a system uses, without the options of its searches.
func (o engineSystem) kind() engineSystem {
	o.mode, o.variant = "", ""
	return o
}

// database creates the database of a system, or returns the existing one.
func (s *Setting) database(ctx context.Context, o engineSystem) (d *database, made bool, err error) {
	if d = s.databases[o.kind()]; d != nil {
		return d, false, nil
	}
	d = &database{at: map[string]int{}}
	for i, p := range s.Targets.first {
		if _, again := d.at[p.ID]; !again {
			d.at[p.ID] = i
		}
	}
	if o.over {
		d.engine, err = s.openOver(ctx)
	} else {
		d.engine, err = s.openEngine(ctx, o)
	}
	if err != nil {
		return nil, false, err
	}
	st, err := d.engine.Stats(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, bytes := range st.Memory.Parts() {
		d.bytes += bytes
	}
	if s.databases == nil {
		s.databases = map[engineSystem]*database{}
	}
	s.databases[o.kind()] = d
	return d, true, nil
}

// openEngine makes a database of the targets.
func (s *Setting) openEngine(ctx context.Context, o engineSystem) (engine.Database, error) {
	dir, err := os.MkdirTemp("", "lexsem-bench-")
	if err != nil {
		return nil, err
	}
	s.atClose(func() error { return os.RemoveAll(dir) })
	states := engine.TokenStatesOff
	if o.tokens {
		states = engine.TokenStatesOn
	}
	e, err := engine.Open(ctx, dir, memo.Lent{Encoder: s.Encoder}, engine.Options{TokenStates: states, ChunkTokens: cmp.Or(o.chunk, max(0, s.ChunkTokens)), Language: s.Language})
	if err != nil {
		return nil, err
	}
	s.atClose(e.Close)
	docs := make([]engine.Document, s.texts.Len())
	for i, p := range s.texts.first {
		docs[i] = engine.Document{ID: p.ID, Title: p.Title, Text: p.Body}
	}
	for at := 0; at < len(docs); at += encodeBatch {
		s.Report(Progress{Stage: "index", Done: at, Total: len(docs)})
		if _, err := e.Add(ctx, docs[at:min(at+encodeBatch, len(docs))]); err != nil {
			return nil, err
		}
	}
	if o.tokens { // documents that came before there was a basis
		if _, err := e.KeepTokenStates(ctx); err != nil {
			return nil, err
		}
	}
	return e, e.Flush(ctx)
}

// engineRetriever asks a database.
type engineRetriever struct {
	*database
	query engine.Query
}

func (r engineRetriever) bytes() int64 { return r.database.bytes }

// Retrieve implements Retriever with one search per question, by its text.
func (r engineRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel.Each(ctx, len(questions), func(i int) error {
		q := r.query
		q.Text, q.K = questions[i].Text, k
		answer, err := r.engine.Search(ctx, q)
		if err != nil {
			return fmt.Errorf("searching for %q: %w", q.Text, err)
		}
		for _, h := range answer.Hits {
			out[i] = append(out[i], Hit{Target: r.at[h.ID], Score: float64(h.Score), Probability: float64(h.Probability)})
		}
		return nil
	})
	return out, err
}

// Close closes and removes what systems opened and wrote. Retrievers of the setting can no
// longer be used.
func (s *Setting) Close() (err error) {
	for _, end := range slices.Backward(s.ends) {
		err = errors.Join(err, end())
	}
	s.ends, s.databases = nil, nil
	return err
}

// atClose makes Close call end.
func (s *Setting) atClose(end func() error) { s.ends = append(s.ends, end) }
