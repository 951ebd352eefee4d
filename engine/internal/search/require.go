package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/engine/internal/syntax"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/text"
)

// Clause is a condition that the text of a query sets, with the terms of its words.
type Clause struct {
	syntax.Clause
	Terms []text.Term
}

// start is the common beginning of the terms that match a clause with Prefix: the stem of the typed text if
// the text begins with it, since the index holds stems.
func (c Clause) start() string {
	typed := strings.ToLower(c.Text)
	if len(c.Terms) == 1 && strings.HasPrefix(typed, c.Terms[0].Text) {
		return c.Terms[0].Text
	}
	return typed
}

// Read reads the operators of a query's text, and leaves the searchable rest in Text. A word or phrase that the
// analyzer drops is no clause. A text of more than MaxQuery bytes is refused.
func Read(q Query, asked func(string) []text.Term) (Query, []Clause, error) {
	if len(q.Text) > MaxQuery {
		return q, nil, fmt.Errorf("%w: the query has %d bytes; use at most %d, such as a passage of it", fault.ErrInvalid, len(q.Text), MaxQuery)
	}
	read := q.read()
	q.Text = read.Text
	var cs []Clause
	for _, c := range read.Clauses {
		if terms := asked(c.Text); len(terms) > 0 || c.Prefix {
			cs = append(cs, Clause{c, terms})
		}
	}
	return q, cs, nil
}

// Operators returns the clauses of the query as typed; unmet are quoted phrases that no document has.
func (r *Run) Operators() (required, excluded, unmet []string) {
	for _, c := range r.Clauses {
		switch s := c.String(); {
		case c.Not:
			excluded = append(excluded, s)
		case !slices.Contains(r.unmet, s):
			required = append(required, s)
		}
	}
	return required, excluded, r.unmet
}

// unquote removes the quoted phrases from the clauses, and reports whether there were any.
func (r *Run) unquote() bool {
	var left []Clause
	for _, c := range r.Clauses {
		if c.Quoted {
			r.unmet = append(r.unmet, c.String())
		} else {
			left = append(left, c)
		}
	}
	dropped := len(left) < len(r.Clauses)
	r.Clauses = left
	return dropped
}

func (q Query) read() syntax.Query {
	if q.Plain {
		return syntax.Query{Text: q.Text}
	}
	return syntax.Read(q.Text)
}

// Words returns the text of a query without its operators.
func (q Query) Words() string { return q.read().Text }

// Free returns the terms of the query that are in no clause.
func (r *Run) Free() []text.Term {
	if len(r.Clauses) == 0 {
		return r.Terms
	}
	return slices.DeleteFunc(slices.Clone(r.Terms), func(t text.Term) bool {
		return slices.ContainsFunc(r.Clauses, func(c Clause) bool {
			return slices.ContainsFunc(c.Terms, func(o text.Term) bool { return o.Text == t.Text })
		})
	})
}

// maxExpanded is the maximum number of terms that a prefix is expanded to.
const maxExpanded = 8

// expand appends the most frequent words of a prefix, which come first, to the terms of the query. Together they weigh
// as much as one word.
func (r *Run) expand(words []int) {
	words = words[:min(len(words), maxExpanded)]
	for _, n := range words {
		r.Terms = append(r.Terms, text.Term{Text: r.S.Words.Term(n), Beside: true, Weight: 1 / float32(len(words))})
	}
}

// required narrows the filter's matches to the documents that meet the clauses of the query.
func (r *Run) required(ctx context.Context, m matches) (matches, error) {
	left := documents{r.S.Live}
	if m != nil {
		left = documentsOf(m.All)
	}
	for _, c := range r.Clauses {
		some, err := r.having(ctx, c, left)
		if err != nil {
			return nil, err
		}
		if c.Quoted && some.Len() == 0 {
			r.unmet = append(r.unmet, c.String())
			continue
		}
		if !c.Not {
			left = some
			continue
		}
		e := left.Edit()
		some.All(func(ord uint64) bool { e.Remove(ord); return true })
		left = documents{e.Done()}
	}
	return left, nil
}

