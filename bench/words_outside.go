package bench

import (
	"cmp"
	"context"
	"slices"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// known returns the targets that count in the setting's statistics.
func (s *Setting) known() (targets []int) {
	for i := range s.Passages {
		if s.Known == nil || s.Known(i) {
			targets = append(targets, i)
		}
	}
	return targets
}

// outside holds targets that do not count in the statistics of BM25: they are ranked by
// the document count and lengths of the other targets.
type outside struct {
	o      inverted.Options
	corpus inverted.Corpus
	texts  map[uint64]string // as inverted.Spell writes them
}

func newOutside(o inverted.Options) *outside {
	return &outside{o: o, corpus: inverted.Corpus{Having: map[string]int{}}, texts: map[uint64]string{}}
}

// takes stores target i if it is new; otherwise it counts it. It reports whether
// the index should hold the target.
func (b *outside) takes(i int, terms []text.Term, known bool) bool {
	if !known {
		b.texts[uint64(i)] = inverted.Spell(terms)
		return false
	}
	b.corpus.Documents++
	b.corpus.Length += int64(inverted.Length(terms))
	for _, t := range inverted.Asked(terms) {
		b.corpus.Having[t.Text]++
	}
	return true
}

// Search searches the index and the targets outside its statistics.
func (l *lexicon) Search(ctx context.Context, dst []inverted.Scored, terms []text.Term, k int, allow func(uint64) bool) ([]inverted.Scored, error) {
	best, err := l.Words.Search(ctx, dst, terms, k, allow)
	if err != nil || l.outside == nil {
		return best, err
	}
	scorer, err := inverted.NewScorer(l.outside.o, l.outside.corpus, terms)
	if err != nil {
		return nil, err
	}
	for id, spelled := range l.outside.texts {
		if m := scorer.Match(spelled); m.BM25 > 0 && (allow == nil || allow(id)) {
			best = append(best, inverted.Scored{ID: id, Score: m.BM25})
		}
	}
	slices.SortFunc(best, func(a, b inverted.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return best[:min(k, len(best))], nil
}

// Match matches targets of the index and those outside its statistics.
func (l *lexicon) Match(ctx context.Context, dst []inverted.Match, terms []text.Term, ids []uint64) error {
	if err := l.Words.Match(ctx, dst, terms, ids); err != nil || l.outside == nil {
		return err
	}
	scorer, err := inverted.NewScorer(l.outside.o, l.outside.corpus, terms)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if spelled, ok := l.outside.texts[id]; ok {
			dst[i] = scorer.Match(spelled)
		}
	}
	return nil
}
