package answer

import (
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// Filter parses the filter of a request; "" matches all documents.
func Filter(expr string) (engine.Filter, error) {
	if expr == "" {
		return engine.Filter{}, nil
	}
	return filter.Parse(expr)
}
