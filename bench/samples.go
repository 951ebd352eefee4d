package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/internal/train"
)

// sampleLine is a query that was made from a passage. Bridges are trained on it, and external encoders can
// be.
type sampleLine struct {
	Query   string `json:"query"`
	Passage string `json:"passage"` // the whole text, title and body
	ID      string `json:"id"`      // id of the passage in its corpus
	// Split is "train" for training queries of a fit, and "dev" for queries that choose its epoch.
	Split string `json:"split"`
}

// WriteSamples writes the training queries of a run with the same Data, PassagesLimit, Seed,
// QueriesPerPassage, MaxFitQueries and Clean that takes texts whole, one a line, and returns their number. Other
// options have no effect, and no encoder is needed. Memory: the corpus and the queries.
func (o Options) WriteSamples(ctx context.Context, w io.Writer) (int, error) {
	if o.Seed == 0 {
		o.Seed = 1
	}
	o.Read.ctx = ctx
	corpus, err := ReadCorpora(o.Data, o.Read)
	if err != nil {
		return 0, err
	}
	s := &Setting{Targets: NewTargets(corpus.Sample(o.PassagesLimit, o.Seed).Passages), SettingOptions: SettingOptions{
		Seed: o.Seed, QueriesPerPassage: o.QueriesPerPassage, MaxFitQueries: o.MaxFitQueries, Clean: o.Clean,
	}}
	taught, chosen, err := train.Draw(ctx, targetTexts{s.Targets}, s.fitOptions())
	if err != nil {
		return 0, err
	}
	buf := bufio.NewWriter(w)
	lines := json.NewEncoder(buf)
	lines.SetEscapeHTML(false)
	for i, part := range [][]train.Drawn{taught, chosen} {
		for _, d := range part {
			sample := sampleLine{Query: d.Query, Passage: s.Targets.Texts[d.Passage], ID: s.Targets.ID(d.Passage), Split: [...]string{"train", "dev"}[i]}
			if err := lines.Encode(sample); err != nil {
				return 0, fmt.Errorf("writing the samples: %w", err)
			}
		}
	}
	if err := buf.Flush(); err != nil {
		return 0, fmt.Errorf("writing the samples: %w", err)
	}
	return len(taught) + len(chosen), nil
}

// targetTexts shows targets without their vectors to the code that draws queries.
type targetTexts struct{ *Targets }

func (c targetTexts) Text(i int) (string, error) { return c.Texts[i], nil }
func (c targetTexts) Vector(int) []float32       { return nil }
