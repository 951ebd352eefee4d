// Package fitting is the common part of fits of bridges, wherever the documents are kept.
package fitting

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/modulate"
)

// Error turns errors that the caller of a fit can avoid into fault.ErrInvalid.
func Error(err error) error {
	for _, bad := range []error{train.ErrCorpus, train.ErrOptions, modulate.ErrUnknownVariant, modulate.ErrOptions} {
		if errors.Is(err, bad) {
			return fmt.Errorf("%w: %w", fault.ErrInvalid, err)
		}
	}
	return err
}

// Probed is the number of passages that probes are drawn from, two each.
const Probed = 150

// Probes draws queries from passages spread over a corpus: five content words in any
// order, and sixteen consecutive words, or half of a shorter passage. targets are the
// passages' numbers.
func Probes(c train.Corpus, seed uint64) (texts []string, targets []int, err error) {
	r := rand.New(rand.NewPCG(seed, 0x6175746f))
	n := min(Probed, c.Len())
	for k := range n {
		i := k * c.Len() / n
		t, err := c.Text(i)
		if err != nil {
			return nil, nil, err
		}
		words := text.Words(nil, t)
		var content []string
		for _, w := range words {
			if !text.Stop(w.Lower) {
				content = append(content, w.Lower)
			}
		}
		r.Shuffle(len(content), func(i, j int) { content[i], content[j] = content[j], content[i] })
		if len(content) > 1 {
			texts, targets = append(texts, strings.Join(content[:min(5, len(content))], " ")), append(targets, i)
		}
		if long := min(16, len(words)/2); long > 1 {
			from := r.IntN(len(words) - long + 1)
			texts, targets = append(texts, t[words[from].Start:words[from+long-1].End]), append(targets, i)
		}
	}
	return texts, targets, nil
}
