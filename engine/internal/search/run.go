package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/spelling"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/index/late"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Run is one query over one state. Whoever makes it sets the fields up to In; [Run.Begin] or [Run.Over] then makes its
// legs ready. It is for one goroutine.
type Run struct {
	S    *state.State // nil over a Corpus
	By   *state.Modulation
	Q    Query
	Plan Plan
	In   modulate.Input // of the dense leg
	// Terms are those of the query, repaired ones included; Repairs are the words that are searched for beside mistyped ones.
	Terms   []text.Term
	Repairs spelling.Repairs
	// Clauses are the conditions of Q's text. Analyse gives the terms of a document, AnalyseQuery those of a query.
	Clauses               []Clause
	Analyse, AnalyseQuery func(string) []text.Term
	// Unrelated is the encoder's (encoder.Unrelated), 0 if not known.
	Unrelated float64
	// Facts tell what was done.
	Facts Facts
	// Files are those of a database of source code, nil for another one.
	Files *Files

	spoken   *modulate.Input // see lexical
	late     *late.Query     // the query's token states; nil where they are not compared
	rlr      modulate.RLROptions
	dense    leg // nil where the plan has none
	lexicon  lexicon
	chunks   int      // that there are
	typed    string   // the text of the query with its operators, which stand at the same bytes
	unmet    []string // quoted phrases that no document has
	filter   filtered
	fields   fields
	gains    map[uint64][]float64 // what the boosts give to candidates, by ordinal
	favours  []uint64             // documents, see favourites
	step     func(name string)
	foretold [2]line                                                                      // cosine and tokens of chunks without vectors
	passages map[uint64]float64                                                           // of files among the first candidates, by ordinal
	signals  map[uint64][fileSignals]float64                                              // of the candidates' files, by ordinal
	meeting  func(ctx context.Context, cs []fusion.Candidate) ([]fusion.Candidate, error) // leaves those that meet Clauses; nil where filter does
}

// Facts tell how a query was answered.
type Facts struct {
	Variant         string  // the modulation that was applied
	Filtered        int     // documents that met the filter
	Tokens, Lexical int     // of the query; those with lexical weight
	Truncated       int     // tokens beyond the encoder's limit
	Cells           int     // of the local bridges that were looked into
	Turned          float32 // cosine between the dense and the modulated vector
	Unfitted        int     // documents that the bridge in use has not seen
	Stale           int     // passages that came or went since RLR's factor
	Unknown         float64 // share of the query that the encoder does not know
}

// Asked is the query as the encoder is given it.
func (r *Run) Asked() Query {
	q := r.Q
	q.Text, _ = r.Repairs.Encoded(q.Text)
	return q
}

// For is the repaired query, "" where nothing was repaired.
func (r *Run) For() string {
	if len(r.Repairs) == 0 {
		return ""
	}
	return r.Repairs.Query(cmp.Or(r.typed, r.Q.Text))
}

// Begin makes the legs ready: it filters and modulates. tokens are the query's token
// states, nil where the plan does not compare them. step is called behind each step with
// its name.
func (r *Run) Begin(ctx context.Context, tokens *late.Query, o modulate.RLROptions, step func(string)) error {
	s := r.S
	r.set(ctx, o, step)
	r.lexicon, r.chunks = s.Words, s.Chunks()
	r.fields.values = r.inColumns
	r.Facts.Filtered = s.View.Len()
	r.compare(tokens)
	if !r.Q.Filter.IsZero() || len(r.Clauses) > 0 {
		m, err := r.let(ctx)
		if err != nil {
			return err
		}
		r.Facts.Filtered = m.Len()
		r.filter = newFiltered(s, m)
		step("filter")
	}
	if !r.Plan.Dense {
		return nil
	}
	vector, err := r.modulate(r.Plan.Way)
	if err != nil {
		return err
	}
	r.dense = oneVector{s, vector}
	found := r.Facts.Filtered
	if r.Plan.Way.Local && s.Local != nil && s.Local.Len() > 0 && found > 0 && r.Facts.Lexical > 0 {
		if r.dense, err = r.localLeg(ctx, vector, found); err != nil {
			return err
		}
	}
	step("modulate")
	return nil
}

