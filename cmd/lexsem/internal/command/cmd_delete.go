package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/answer"
)

var cmdDelete = command{
	name:    "delete",
	args:    "ID… | --filter EXPR",
	summary: "remove documents by id or by a filter on their metadata",
	about: `
Removes the documents with the given ids in one commit. If an id is not stored, it is named on
stderr, the others are still removed, and the exit code is 3. No model is needed.`,
	examples: []string{
		"lexsem delete --db notes.db todo/2024.md",
		`lexsem delete --db papers.db --filter 'year < 1990'`,
	},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print the result as JSON")
		filter := f.str("filter", "", "`EXPR`remove the documents whose metadata match this filter")
		return func(ctx context.Context, a *app, ids []string) error { return runDelete(ctx, a, ids, *filter, *asJSON) }
	},
}

func runDelete(ctx context.Context, a *app, ids []string, expr string, asJSON bool) (err error) {
	if (len(ids) == 0) == (expr == "") {
		return hinted(usagef("delete takes either ids or --filter"), "give the ids of the documents, or --filter EXPR")
	}
	filter, err := answer.Filter(expr)
	if err != nil {
		return err
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	e, err := a.openBare(ctx, dir, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	var stored []string
	missing := []string{}
	for _, id := range ids {
		switch _, err := e.Get(ctx, id); {
		case err == nil:
			stored = append(stored, id)
		case errors.Is(err, engine.ErrNotFound):
			missing = append(missing, id)
		default:
			return err
		}
	}
	deleted := 0
	if expr != "" {
		if deleted, err = e.DeleteWhere(ctx, filter); err != nil {
			return err
		}
	}
	if len(stored) > 0 {
		if deleted, err = e.Delete(ctx, stored); err != nil {
			return err
		}
	}
	if err := e.settle(ctx, a.progress()); err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(a.Stdout).Encode(map[string]any{"db": dir, "deleted": deleted, "missing": missing})
	} else {
		_, err = fmt.Fprintf(a.Stdout, "%s: %s deleted\n", dir, count(deleted, "document", "documents"))
	}
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%w: %s", engine.ErrNotFound, strings.Join(missing, ", "))
	}
	return err
}
