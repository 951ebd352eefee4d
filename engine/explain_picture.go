package engine

import (
	"bytes"
	"fmt"
	"image/png"

	"github.com/lexsem/lexsem/encoder/picture"
	"github.com/lexsem/lexsem/encoder/visual"
	"github.com/lexsem/lexsem/store"
)

// pictureHeight is how many pixels high Explanation.Picture is.
const pictureHeight = 448

// drawExplanation draws the image of a document, its patches as bright as what their words gave, behind that of the
// query where there is one.
func (e *Engine) drawExplanation(q Query, d *store.Document, x Explanation) ([]byte, error) {
	if e.images == nil || !isImage(d) {
		return nil, fmt.Errorf("%w: a picture of an explanation, and the document is no image of a database of images; ask without Picture", ErrInvalid)
	}
	found, err := e.images.words.View(d.Data)
	if err != nil {
		return nil, fmt.Errorf("drawing the explanation: %w", err)
	}
	grid := e.fp.Grid
	if weights := patchWeights(x, grid[0]*grid[1]); weights != nil {
		found = found.Weigh(grid[0], grid[1], weights)
	}
	seen := []*picture.Image{found}
	if q.Image != nil {
		asked, err := e.images.words.View(q.Image)
		if err != nil {
			return nil, fmt.Errorf("%w: the query: %w", ErrInvalid, err)
		}
		seen = []*picture.Image{asked, found}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture.Beside(pictureHeight, seen...)); err != nil {
		return nil, fmt.Errorf("drawing the explanation: %w", err)
	}
	return b.Bytes(), nil
}

// patchWeights are what the patches of a found image gave to its score by their words: the part of a word in BM25,
// shared by the patches that have it. It is nil where none gave anything.
func patchWeights(x Explanation, patches int) []float64 {
	give := map[string]float64{}
	for _, w := range x.Words {
		give[w.Term] = w.BM25 / float64(max(1, w.Count))
	}
	var weights []float64
	for _, m := range x.Matches {
		if p := visual.Patch(m.Start); m.Field == "text" && p < patches && give[m.Term] > 0 {
			if weights == nil {
				weights = make([]float64, patches)
			}
			weights[p] += give[m.Term]
		}
	}
	return weights
}
