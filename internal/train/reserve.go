package train

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/text"
)

// CleanRun: with Options.Reserve, no training query shares this many consecutive words with the
// reserved part of its passage.
const CleanRun = 4

// reservedShare is the reserved share of a passage's words; reservedLeast is the minimum number of
// words of both its parts.
const reservedShare, reservedLeast = 0.5, 6

// Reserved returns the part of a passage that a fit with Options.Reserve leaves out, as byte
// offsets: the first or the last half of its words, depending on the text. 0, 0 for a passage of
// fewer than twelve words.
func Reserved(passage string) (from, to int) {
	words := text.Words(nil, passage)
	return reservedOf(passage, words)
}

func reservedOf(passage string, words []text.Word) (from, to int) {
	n := int(float64(len(words)) * reservedShare)
	if min(n, len(words)-n) < reservedLeast {
		return 0, 0
	}
	if drawnLot(passage, "reserve", 2) == 0 {
		return words[0].Start, words[n-1].End
	}
	return words[len(words)-n].Start, words[len(words)-1].End
}

// Selects reports whether a fit with Options.Reserve uses queries of this passage to choose its
// epoch: one passage in eight, depending on the text.
func Selects(passage string) bool { return drawnLot(passage, "select", 8) == 0 }

// drawnLot is a number below n that depends on purpose and text alone.
func drawnLot(text, purpose string, n uint32) uint32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	h.Write([]byte{0})
	h.Write([]byte(purpose))
	x := h.Sum64()
	x ^= x >> 32 // the low bits of FNV-1a depend on few bits of the text
	return uint32(x*0x9e3779b97f4a7c15>>40) % n
}

// reserve removes the reserved part of p from its words, so that no sampler cuts a span from it.
// Content stays complete, since single words are not a run.
func (p *Passage) reserve() {
	from, to := reservedOf(p.Text, p.Words)
	if to == 0 {
		return
	}
	var held []text.Word
	p.Words = slices.DeleteFunc(p.Words, func(w text.Word) bool {
		in := w.Start >= from && w.End <= to
		if in {
			held = append(held, w)
		}
		return in
	})
	p.held = Runs(p.Text[held[0].Start:held[len(held)-1].End], CleanRun)
}

// clean reports whether q shares no run of CleanRun words with the reserved part.
func (p *Passage) clean(q string) bool {
	if len(p.held) == 0 {
		return true
	}
	for run := range Runs(q, CleanRun) {
		if _, ok := p.held[run]; ok {
			return false
		}
	}
	return true
}

// Runs returns the distinct runs of n words of s, lower-cased and joined by spaces.
func Runs(s string, n int) map[string]struct{} {
	set := map[string]struct{}{}
	var lower []string
	for _, w := range text.Words(nil, s) {
		lower = append(lower, w.Lower)
	}
	for i := range len(lower) - n + 1 {
		set[strings.Join(lower[i:i+n], " ")] = struct{}{}
	}
	return set
}

// Drawn is a query that was made from a passage.
type Drawn struct {
	Query   string
	Passage int // number of the passage in the corpus, the first of those with its text
}

// Draw returns the queries from which Fit learns with the same corpus and options, and those with
// which it chooses the epoch. Nothing is encoded. A fit that keeps hidden states may drop the last
// of the training queries, see Options.StateBytes. Errors: ErrOptions, ErrCorpus, that of ctx.
func Draw(ctx context.Context, corpus Corpus, o Options) (taught, chosen []Drawn, err error) {
	o, err = o.defaults()
	if err != nil {
		return nil, nil, err
	}
	dim := 0
	if corpus.Len() > 0 {
		dim = len(corpus.Vector(0))
	}
	set, err := readPassages(ctx, corpus, dim, o)
	if err != nil {
		return nil, nil, err
	}
	queries, err := set.draw(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	probes, _, err := set.probes(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return set.named(queries), set.named(probes), nil
}

// named returns the queries with the ids of their passages in the corpus.
func (s *passages) named(d drawn) []Drawn {
	out := make([]Drawn, len(d.texts))
	for i, q := range d.texts {
		out[i] = Drawn{q, s.reps[d.target[i]]}
	}
	return out
}
