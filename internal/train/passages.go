package train

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/vec"
)

// passages are the distinct texts of a corpus. Passages with the same text are one
// target: the first represents all of them, also among the candidates.
type passages struct {
	corpus Corpus
	dim    int
	reps   []int          // index in the corpus of each distinct text
	rep    []int32        // index in reps of each passage of the corpus
	texts  []string       // [len(reps)]
	df     map[string]int // distinct texts that contain a lower-cased word
	digest string         // SHA-256 over all texts in order, hex
	media  string         // modality of all
	moved  []float32      // vectors of reps in place of the corpus's, where passages are modulated; else nil
}

// vector is the vector of distinct text r that queries are compared with.
func (s *passages) vector(r int) []float32 {
	if s.moved != nil {
		return s.moved[r*s.dim : (r+1)*s.dim]
	}
	return s.corpus.Vector(s.reps[r])
}

func readPassages(ctx context.Context, corpus Corpus, dim int, o Options) (*passages, error) {
	n := corpus.Len()
	s := &passages{corpus: corpus, dim: dim, rep: make([]int32, n), df: map[string]int{}, media: o.Media}
	first := make(map[string]int32, n)
	sum := sha256.New()
	var words []text.Word
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i%1024 == 0 {
			o.Progress("sample", 0, n, 0)
		}
		t, err := corpus.Text(i)
		if err != nil {
			return nil, fmt.Errorf("read passage %d: %w", i, err)
		}
		if x := corpus.Vector(i); len(x) != dim || !vec.Finite(x) {
			return nil, fmt.Errorf("%w: passage %d has a vector of length %d where %d finite numbers are needed; index it with this encoder", ErrCorpus, i, len(x), dim)
		}
		sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(t))))
		sum.Write([]byte(t))
		r, dup := first[t]
		if !dup || t == "" { // passages without text are told apart by their vectors
			r = int32(len(s.reps))
			first[t] = r
			s.reps = append(s.reps, i)
			s.texts = append(s.texts, t)
			if s.media == "" {
				words = text.Words(words[:0], t)
				s.count(words)
			}
		}
		s.rep[i] = r
	}
	if len(s.reps) < 2 {
		return nil, fmt.Errorf("%w: it has %d distinct passages; add at least two", ErrCorpus, len(s.reps))
	}
	s.digest = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// count records which words a text contains.
func (s *passages) count(words []text.Word) {
	seen := make(map[string]struct{}, len(words))
	for _, w := range words {
		if _, dup := seen[w.Lower]; !dup {
			seen[w.Lower] = struct{}{}
			s.df[w.Lower]++
		}
	}
}

// passage is distinct text r in the form for samplers.
func (s *passages) passage(r int) *Passage {
	p := s.passageOf(s.texts[r])
	if l, ok := s.corpus.(Labelled); ok {
		p.Mates = l.Mates(s.reps[r])
	}
	return p
}

// passageOf is a text, or a part of one, in the form for samplers.
func (s *passages) passageOf(t string) *Passage {
	p := &Passage{Text: t, media: s.media}
	if s.media != "" {
		return p
	}
	p.Words = text.Words(nil, p.Text)
	seen := make(map[string]struct{}, len(p.Words))
	for _, w := range p.Words {
		if text.Stop(w.Lower) || utf8.RuneCountInString(w.Lower) < 2 {
			continue
		}
		if _, dup := seen[w.Lower]; dup {
			continue
		}
		seen[w.Lower] = struct{}{}
		p.Content = append(p.Content, w)
		p.IDF = append(p.IDF, ridge.IDF(len(s.reps), s.df[w.Lower]))
	}
	return p
}

// random is a random source that depends only on the seed, the purpose and the text, so
// that the order of the corpus and the number of workers do not matter.
func random(seed uint64, purpose, text string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(text))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// drawn holds training queries and the distinct text from which each was made.
type drawn struct {
	texts  []string
	target []int32 // index in passages.reps
}

// draw makes the training queries in a fixed random order.
func (s *passages) draw(ctx context.Context, o Options) (drawn, error) {
	byTurn := make([]drawn, o.QueriesPerPassage) // the k-th queries of all passages
	from := func(r, most int, purpose string) int {
		p := s.passage(r)
		if o.Reserve {
			p.reserve()
		}
		queries := p.draw(random(o.Seed, purpose, s.texts[r]), most)
		for k, q := range queries {
			byTurn[k].texts = append(byTurn[k].texts, q)
			byTurn[k].target = append(byTurn[k].target, int32(r))
		}
		return len(queries)
	}
	fresh := 0
	var known []int
	for r := range s.texts {
		if err := s.turn(ctx, r, o); err != nil {
			return drawn{}, err
		}
		if o.Base != nil && s.reps[r] < o.Fresh {
			known = append(known, r)
			continue
		}
		fresh += from(r, o.QueriesPerPassage, "train")
	}
	// The replayed queries are new draws, not those that the base was fitted on: they
	// teach as much and prevent memorising.
	rng := random(o.Seed, "replay", s.digest)
	replay := int(o.Replay * float64(fresh))
	for i, k := range rng.Perm(len(known)) {
		most := min(o.QueriesPerPassage, (replay+len(known)-i-1)/(len(known)-i))
		if most == 0 {
			break
		}
		replay -= from(known[k], most, "replay "+s.digest)
	}
	o.Progress("sample", len(s.texts), len(s.texts), 0)
	var d drawn
	rng = random(o.Seed, "order", "")
	for _, t := range byTurn {
		rng.Shuffle(len(t.texts), func(i, j int) {
			t.texts[i], t.texts[j] = t.texts[j], t.texts[i]
			t.target[i], t.target[j] = t.target[j], t.target[i]
		})
		d.texts = append(d.texts, t.texts...)
		d.target = append(d.target, t.target...)
	}
	if o.MaxQueries > 0 && len(d.texts) > o.MaxQueries {
		d.texts, d.target = d.texts[:o.MaxQueries], d.target[:o.MaxQueries]
	}
	if len(d.texts) == 0 {
		return d, fmt.Errorf("%w: no query can be drawn from its %d passages that are to be fitted; index texts with words, or images", ErrCorpus, len(s.texts))
	}
	return d, nil
}

// turn reports progress from time to time, and stops at the end of ctx.
func (s *passages) turn(ctx context.Context, r int, o Options) error {
	if r%256 != 0 {
		return nil
	}
	o.Progress("sample", r, len(s.texts), 0)
	return ctx.Err()
}
