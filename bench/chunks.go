package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
)

// What a setting searches are the chunks that a database would cut its texts into: systems encode, index, fit and
// rank chunks, and a text is found with the score of its best one. Where every text is one chunk, nothing differs
// from whole texts.

// split sets the texts and what of them is searched.
func (s *Setting) split(ctx context.Context, texts *Targets) error {
	s.texts, s.Targets, s.of = texts, texts, nil
	chunks, of := &Targets{}, make([]int, 0, texts.Len())
	for i, p := range texts.first {
		spans, err := s.splitter.Split(ctx, p.Title, p.Body, nil)
		if err != nil {
			return err
		}
		title, parts := p.Title, []Passage{p}
		if len(spans) > 1 {
			title = s.splitter.TitleOf(title)
			parts = parts[:0]
			for _, at := range spans {
				parts = append(parts, Passage{p.ID, p.Title, p.Body[at.Start:at.End]})
			}
		}
		for _, part := range parts {
			chunks.Texts = append(chunks.Texts, chunk.Passage(title, part.Body))
			chunks.Members, chunks.first = append(chunks.Members, texts.Members[i]), append(chunks.first, part)
			of = append(of, i)
		}
	}
	if len(of) > texts.Len() {
		s.Targets, s.of = chunks, of
	}
	return nil
}

// Prepare makes a system ready. Hits of the retriever are texts, as the setting was given them.
func (s *Setting) Prepare(ctx context.Context, system System) (Retriever, *Fit, error) {
	r, fit, err := system.Prepare(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	return s.whole(r), fit, nil
}

// whole has a retriever of targets name texts.
func (s *Setting) whole(r Retriever) Retriever {
	if s.of == nil {
		return r
	}
	return wholeTexts{bestChunks{r, s.of}}
}

// firstTexts are the first k texts of ranked candidates.
func (s *Setting) firstTexts(cs []fusion.Candidate, k int) []Hit {
	if s.of == nil {
		return bestOf(cs, k)
	}
	return textsOf(firstOf(bestOf(cs, len(cs)), s.of, k), s.of)
}

// bestChunks finds the best chunk of each text. Like a database it fuses as many candidates as a leg names for whole
// texts, and looks deeper where that leaves too few texts.
type bestChunks struct {
	Retriever
	of []int // text of each chunk
}

func (r bestChunks) bytes() int64 { return bytesOf(r.Retriever) }

func (r bestChunks) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	open := make([]int, len(questions))
	for i := range open {
		open[i] = i
	}
	fusion, fused := r.Retriever.(fusedRetriever)
	depth := k
	if fused {
		depth = max(fusionDepth, 2*k)
	}
	for ; len(open) > 0; depth *= 4 {
		asked := make([]Question, len(open))
		for i, at := range open {
			asked[i] = questions[at]
		}
		var found [][]Hit
		var err error
		if fused {
			found, err = fusion.ranked(ctx, asked, depth)
		} else {
			found, err = r.Retriever.Retrieve(ctx, asked, min(depth, len(r.of)))
		}
		if err != nil {
			return nil, err
		}
		var left []int
		for i, at := range open {
			if out[at] = firstOf(found[i], r.of, k); len(out[at]) < k && depth < len(r.of) {
				left = append(left, at)
			}
		}
		open = left
	}
	return out, nil
}

// firstOf are the first k hits of ranked ones, without those of a text that stands before them.
func firstOf(hits []Hit, of []int, k int) []Hit {
	seen := make(map[int]struct{}, k)
	out := slices.DeleteFunc(hits, func(h Hit) bool {
		_, again := seen[of[h.Target]]
		seen[of[h.Target]] = struct{}{}
		return again
	})
	return out[:min(k, len(out))]
}

// wholeTexts names the texts of chunks.
type wholeTexts struct{ bestChunks }

func (r wholeTexts) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out, err := r.bestChunks.Retrieve(ctx, questions, k)
	for _, hits := range out {
		textsOf(hits, r.of)
	}
	return out, err
}

func textsOf(hits []Hit, of []int) []Hit {
	for i := range hits {
		hits[i].Target = of[hits[i].Target]
	}
	return hits
}

// checkChunks refuses what no splitter takes.
func checkChunks(tokens int, clean bool) error {
	if tokens > 0 && tokens < chunk.MinTokens {
		return fmt.Errorf("%w: chunks of %d tokens; use %d or more, 0 for the encoder's limit, or a negative number for whole texts", ErrOption, tokens, chunk.MinTokens)
	}
	if tokens > 0 && clean {
		return fmt.Errorf("%w: clean probes are drawn from whole texts; leave out the tokens of chunks (--chunk-tokens), or --clean", ErrOption)
	}
	return nil
}

// neighbours are a chunk and the ones before and after it in its text, where it has some.
func (r fusedRetriever) neighbours(id uint64) inverted.Neighbours {
	n := inverted.Neighbours{id, id, id}
	if int(id)+1 < len(r.of) && r.of[id+1] == r.of[id] {
		n[1] = id + 1
	}
	if id > 0 && r.of[id-1] == r.of[id] {
		n[2] = id - 1
	}
	return n
}
