package fitting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/internal/visual"
	"github.com/lexsem/lexsem/store"
)

// Corpus is the state of the database for a fit.
type Corpus struct {
	S *state.State
	// Images says that the passages are images and their texts are references.
	Images bool
	IDs    []uint64        // of the chunks, ascending by document and number
	text   *store.Document // last read, of version textOf
	textOf uint64
}

// NewCorpus is the corpus of a state.
func NewCorpus(s *state.State) *Corpus { return &Corpus{S: s, IDs: s.IDs()} }

// Len implements train.Corpus.
func (c *Corpus) Len() int { return len(c.IDs) }

// Last is the highest ordinal.
func (c *Corpus) Last() uint64 {
	if len(c.IDs) == 0 {
		return 0
	}
	return chunk.Ord(c.IDs[len(c.IDs)-1])
}

// Text is the text of passage i as the encoder saw it, or the reference of an image.
func (c *Corpus) Text(i int) (string, error) {
	id := c.IDs[i]
	if c.Images {
		return reference(chunk.Ord(id)), nil
	}
	if ord := chunk.Ord(id); c.text == nil || c.textOf != ord { // chunks of a document come one after the other
		d, err := c.S.View.Text(context.Background(), ord)
		if err != nil {
			return "", state.Missing(err)
		}
		c.text, c.textOf = d, ord
	}
	row, err := state.ChunkRow(c.text, id)
	if err != nil {
		return "", err
	}
	return state.ChunkText(c.text, row), nil
}

// Vector implements train.Corpus.
func (c *Corpus) Vector(i int) []float32 { return c.S.Vector(c.IDs[i]) }

// HardNegatives returns the passages at ranks [from, to) of the dense search.
func (c *Corpus) HardNegatives(ctx context.Context, query []float32, from, to int) ([]int, error) {
	found, err := c.S.Vectors.Search(nil, query, index.SearchOptions{K: to, Ef: to, Visible: c.S.Sees, Ctx: ctx})
	if err != nil {
		return nil, err
	}
	var out []int
	for _, n := range found[min(from, len(found)):] {
		if i, ok := slices.BinarySearchFunc(c.IDs, n.ID, chunk.Compare); ok {
			out = append(out, i)
		}
	}
	return out, nil
}

// reference names the image of a version.
func reference(ord uint64) string { return visual.Reference(fmt.Sprint(ord), picture.View{}) }

// ImageProbes draws two queries, as references to parts of images, from images spread over a corpus, by
// the rules of the trainer.
func (c *Corpus) ImageProbes(seed uint64) (texts []string, targets []int, err error) {
	r := rand.New(rand.NewPCG(seed, 0x6175746f))
	n := min(Probed, c.Len())
	for k := range n {
		i := k * c.Len() / n
		p := train.Passage{Text: reference(chunk.Ord(c.IDs[i]))}
		for _, s := range []train.Sampler{train.Crop, train.Hidden} {
			texts, targets = append(texts, s.Draw(r, &p)), append(targets, i)
		}
	}
	return texts, targets, nil
}
