package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/store"
)

var cmdCompact = command{
	name:    "compact",
	summary: "free the disk space of deleted and replaced documents",
	about: `
Rewrites the stored data without deleted and replaced documents. The database also does this by
itself when they take more space than the documents; this command does all of it now. The disk
needs room for a second copy of the stored data until it is done. No model is needed.`,
	examples: []string{"lexsem compact --db notes.db", "lexsem compact --db notes.db --json"},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print the result as JSON")
		return func(ctx context.Context, a *app, _ []string) error { return runCompact(ctx, a, *asJSON) }
	},
}

func runCompact(ctx context.Context, a *app, asJSON bool) error {
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	e, err := a.openBare(ctx, dir, engine.Options{Logger: a.warnings()})
	if err != nil {
		return err
	}
	before, err := e.Stats(ctx)
	if err == nil {
		err = e.Compact(ctx)
	}
	var after engine.Stats
	if err == nil {
		after, err = e.Stats(ctx)
	}
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	disk, err := store.Folder(dir).DiskSpace() // without what an open database takes for its log
	if err != nil {
		return err
	}
	after.DiskBytes = disk.Sum()
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"db": dir, "before_bytes": before.DiskBytes,
			"after_bytes": after.DiskBytes, "live_bytes": after.LiveBytes})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s before, %s now, %s of it documents\n", dir, bytesOf(before.DiskBytes), bytesOf(after.DiskBytes), bytesOf(after.LiveBytes))
	return err
}
