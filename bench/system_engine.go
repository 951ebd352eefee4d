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
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/memo"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/bench/process"
)

// engine searches a database of the passages with the engine's Search and default options.
var _ = RegisterSystem(SystemKind{
	Name:  "engine",
	Usage: "engine[:MODE[/VARIANT][/tokens][/rerank][/chunk=N]]",
	Doc:   "a database of the passages, long ones in chunks, as the engine answers from it: MODE is hybrid unless named, dense or lexical; tokens keeps token states; rerank has the reranker of the run order the first hits anew; chunk= is of how many tokens, -1 for whole texts",
	Make: func(arg string) (System, error) {
		o, err := parseEngine(arg)
		if err != nil {
			return System{}, err
		}
		name := "engine"
		if arg != "" {
			name += ":" + arg
		}
		return o.system(name), nil
	},
})

// engineSystem describes the searches of a system.
type engineSystem struct {
	mode, variant string // "" for the engine's own choice
	tokens        bool
	rerank        bool
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
	rest, o.rerank = strings.CutSuffix("/"+rest, "/rerank")
	if rest, o.tokens = strings.CutSuffix(rest, "/tokens"); strings.Count(rest, "/") > 1 {
		return o, fmt.Errorf("%w: engine:%s; use engine:MODE, and /VARIANT, /tokens, /rerank and /chunk=N after it", ErrOption, arg)
	}
	o.variant = strings.TrimPrefix(rest, "/")
	return o, nil
}

var errNoReranker = fmt.Errorf("%w: a system with /rerank needs a reranker; name one (--rerank)", ErrOption)

func (o engineSystem) system(name string) System {
	s := System{Name: name, Need: encoder.NeedDense, Reranks: o.rerank, Prepare: o.prepare}
	if o.tokens {
		s.Need |= encoder.NeedHidden
	}
	if o.mode != engine.ModeDense && o.mode != engine.ModeLexical {
		s.Constants = slices.DeleteFunc(slices.Clone(constants.OfFusion[fusion.Calibrated]), func(name string) bool { return name == "power" || name == "unknown" })
		if o.tokens {
			s.Constants = append(s.Constants, constants.Tokens)
		}
	}
	return s
}

func (o engineSystem) prepare(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
	began, cpuBegan := time.Now(), process.CPUTime()
	d, made, err := s.database(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	r := engineRetriever{d, d.engine, engine.Query{Mode: o.mode, Variant: o.variant, Plain: true, Fusion: fusedBy(s.Constants, fusion.Options{})}}
	if o.tokens && o.mode == engine.ModeDense { // which reads them where a query says so
		r.query.Fusion.Tokens = 1
	}
	if o.rerank {
		if s.Reranker == nil {
			return nil, nil, errNoReranker
		}
		r.db = engine.WithReranker(r.db, s.Reranker, s.RerankDepth)
	}
	return r, &Fit{Seconds: time.Since(began).Seconds(), CPUSeconds: (process.CPUTime() - cpuBegan).Seconds(), Cached: !made, Bytes: d.bytes, Passages: s.Targets.Len()}, nil
}

// database is the engine's database of one of the targets.
type database struct {
	engine engine.Database
	enc    *lent
	at     map[string]int // target by id, the first chunk of a text
	bytes  int64
}

// kind returns the database that a system uses, without the options of its searches.
func (o engineSystem) kind() engineSystem {
	o.mode, o.variant, o.rerank = "", "", false
	return o
}

// database creates the database of a system, or returns the existing one.
func (s *Setting) database(ctx context.Context, o engineSystem) (d *database, made bool, err error) {
	if d = s.databases[o.kind()]; d != nil {
		return d, false, nil
	}
	d = &database{enc: &lent{Lent: memo.Lent{Encoder: s.Encoder}}, at: map[string]int{}}
	for i, p := range s.Targets.first {
		if _, again := d.at[p.ID]; !again {
			d.at[p.ID] = i
		}
	}
	if o.over {
		d.engine, err = s.openOver(ctx, d.enc)
	} else {
		d.engine, err = s.openEngine(ctx, d.enc, o)
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
func (s *Setting) openEngine(ctx context.Context, enc encoder.Encoder, o engineSystem) (engine.Database, error) {
	dir, err := os.MkdirTemp("", "lexsem-bench-")
	if err != nil {
		return nil, err
	}
	s.atClose(func() error { return os.RemoveAll(dir) })
	states := engine.TokenStatesOff
	if o.tokens {
		states = engine.TokenStatesOn
	}
	e, err := engine.Open(ctx, dir, enc, engine.Options{TokenStates: states, ChunkTokens: cmp.Or(o.chunk, max(0, s.ChunkTokens)), Language: s.Language})
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
	db    engine.Database // reranked or not
	query engine.Query
}

func (r engineRetriever) bytes() int64 { return r.database.bytes }

// Retrieve implements Retriever with one search per question, by its text.
func (r engineRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	for _, q := range questions {
		r.enc.asked.Store(q.Text, q.Output)
	}
	out := make([][]Hit, len(questions))
	err := parallel.Each(ctx, len(questions), func(i int) error {
		q := r.query
		q.Text, q.K = questions[i].Text, k
		answer, err := r.db.Search(ctx, q)
		if err != nil {
			return fmt.Errorf("searching for %q: %w", q.Text, err)
		}
		for j, h := range answer.Hits {
			hit := Hit{Target: r.at[h.ID], Score: float64(h.Score), Probability: float64(h.Probability)}
			if answer.Trace.Reranked > 0 { // by scores of their own
				hit.Score = float64(len(answer.Hits) - j)
			}
			out[i] = append(out[i], hit)
		}
		return nil
	})
	return out, err
}

// lent is the encoder of a database. It knows the questions that are asked, so times are those of searches.
type lent struct {
	memo.Lent
	asked sync.Map // encoder.Output by text
}

// Encode implements encoder.Encoder.
func (l *lent) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if texts, err := encoder.TextsOf(in); err == nil && len(texts) == 1 && role == encoder.Query {
		known, _ := l.asked.Load(texts[0])
		o, _ := known.(encoder.Output)
		if need&^(encoder.NeedDense|encoder.NeedHidden) == 0 && o.Dense != nil && (o.Hidden != nil || need&encoder.NeedHidden == 0) {
			o.Dense, o.Hidden = slices.Clone(o.Dense), slices.Clone(o.Hidden)
			return []encoder.Output{o}, nil
		}
	}
	return l.Lent.Encode(ctx, role, in, need)
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
