package engine

import (
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/store"
)

// Types of other packages that this API uses.
type (
	// Filter is a condition on metadata; package filter makes and parses filters.
	Filter = filter.Filter
	// Fusion says how a hybrid search joins the scores of its retrievers.
	Fusion = fusion.Options
	// ScoreTerm is one summand of a fused score.
	ScoreTerm = fusion.Term
	// BackupReport reports what Backup wrote.
	BackupReport = store.BackupReport
	// RestoreReport reports what Restore made.
	RestoreReport = store.RestoreReport
)
