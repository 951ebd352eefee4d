package engine

import (
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/store"
)

// What the API of this package speaks of and other packages define.
type (
	// Filter is a condition on metadata; package filter makes and reads them.
	Filter = filter.Filter
	// Fusion says how the legs of a hybrid search are joined.
	Fusion = fusion.Options
	// ScoreTerm is one summand of a fused score.
	ScoreTerm = fusion.Term
	// BackupReport tells what Backup wrote.
	BackupReport = store.BackupReport
	// RestoreReport tells what Restore made.
	RestoreReport = store.RestoreReport
)
