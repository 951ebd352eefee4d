package httpapi

import (
	"context"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/answer"
)

type facetsAnswer struct {
	Field  string         `json:"field"`
	Total  int            `json:"total"`  // documents that meet the filter
	Facets []filter.Facet `json:"facets"` // the most frequent first
}

// facets counts documents by the values of a field.
func facets(ctx context.Context, c *call) (facetsAnswer, error) {
	out := facetsAnswer{Field: c.query.Get("field")}
	limit, err := number(c.query, "limit", 0, 1, filter.MaxFacets)
	if err != nil {
		return facetsAnswer{}, err
	}
	f, err := answer.Filter(c.query.Get("filter"))
	if err != nil {
		return facetsAnswer{}, err
	}
	if out.Facets, err = c.db.Facets(ctx, f, out.Field, limit); err != nil {
		return facetsAnswer{}, err
	}
	out.Total, err = c.db.Count(ctx, f)
	return out, err
}
