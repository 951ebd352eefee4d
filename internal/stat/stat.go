// Package stat has the statistics of reports: correlations ([Pearson], [Spearman]), the agreement of two
// labellings ([VMeasure]), intervals ([Bootstrap], [StratifiedMeans]), the correction for several comparisons
// ([Holm]), [AUC], pairwise choices ([Choices]) and clustering ([CompleteLinkage]).
//
// Every function is deterministic, and those that draw at random take a seed. Data for which a statistic is
// not defined are ErrSample.
package stat

import "errors"

// ErrSample: a statistic is not defined on the data. Lengths disagree, there is no data, or required
// variation is missing.
var ErrSample = errors.New("statistic not defined")