// let are the documents that the filter and the clauses of the query let through.
func (r *Run) let(ctx context.Context) (m matches, err error) {
	if !r.Q.Filter.IsZero() {
		if m, err = r.S.Match(ctx, r.Q.Filter); err != nil {
			return nil, err
		}
	}
	if len(r.Clauses) == 0 {
		return m, nil
	}
	return r.required(ctx, m)
}

// set sets what both kinds of legs need.
func (r *Run) set(ctx context.Context, o modulate.RLROptions, step func(string)) {
	r.In.Ctx = ctx
	r.rlr, r.step = o, step
	r.Facts.Variant = None
	r.Plan.Fusion = r.Plan.Fusion.Calibrate(r.Unrelated)
	if r.Q.Vector == nil { // a vector of the caller's may be of one who knows more
		r.Facts.Unknown = r.In.Tokens.Unknown()
		if r.Plan.Fusion.Unknown == 0 {
			r.Plan.Fusion.Unknown = r.Facts.Unknown
		}
	}
}

// Modulate is the one vector of a query, whose tokens are of text, and what was done to it.
func Modulate(ctx context.Context, by *state.Modulation, w Way, text string, in modulate.Input, o modulate.RLROptions) ([]float32, Facts, error) {
	in.Ctx = ctx
	r := &Run{By: by, Q: Query{Text: text}, In: in, rlr: o}
	v, err := r.modulate(w)
	return v, r.Facts, err
}

func (r *Run) modulate(w Way) (vector []float32, err error) {
	vector = r.In.Dense
	f := &r.Facts
	f.Variant, f.Turned = w.Name, 1
	if w.Any {
		mod := w.With
		if mod == nil {
			if mod, f.Unfitted, err = Modulator(r.By, w.Stack, r.rlr); err != nil {
				return nil, err
			}
		}
		vector = mod.Modulate(make([]float32, 0, len(r.In.Dense)), r.lexical())
		f.Turned = vec.Dot(r.In.Dense, vector)
		if w.Stack.ReadsSums() {
			f.Stale, _ = r.By.Sums.Staleness()
			if err := r.sound(); err != nil {
				return nil, err
			}
		}
	}
	f.Tokens, f.Truncated = len(r.In.Tokens.IDs), r.In.Tokens.Truncated
	f.Lexical = len(r.lexical().Tokens.Lexical(nil))
	return vector, nil
}

// lexical is In as modulation reads it: punctuation has no lexical weight.
func (r *Run) lexical() modulate.Input {
	if r.spoken == nil {
		in := r.In
		in.Tokens = in.Tokens.Words(r.Q.Text)
		r.spoken = &in
	}
	return *r.spoken
}

// sound is the error of a vector that was made by the sums, if it does not hold: they tell none themselves.
func (r *Run) sound() error { return errors.Join(r.In.Ctx.Err(), r.By.Sums.Err()) }

// Release gives up what the Run holds of memory that others may use: it may not be asked any more. A Run
// that is not released is garbage like any other.
func (r *Run) Release() {
	if l, ok := r.dense.(*localLeg); ok {
		l.release()
	}
	r.dense = nil
}

func (r *Run) localLeg(ctx context.Context, vector []float32, found int) (leg, error) {
	other := func() ([]float32, error) { return vector, nil }
	if !r.Plan.Way.Any {
		mod, _, err := Modulator(r.By, rlr, r.rlr)
		if err != nil {
			return nil, err
		}
		other = sync.OnceValues(func() ([]float32, error) { return mod.Modulate(nil, r.lexical()), r.sound() })
	}
	in := r.lexical()
	in.Dense = vector
	// The cells hold chunks.
	chunks, most := found, found
	if all := r.S.View.Len(); all < r.S.Chunks() {
		chunks, most = chunksOf(r.S, found), r.S.Chunks()
	}
	l, err := newLocalLeg(ctx, r.S, in, r.In.Dense, other, chunks, most)
	if err != nil {
		return nil, err
	}
	r.Facts.Turned, r.Facts.Cells = l.turned(), len(l.cells)
	return l, nil
}

// Candidates runs the legs to a depth, beside each other, and returns what they name,
// with the scores of both and ranked; all says that there is nothing else to be found.
// Each leg also finds how the words match what it names. The step "lexical" is what
// that leg took longer than the dense one.
func (r *Run) Candidates(ctx context.Context, depth int) (cs []fusion.Candidate, all bool, err error) {
	if r.Plan.Listed {
		cs, all, err = r.listed(ctx, depth)
	} else if cs, all, err = r.candidates(ctx, depth); err == nil && r.meeting != nil {
		cs, err = r.meeting(ctx, cs)
	}
	if err == nil {
		err = r.boost(ctx, cs)
	}
	return cs, all, err
}