// having returns those of some documents that meet a clause, whatever its sign.
func (r *Run) having(ctx context.Context, c Clause, among documents) (documents, error) {
	var ids []uint64
	var err error
	if c.Prefix {
		var words []int
		if words, err = r.S.Words.Prefixed(ctx, c.start()); err != nil {
			return documents{}, err
		}
		if r.Plan.Lexical && !c.Not {
			r.expand(words)
		}
		ids, err = r.S.Words.HavingAny(ctx, nil, words)
	} else {
		ids, err = r.S.Words.Having(ctx, nil, c.Terms)
	}
	if err != nil {
		return documents{}, err
	}
	met := documentsOf(func(yield func(uint64) bool) {
		for _, id := range ids {
			if ord := chunk.Ord(id); among.Has(ord) && !yield(ord) {
				return
			}
		}
	})
	if !c.Title {
		return met, nil
	}
	e := met.Edit()
	for ord := range met.All {
		if err := ctx.Err(); err != nil {
			return documents{}, err
		}
		d, err := r.S.View.Text(ctx, ord)
		if err != nil {
			return documents{}, fmt.Errorf("reading a title: %w", state.Missing(err))
		}
		if !c.In(r.Analyse(chunk.Title(d.Title, d.Metadata))) {
			e.Remove(ord)
		}
	}
	return documents{e.Done()}, nil
}

// In reports whether a text with these terms meets the clause, ignoring its sign and Title.
func (c Clause) In(terms []text.Term) bool {
	if text.Functions(c.Terms) {
		return !slices.ContainsFunc(c.Terms, func(t text.Term) bool {
			return !slices.ContainsFunc(terms, func(o text.Term) bool { return o.Text == t.Text })
		})
	}
	want := words(c.Terms)
	if c.Prefix || len(want) == 1 {
		for _, t := range terms {
			if c.Prefix && strings.HasPrefix(t.Text, c.start()) || !c.Prefix && t.Text == want[0] {
				return true
			}
		}
		return false
	}
	has := words(terms)
	for at := 0; at+len(want) <= len(has); at++ {
		if slices.Equal(has[at:at+len(want)], want) {
			return true
		}
	}
	return false
}

// words returns the words of terms, in their order.
func words(terms []text.Term) (w []string) {
	for _, t := range terms {
		if !t.Beside {
			w = append(w, t.Text)
		}
	}
	return w
}

// listed returns the first matching documents if the query has nothing to rank by.
func (r *Run) listed(ctx context.Context, depth int) (cs []fusion.Candidate, all bool, err error) {
	all = true
	among := r.filter.among
	if len(r.places) > 0 {
		among = func(yield func(id uint64) bool) {
			for _, p := range r.placed {
				if !yield(p.id) {
					return
				}
			}
		}
	}
	for id := range among {
		if all = len(cs) < depth; !all {
			break
		}
		cs = append(cs, fusion.Candidate{Ord: id, Score: r.unranked()})
	}
	more, err := r.favoured(ctx, cs)
	for _, c := range more {
		c.Score = r.unranked()
		cs = append(cs, c)
	}
	return cs, all, cmp.Or(err, ctx.Err())
}

// unranked is the score of a document if there is nothing to rank by; boosts multiply it.
func (r *Run) unranked() float64 {
	if r.Plan.Boosted {
		return 1
	}
	return 0
}

// documents is a set of ordinals.
type documents struct{ cow.Set }

func documentsOf(all func(yield func(ord uint64) bool)) documents {
	var none cow.Set
	e := none.Edit()
	for ord := range all {
		e.Add(ord)
	}
	return documents{e.Done()}
}

func (d documents) Allow(ord uint64) bool { return d.Has(ord) }
