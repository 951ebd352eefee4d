package httpapi

import (
	"context"
	"net/http"
)

type collectionsAnswer struct {
	Collections []collection `json:"collections"`
}

type collection struct {
	Name string `json:"name"`
}

func listCollections(ctx context.Context, c *call) (collectionsAnswer, error) {
	out := collectionsAnswer{Collections: []collection{}}
	if c.s.o.Collections == nil {
		return out, nil
	}
	names, err := c.s.o.Collections.List(ctx)
	for _, n := range names {
		out.Collections = append(out.Collections, collection{n})
	}
	return out, err
}

func createCollection(ctx context.Context, c *call) (collection, error) {
	name := c.r.PathValue("name")
	if c.s.o.Collections == nil {
		return collection{}, errNoCollections
	}
	if err := c.s.o.Collections.Create(ctx, name, c.query.Get("metric")); err != nil {
		return collection{}, err
	}
	c.status = http.StatusCreated
	return collection{name}, nil
}

type dropAnswer struct {
	Dropped string `json:"dropped"`
}

func dropCollection(ctx context.Context, c *call) (dropAnswer, error) {
	name := c.r.PathValue("name")
	if c.s.o.Collections == nil {
		return dropAnswer{}, errNoCollections
	}
	return dropAnswer{name}, c.s.o.Collections.Drop(ctx, name)
}