func (r *Run) candidates(ctx context.Context, depth int) (cs []fusion.Candidate, all bool, err error) {
	words := func() ([]fusion.Candidate, error) { return r.words(ctx, depth) }
	if r.dense == nil {
		if cs, err = words(); err != nil {
			return nil, false, err
		}
		all = len(cs) < depth
		r.step("lexical")
		more, err := r.favoured(ctx, cs)
		if err == nil {
			err = r.match(ctx, more)
		}
		for _, c := range more {
			if c.BM25 > 0 {
				c.Score = fusion.Lexical(c)
				cs = append(cs, c)
			}
		}
		return cs, all, err
	}
	if r.Plan.Lexical {
		words = beside(words)
		defer words() // it reads the state, which is the caller's no longer than this call
	}
	if cs, err = r.dense.nearest(ctx, depth, r.Q.Ef, r.filter); err != nil {
		return nil, false, err
	}
	all = len(cs) < depth
	if !r.Plan.Lexical {
		r.step("dense")
		more, err := r.favoured(ctx, cs)
		if err == nil {
			err = r.score(ctx, more)
		}
		for _, c := range more {
			if c.Score = c.Dense; !c.Waiting {
				cs = append(cs, c)
			}
		}
		if err != nil {
			return nil, false, err
		}
		return cs, all, r.rescore(ctx, cs)
	}
	if err := r.match(ctx, cs); err != nil {
		return nil, false, err
	}
	r.step("dense")
	best, err := words()
	if err != nil {
		return nil, false, err
	}
	r.step("lexical")
	if r.deferred() { // the dense leg does not name all that there is
		all = all && len(best) < depth
	}
	known := make(map[uint64]struct{}, len(cs))
	for _, c := range cs {
		known[c.Ord] = struct{}{}
	}
	for _, b := range best {
		if _, ok := known[b.Ord]; !ok {
			cs = append(cs, b)
		}
	}
	more, err := r.favoured(ctx, cs)
	if err == nil {
		err = r.match(ctx, more)
	}
	if err != nil {
		return nil, false, err
	}
	cs = append(cs, more...)
	if err := r.score(ctx, cs); err != nil {
		return nil, false, err
	}
	if err := r.matchTokens(ctx, cs); err != nil {
		return nil, false, err
	}
	r.learn(best, cs)
	r.foretell(cs)
	if err := r.Plan.Fusion.Fuse(cs); err != nil {
		return nil, false, err
	}
	r.step("fuse")
	return cs, all, r.byFiles(ctx, cs, true)
}

// lexicon is the words of the chunks that are searched: *inverted.Words, or a Corpus.
type lexicon interface {
	SearchMatches(ctx context.Context, terms []text.Term, k int, allow func(id uint64) bool) ([]uint64, []inverted.Match, error)
	Match(ctx context.Context, dst []inverted.Match, terms []text.Term, ids []uint64) error
	PairNumbers(dst []uint64, id uint64) ([]uint64, error)
}

// words is what the lexical leg names, with its scores and best first.
func (r *Run) words(ctx context.Context, depth int) ([]fusion.Candidate, error) {
	ids, matches, err := r.lexicon.SearchMatches(ctx, r.Terms, depth, r.filter.allow)
	cs := make([]fusion.Candidate, len(ids))
	for i, m := range matches {
		cs[i] = fusion.Candidate{Ord: ids[i], Match: m}
		cs[i].Score = fusion.Lexical(cs[i])
	}
	return cs, err
}

// beside starts f in a goroutine, and returns what waits for its answer.
func beside[T any](f func() (T, error)) func() (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = f()
	}()
	return func() (T, error) {
		<-done
		return v, err
	}
}

