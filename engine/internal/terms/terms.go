// Package terms makes tokens for texts if the encoder has no tokenizer: the terms of the words, numbered by a
// vocabulary that grows with the database. Start with [New]; [Vocabulary.Tokens] serves queries, and
// [Vocabulary.Add] serves commits, one at a time. A Vocabulary is safe for concurrent use, and is read from
// the store at its first use.
package terms

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
)

// Vocabulary numbers terms. It is read on first use, at some 60 bytes and 0.7 µs per term (measured on a
// million), and is safe for concurrent use.
type Vocabulary struct {
	analyzer *text.Analyzer
	kept     Kept
	reading  chan struct{} // holds a value while somebody reads it
	adding   chan struct{} // and while somebody adds to it

	mu  sync.RWMutex // guards ids
	ids map[string]int32
}

// Kept is the stored form of a vocabulary.
type Kept interface {
	TermCount() int
	// Terms calls fn with the terms from number 0 on.
	Terms(ctx context.Context, fn func(term string) error) error
}

// New returns the stored vocabulary; analyzer makes the terms of texts.
func New(analyzer *text.Analyzer, kept Kept) *Vocabulary {
	return &Vocabulary{analyzer: analyzer, kept: kept, reading: make(chan struct{}, 1), adding: make(chan struct{}, 1)}
}

// lock locks one of the channels.
func lock(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ready reads the vocabulary unless this was done before.
func (v *Vocabulary) ready(ctx context.Context) error {
	there := func() bool {
		v.mu.RLock()
		defer v.mu.RUnlock()
		return v.ids != nil
	}
	if there() {
		return nil
	}
	if err := lock(ctx, v.reading); err != nil {
		return err
	}
	defer func() { <-v.reading }()
	if there() {
		return nil
	}
	ids := make(map[string]int32, v.kept.TermCount())
	if err := v.kept.Terms(ctx, func(term string) error {
		ids[term] = int32(len(ids))
		return nil
	}); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ids = ids
	return nil
}

// Tokens returns the terms of a text, in order. Unknown terms have the distinct numbers −1, −2, …: they carry no
// information, but count as part of the query.
func (v *Vocabulary) Tokens(ctx context.Context, s string) (t encoder.Tokens, err error) {
	if err := v.ready(ctx); err != nil {
		return t, err
	}
	terms := v.analyzer.Asked(nil, s)
	v.mu.RLock()
	defer v.mu.RUnlock()
	var unknown map[string]int32
	for _, term := range terms {
		id, ok := v.ids[term.Text]
		if !ok {
			if id, ok = unknown[term.Text]; !ok {
				if unknown == nil {
					unknown = map[string]int32{}
				}
				id = -1 - int32(len(unknown))
				unknown[term.Text] = id
			}
		}
		t.IDs, t.Special = append(t.IDs, id), append(t.Special, false)
		t.Offsets = append(t.Offsets, encoder.Span{Start: int32(term.Start), End: int32(term.End)})
	}
	return t, nil
}

// Distinct returns the distinct terms of a text.
func (v *Vocabulary) Distinct(s string) []string {
	terms := v.analyzer.Asked(nil, s)
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = t.Text
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Addition holds the additions of one commit to the vocabulary. It is for one goroutine.
type Addition struct {
	v     *Vocabulary
	first int
	fresh []string
	ids   map[string]int32 // of fresh
	ended bool
}

// Add waits until no other addition is in progress. The caller must call End.
func (v *Vocabulary) Add(ctx context.Context) (*Addition, error) {
	if err := v.ready(ctx); err != nil {
		return nil, err
	}
	if err := lock(ctx, v.adding); err != nil {
		return nil, err
	}
	return &Addition{v: v, first: len(v.ids), ids: map[string]int32{}}, nil // nobody else changes it
}

// Numbers returns the numbers of terms; new terms get new ones, in ascending order.
func (a *Addition) Numbers(terms []string) []int32 {
	ids := make([]int32, len(terms))
	for i, t := range terms {
		id, ok := a.v.ids[t]
		if !ok {
			id, ok = a.ids[t]
		}
		if !ok {
			t = strings.Clone(t) // which may be a part of a long text
			id = int32(a.first + len(a.fresh))
			a.ids[t], a.fresh = id, append(a.fresh, t)
		}
		ids[i] = id
	}
	slices.Sort(ids)
	return ids
}

// Fresh returns the new terms, and the number of the first one.
func (a *Addition) Fresh() (first int, terms []string) { return a.first, a.fresh }

// Keep adds the new terms to the vocabulary after their commit.
func (a *Addition) Keep() {
	const piece = 256 // some 150 µs, in which no query looks a term up
	for some := range slices.Chunk(a.fresh, piece) {
		a.v.mu.Lock()
		for _, t := range some {
			a.v.ids[t] = a.ids[t]
		}
		a.v.mu.Unlock()
	}
}

// End lets others add terms. Terms that were not kept are forgotten.
func (a *Addition) End() {
	if !a.ended {
		a.ended = true
		<-a.v.adding
	}
}
