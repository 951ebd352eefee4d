// Package stat holds the statistics that reports rest on: correlations, the
// agreement of two labellings, paired tests, intervals and the correction for
// many comparisons. Every function is deterministic; those that draw take a
// seed.
package stat

import "errors"

// ErrSample is data that a statistic is not defined on: lengths that disagree,
// nothing to work on, or no variation where it is needed.
var ErrSample = errors.New("statistic not defined")
