package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// unmet warns on stderr about fields of a filter that no document has, if the search
// found nothing: a misspelt name matches no document.
func (a *app) unmet(ctx context.Context, db engine.Database, f engine.Filter) error {
	if a.quiet {
		return nil
	}
	for _, path := range f.Paths() {
		n, err := db.Count(ctx, filter.Exists(path))
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		note := fmt.Sprintf("no document has the field %s", path)
		if rest, ok := strings.CutPrefix(path, "metadata."); ok && rest != "id" {
			note += "; name fields without metadata. before them: " + rest
		}
		if _, err := fmt.Fprintf(a.Stderr, "note: %s\n", note); err != nil {
			return err
		}
	}
	return nil
}
