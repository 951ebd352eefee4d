package search

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/spelling"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Run is one query over one state. Its creator sets the fields up to In; [Run.Begin] or [Run.Over] then prepares the
// retrievers. It is for one goroutine.
type Run struct {
	S    *state.State // nil over a Corpus
	By   *state.Modulation
	Q    Query
	Plan Plan
	In   modulate.Input // of the dense leg
	// Terms are the terms of the query, with the repaired ones; Repairs are the words that are searched for in addition
	// to mistyped ones.
	Terms   []text.Term
	Repairs spelling.Repairs
	// Clauses are the conditions of Q's text. Analyse returns the terms of a document, AnalyseQuery those of a
	// query.
	Clauses               []Clause
	Analyse, AnalyseQuery func(string) []text.Term
	// Unrelated is the encoder's (encoder.Unrelated), 0 if not known.
	Unrelated float64
	// Model is its name.
	Model string
	// Facts report what was done.
	Facts Facts
	// Files are the properties of files in a database of source code; nil in other databases.
	Files *Files

	spoken   *modulate.Input // see lexical
	impacts  []text.Term     // of the query; none where they are not compared
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
	asked    []uint64             // chunks of the files that the query names
	lifts    map[uint64]float64   // what certain adds to scores, by id of the chunk
	places   []exact              // the strings of a query for places
	placed   []placed             // the documents that have them, in the order of their ids
	step     func(name string)
	foretold [3]line                                                                      // cosine, tokens and impacts of chunks without vectors
	passages map[uint64]float64                                                           // of files among the first candidates, by ordinal
	signals  map[uint64][fileSignals]float64                                              // of the candidates, by chunk
	meeting  func(ctx context.Context, cs []fusion.Candidate) ([]fusion.Candidate, error) // leaves those that meet Clauses; nil where filter does
}

// Facts report how a query was answered.
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

// Asked returns the query in the form that the encoder gets.
func (r *Run) Asked() Query {
	q := r.Q
	q.Text, _ = r.Repairs.Encoded(q.Text)
	return q
}

// For is the repaired query, "" if nothing was repaired.
func (r *Run) For() string {
	if len(r.Repairs) == 0 {
		return ""
	}
	return r.Repairs.Query(cmp.Or(r.typed, r.Q.Text))
}

// Begin prepares the retrievers: it filters and modulates. tokens are the query's token states, nil if the
// plan does not compare them. step is called after each step with its name.
func (r *Run) Begin(ctx context.Context, tokens *late.Query, o modulate.RLROptions, step func(string)) error {
	s := r.S
	r.set(ctx, o, step)
	r.lexicon, r.chunks = s.Words, s.Chunks()
	r.fields.values = r.inColumns
	r.Facts.Filtered = s.View.Len()
	r.compare(tokens)
	r.weigh()
	if !r.Q.Filter.IsZero() || len(r.Clauses) > 0 || len(r.places) > 0 {
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

// let returns the documents that the filter and the clauses of the query allow.
func (r *Run) let(ctx context.Context) (m matches, err error) {
	if !r.Q.Filter.IsZero() {
		if m, err = r.S.Match(ctx, r.Q.Filter); err != nil {
			return nil, err
		}
	}
	if len(r.Clauses) > 0 {
		if m, err = r.required(ctx, m); err != nil {
			return nil, err
		}
	}
	if len(r.places) == 0 {
		return m, nil
	}
	return r.findPlaces(ctx, m)
}

// set prepares what both kinds of legs need.
func (r *Run) set(ctx context.Context, o modulate.RLROptions, step func(string)) {
	r.In.Ctx = ctx
	r.rlr, r.step = o, step
	r.Facts.Variant = None
	if r.Files != nil {
		r.Plan.Fusion.Presence = cmp.Or(r.Plan.Fusion.Presence, filePresence)
	}
	r.Plan.Fusion = r.Plan.Fusion.Calibrate(r.Unrelated)
	if r.Q.Vector == nil { // a vector of the caller's may be of one who knows more
		r.In.Tokens.Unread = text.Unread(r.Model, r.Q.Text)
		r.Facts.Unknown = r.In.Tokens.Unknown()
		r.Plan.Fusion.Unknown = cmp.Or(r.Plan.Fusion.Unknown, r.Facts.Unknown)
	}
}

// Release returns reusable memory of the Run, which must not be used afterwards. A Run that is not released
// is garbage-collected.
func (r *Run) Release() {
	if l, ok := r.dense.(*localLeg); ok {
		l.release()
	}
	r.dense = nil
}

// Place gives every chunk of version ord its scores among the candidates of the
// search, and returns the best one as a hit, with the rank of its document, 0 if the legs
// do not name it.
func (r *Run) Place(ctx context.Context, ord uint64, chunks int) (best Found, rank int, err error) {
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
	if cs, err = r.certain(ctx, cs); err != nil {
		return best, 0, err
	}
	shared := shareWords(cs)
	before := map[uint64]struct{}{}
	for _, c := range cs {
		if chunk.Ord(c.Ord) == ord {
			if named[c.Ord] {
				rank = len(before) + 1
			}
			return r.found(c, shared), rank, nil
		}
		before[chunk.Ord(c.Ord)] = struct{}{}
	}
	return best, 0, fmt.Errorf("%w: version %d has no chunk", store.ErrCorrupt, ord)
}

// Allows reports whether a chunk may be found.
func (r *Run) Allows(id uint64) bool { return r.filter.allow == nil || r.filter.allow(id) }
