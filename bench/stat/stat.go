// Package stat has the statistics of reports: correlations ([Pearson], [Spearman]), the agreement of two
// labellings ([VMeasure]), intervals ([Bootstrap], [StratifiedMeans]), the correction for several comparisons
// ([Holm]), [AUC], pairwise choices ([Choices]) and clustering ([CompleteLinkage]).
//
// Every function is deterministic, and those that draw at random take a seed. Data on which a statistic is
// not defined are ErrSample.
package stat

import "errors"

// ErrSample is data that a statistic is not defined on: lengths that disagree,
// nothing to work on, or no variation where it is needed.
var ErrSample = errors.New("statistic not defined")
