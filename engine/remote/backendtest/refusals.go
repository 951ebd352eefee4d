package backendtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

func refusals(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	fill(t, db, documents(5))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		call func(ctx context.Context) error
		want error
	}{
		"empty query": {func(ctx context.Context) error { _, err := db.Search(ctx, engine.Query{}); return err }, engine.ErrInvalid},
		"no such mode": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Text: "a", Mode: "x"})
			return err
		}, engine.ErrInvalid},
		"short vector": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Vector: []float32{1}})
			return err
		}, engine.ErrInvalid},
		"bad filter": {func(ctx context.Context) error { _, err := db.Count(ctx, filter.Lt("a", true)); return err }, engine.ErrInvalid},
		"unknown id": {func(ctx context.Context) error { _, err := db.Get(ctx, "nobody"); return err }, engine.ErrNotFound},
		"explain nobody": {func(ctx context.Context) error {
			_, err := db.Explain(ctx, engine.Query{Text: "a"}, "nobody")
			return err
		}, engine.ErrNotFound},
		"an image as a query": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Image: []byte("GIF89a")})
			return err
		}, engine.ErrInvalid},
		"a picture of a text": {func(ctx context.Context) error {
			_, err := db.Explain(ctx, engine.Query{Text: "topic3", Picture: true}, "doc 001/é")
			return err
		}, engine.ErrInvalid},
		"empty id": {func(ctx context.Context) error { _, err := db.Upsert(ctx, []engine.Document{{Text: "a"}}); return err }, engine.ErrInvalid},
		"get of a long id": {func(ctx context.Context) error {
			_, err := db.Get(ctx, strings.Repeat("x", engine.MaxID+1))
			return err
		}, engine.ErrInvalid},
		"delete of no id": {func(ctx context.Context) error { _, err := db.Delete(ctx, []string{"doc 001/é", ""}); return err }, engine.ErrInvalid},
		"explain no id": {func(ctx context.Context) error {
			_, err := db.Explain(ctx, engine.Query{Text: "a"}, "")
			return err
		}, engine.ErrInvalid},
		"patch of no id": {func(ctx context.Context) error {
			_, err := db.Patch(ctx, []engine.Patch{{Metadata: map[string]any{"a": 1}}})
			return err
		}, engine.ErrInvalid},
		"id that is no text": {func(ctx context.Context) error { _, err := db.Count(ctx, filter.Eq("id", 7)); return err }, engine.ErrInvalid},
		"list by a bad filter": {func(ctx context.Context) (err error) {
			for _, err = range db.List(ctx, filter.Lt("a", true), "x") {
			}
			return err
		}, engine.ErrInvalid},
		"no text":    {func(ctx context.Context) error { _, err := db.Upsert(ctx, []engine.Document{{ID: "a"}}); return err }, engine.ErrInvalid},
		"delete all": {func(ctx context.Context) error { _, err := db.DeleteWhere(ctx, engine.Filter{}); return err }, engine.ErrInvalid},
		"no reranker": {func(ctx context.Context) error {
			_, err := db.Search(ctx, engine.Query{Text: "a", Rerank: 3})
			return err
		}, engine.ErrNoReranker},
	} {
		if err := c.call(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	for what, call := range map[string]func() error{
		"search": func() error { _, err := db.Search(ended, engine.Query{Text: "topic3", Variant: "none"}); return err },
		"add":    func() error { _, err := db.Add(ended, []engine.Document{{ID: "late", Text: "a"}}); return err },
		"get":    func() error { _, err := db.Get(ended, "doc 001/é"); return err },
		"count":  func() error { _, err := db.Count(ended, engine.Filter{}); return err },
		"all": func() (err error) {
			for _, err = range db.All(ended, engine.Filter{}) {
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", what, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Search(t.Context(), engine.Query{Text: "a"}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := db.Add(t.Context(), documents(5)); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("add after Close: %v", err)
	}
}