// order gives candidates the scores of both legs, and ranks them by the one
// that the plan ranks by.
func (r *Run) order(ctx context.Context, cs []fusion.Candidate) error {
	if len(cs) == 0 {
		return nil
	}
	if r.Plan.Listed {
		for i := range cs {
			cs[i].Score = r.unranked()
		}
		return nil
	}
	if r.dense != nil {
		if err := r.score(ctx, cs); err != nil {
			return err
		}
	}
	if r.Plan.Lexical {
		if err := r.match(ctx, cs); err != nil {
			return err
		}
	}
	if r.dense != nil && r.Plan.Lexical {
		if err := r.matchTokens(ctx, cs); err != nil {
			return err
		}
		r.foretell(cs)
		if err := r.Plan.Fusion.Fuse(cs); err != nil {
			return err
		}
		return r.byFiles(ctx, cs, false)
	}
	if r.late != nil {
		return r.rescore(ctx, cs)
	}
	by := fusion.Dense
	if r.Plan.Lexical {
		by = fusion.Lexical
	}
	for i := range cs {
		cs[i].Score = by(cs[i])
	}
	fusion.Sort(cs, by)
	return nil
}

// match gives every candidate its lexical scores: one that only the dense leg has
// named has true scores, not zero.
func (r *Run) match(ctx context.Context, cs []fusion.Candidate) error {
	ids := make([]uint64, len(cs))
	for i, c := range cs {
		ids[i] = c.Ord
	}
	matches := make([]inverted.Match, len(cs))
	if err := r.lexicon.Match(ctx, matches, r.Terms, ids); err != nil {
		return err
	}
	for i, m := range matches {
		cs[i].Match = m
	}
	return nil
}

// Place gives every chunk of version ord its scores among the candidates of the
// search, and returns the best one with the rank of its document, 0 if the legs
// do not name it.
func (r *Run) Place(ctx context.Context, ord uint64, chunks int) (best fusion.Candidate, rank int, err error) {
	cs, _, err := r.Candidates(ctx, max(minDepth, 2*r.Plan.K))
	if err != nil {
		return best, 0, err
	}
	named := map[uint64]bool{}
	for _, c := range cs {
		named[c.Ord] = true
	}
	for i := range chunks {
		if id := chunk.ID(ord, i); !named[id] {
			cs = append(cs, fusion.Candidate{Ord: id})
		}
	}
	if err := r.order(ctx, cs); err != nil {
		return best, 0, err
	}
	if err := r.boost(ctx, cs); err != nil {
		return best, 0, err
	}
	before := map[uint64]struct{}{}
	for _, c := range cs {
		if chunk.Ord(c.Ord) == ord {
			if named[c.Ord] {
				rank = len(before) + 1
			}
			return c, rank, nil
		}
		before[chunk.Ord(c.Ord)] = struct{}{}
	}
	return best, 0, fmt.Errorf("%w: version %d has no chunk", store.ErrCorrupt, ord)
}

// Allows says whether a chunk may be found.
func (r *Run) Allows(id uint64) bool { return r.filter.allow == nil || r.filter.allow(id) }

// VectorFor is the vector that a candidate's Dense compares it with.
func (r *Run) VectorFor(id uint64) []float32 { return r.dense.vectorFor(id) }

// Attribute divides the modulated score of a candidate among the tokens: first
// that of the stack, then what local bridges add to it. whole says that the parts
// add up to it.
func (r *Run) Attribute(c fusion.Candidate, passage []float32) (a modulate.Attribution, whole bool, err error) {
	local, ok := r.dense.(*localLeg)
	if !r.Plan.Way.Any && !ok {
		return modulate.Attribution{Plain: c.Dense}, true, nil
	}
	a = modulate.Attribution{Plain: float64(vec.Dot(r.In.Dense, passage))}
	if r.Plan.Way.Any {
		mod, _, err := Modulator(r.By, r.Plan.Way.Stack, r.rlr)
		if err != nil {
			return a, false, err
		}
		attributor, ok := mod.(modulate.Attributor)
		if !ok {
			return a, false, nil
		}
		a = attributor.Attribute(r.lexical(), passage)
	}
	shares := make(map[int32]float64)
	if ok {
		if shares, err = local.shares(c.Ord, passage); err != nil {
			return a, false, err
		}
	}
	sum := a.Plain + a.Bias
	for i := range a.Tokens {
		t := &a.Tokens[i]
		t.Shift += shares[t.ID]
		delete(shares, t.ID)
		sum += t.Scale + t.Shift
	}
	for _, id := range r.lexical().Tokens.Lexical(nil) {
		if share, ok := shares[id]; ok {
			sum += share
			a.Tokens = append(a.Tokens, modulate.TokenShare{ID: id, Shift: share})
		}
	}
	return a, math.Abs(sum-c.Dense) < 1e-3, nil
}
