package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine"
)

var cmdDelete = command{
	name:    "delete",
	args:    "ID…",
	summary: "remove documents by id",
	about: `
Removes the documents with the given ids in one commit. Ids that are not stored are named on
stderr and the exit code is 3; the others are removed all the same. No model is needed.`,
	examples: []string{
		"lexsem delete --db notes.db todo/2024.md",
		"lexsem delete --db papers.db 12345 12346 --json",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		asJSON := f.bool("json", "print the result as JSON")
		return func(ctx context.Context, a *app, ids []string) error { return runDelete(ctx, a, ids, *asJSON) }
	},
}

func runDelete(ctx context.Context, a *app, ids []string, asJSON bool) (err error) {
	if len(ids) == 0 {
		return hinted(usagef("no ids to delete"), "name the documents' ids")
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	e, err := a.openBare(ctx, dir, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
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
	if len(stored) > 0 {
		if deleted, err = e.Delete(ctx, stored); err != nil {
			return err
		}
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
