package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lexsem/lexsem/bench"
)

// phraseTurn is the mean length of a phrase in words.
const phraseTurn = 8

// phrases makes any number of texts from the passages of a corpus. A text begins where a passage begins and
// follows it. After each word it goes on, with a chance of one in phraseTurn, behind another place of the same
// word, and where a passage ends, at the beginning of another one. So its words and pairs of words have the
// frequencies of the corpus, and hardly two texts are alike.
type phrases struct {
	words  []string
	text   []int32 // numbers of words, and -1 where a passage ends
	begins []int32 // where passages begin
	places []int32 // where each word stands, word by word
	first  []int32 // where the places of a word begin, and of the last one end
}

// readPhrases reads a corpus as bench.ReadCorpora does.
func readPhrases(ctx context.Context, from string) (*phrases, error) {
	c, err := bench.ReadCorpora(from, bench.ReadOptions{})
	if err != nil {
		return nil, err
	}
	p, numbers, counts := &phrases{}, map[string]int32{}, []int32{}
	for _, passage := range c.Passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		words := strings.Fields(passage.Text())
		if len(words) == 0 {
			continue
		}
		p.begins = append(p.begins, int32(len(p.text)))
		for _, w := range words {
			n, known := numbers[w]
			if !known {
				n = int32(len(p.words))
				w = strings.Clone(w) // which would hold the passage
				numbers[w], p.words, counts = n, append(p.words, w), append(counts, 0)
			}
			p.text = append(p.text, n)
			counts[n]++
		}
		p.text = append(p.text, -1)
	}
	if len(p.begins) == 0 {
		return nil, fmt.Errorf("%w: no words in the passages of %s; name a corpus with texts", bench.ErrNoData, from)
	}
	p.first = make([]int32, len(counts)+1)
	for w, n := range counts {
		p.first[w+1] = p.first[w] + n
	}
	p.places = make([]int32, p.first[len(counts)])
	next := append([]int32(nil), p.first...)
	for at, w := range p.text {
		if w >= 0 {
			p.places[next[w]] = int32(at)
			next[w]++
		}
	}
	return p, nil
}

// make makes a text of n words.
func (p *phrases) make(rng *rand.Rand, n int) string {
	var b strings.Builder
	at := p.begins[rng.IntN(len(p.begins))]
	for i := range n {
		w := p.text[at]
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.words[w])
		if rng.IntN(phraseTurn) == 0 {
			at = p.places[p.first[w]+rng.Int32N(p.first[w+1]-p.first[w])]
		}
		if at++; p.text[at] < 0 {
			at = p.begins[rng.IntN(len(p.begins))]
		}
	}
	return b.String()
}
