package bench

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/stat"
)

// Answerable reports how well the scores of one system show whether a query has an answer.
type Answerable struct {
	System string `json:"system"`
	// AUC is the area under the ROC curve: the probability that the first passage of a query with a
	// positive scores higher than that of a query without one. Equal scores count half. 0.5 is chance.
	// The AUC of rrf and convex means nothing, since their scores compare only within one query.
	AUC     float64 `json:"auc"`
	With    int     `json:"with"`    // number of queries of the first task
	Without int     `json:"without"` // number of queries without a positive
}

// unansweredQueries reads queries-without-positives.jsonl of the corpus, if the file
// exists.
func (p *plan) unansweredQueries(in TaskInput) ([]Query, error) {
	name := filepath.Join(p.corpus.Dir, "queries-without-positives.jsonl")
	if missing(name) {
		return nil, nil
	}
	all, err := readQueries(p.Read, name)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if p.Lower {
			all[i].Text = strings.ToLower(all[i].Text)
		}
	}
	return slices.DeleteFunc(all, func(q Query) bool { return !in.Asks(q.ID) }), nil
}

// answerable runs the queries without a positive, and compares their best scores with
// those of the queries with a positive.
func (p *plan) answerable(ctx context.Context, r Retriever, with Result, without []Question) (Answerable, error) {
	hits, err := r.Retrieve(ctx, without, min(p.depth, p.targets.Len()))
	if err != nil {
		return Answerable{}, fmt.Errorf("system %s on queries without a positive: %w", with.System, err)
	}
	scores := make([]float64, len(hits))
	for i, answer := range hits {
		scores[i] = nothingFound
		if len(answer) > 0 {
			scores[i] = answer[0].Score
		}
	}
	auc, err := stat.AUC(with.best, scores)
	return Answerable{System: with.System, AUC: auc, With: len(with.best), Without: len(hits)}, err
}

// nothingFound is the best score of an empty answer: below all others.
const nothingFound = -math.MaxFloat64
