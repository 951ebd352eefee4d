// Package spelling repairs mistyped words of queries from the vocabulary of a database. Start with
// [Speller.Repair]. A [Speller] is safe for concurrent use. It makes a table of the vocabulary, 16 bytes a
// term, at the first query with an unknown word, and keeps what it found about words until the vocabulary changes. It
// frees both after a minute without use.
package spelling

import (
	"context"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
	"weak"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// Speller repairs queries over the states of one database.
type Speller struct {
	analyzer  *text.Analyzer
	functions [][]rune // function words of at least leastTyped letters, in ascending order

	mu     sync.Mutex // guards the rest; held while a table is made
	table  *table
	of     weak.Pointer[inverted.Words] // what judged is about
	judged map[word]judgement
	used   time.Time
	timer  *time.Timer
}

// New returns a Speller for terms that analyzer makes.
func New(analyzer *text.Analyzer) *Speller {
	s := &Speller{analyzer: analyzer}
	for _, w := range slices.Sorted(analyzer.FunctionWords()) {
		if utf8.RuneCountInString(w) >= leastTyped {
			s.functions = append(s.functions, []rune(w))
		}
	}
	return s
}

// kept is how long an unused table is kept.
const kept = time.Minute

// tableOf returns a table that has the terms of x.
func (s *Speller) tableOf(ctx context.Context, x *inverted.Words) (*table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t *table
	var err error
	if s.table != nil {
		t, err = s.table.grow(ctx, x)
	}
	if t == nil && err == nil {
		t, err = newTable(ctx, x)
	}
	if err != nil {
		return nil, err
	}
	s.table, s.used = t, time.Now()
	if s.timer == nil {
		s.timer = time.AfterFunc(kept, s.forget)
	}
	return t, nil
}

// forget frees the table if it was not used for a while.
func (s *Speller) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := kept - time.Since(s.used); left > 0 {
		s.timer = time.AfterFunc(left, s.forget)
		return
	}
	s.table, s.judged, s.timer = nil, nil, nil
}
