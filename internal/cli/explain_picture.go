package cli

import (
	"fmt"
	"image/png"
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder/picture"
	"github.com/lexsem/lexsem/encoder/visual"
	"github.com/lexsem/lexsem/engine"
)

// patchWeights are what the patches of a found image gave to its score by their words: the part of a word in BM25,
// shared by the patches that have it.
func patchWeights(x engine.Explanation, patches int) []float64 {
	give := map[string]float64{}
	for _, w := range x.Words {
		give[w.Term] = w.BM25 / float64(max(1, w.Count))
	}
	weights := make([]float64, patches)
	for _, m := range x.Matches {
		if p := visual.Patch(m.Start); m.Field == "text" && p < patches {
			weights[p] += give[m.Term]
		}
	}
	return weights
}

// drawExplanation writes a PNG file: the query, and beside it the image that it found, patches as bright as what their
// words gave. Both are as the model in the folder sees them.
func drawExplanation(name, model string, query, found []byte, x engine.Explanation, grid [2]int) error {
	processor, err := picture.LoadProcessor(filepath.Join(model, picture.ConfigFile))
	if err != nil {
		return err
	}
	var seen [2]*picture.Image
	for i, b := range [][]byte{query, found} {
		m, err := picture.Decode(b)
		if err != nil {
			return fmt.Errorf("drawing the explanation: %w", err)
		}
		if seen[i], err = processor.View(m); err != nil {
			return err
		}
	}
	weighed := seen[1].Weigh(grid[0], grid[1], patchWeights(x, grid[0]*grid[1]))
	return writeFile(name, func(w io.Writer) error { return png.Encode(w, picture.Beside(seen[0], weighed, 448)) })
}
