package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/answer"
)

var cmdList = command{
	name:    "list",
	instead: "name the database with --db; `lexsem get` takes ids",
	summary: "list the stored documents, one per line, in the order of their ids",
	about: `
Prints the id and the beginning of each document, in the order of their ids. To go on where a list ended,
give its last id with --after: documents that others change meanwhile are neither repeated nor left out.
--json prints whole documents, one per line, as ` + "`lexsem get --json`" + ` does. No model is needed.`,
	examples: []string{
		"lexsem list --db notes.db --limit 20 --after todo/2024.md",
		`lexsem list --db papers.db --filter 'year >= 2020' --json`,
	},
	declare: func(f *flags) action {
		o := listOptions{
			filter: f.str("filter", "", "`EXPR`only documents whose metadata match this filter"),
			limit:  f.int("limit", 0, "print at most N documents; default all"),
			after:  f.str("after", "", "`ID`only documents after this one"),
			offset: f.int("offset", 0, "skip the first N documents"),
			json:   f.bool("json", "print whole documents as JSON, one per line"),
		}
		return o.run
	},
}

type listOptions struct {
	filter, after *string
	limit, offset *int
	json          *bool
}

func (a *app) printDocument(d engine.Document) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(answer.NewDocument(d))
}

func (o listOptions) run(ctx context.Context, a *app, _ []string) (err error) {
	if *o.limit < 0 || *o.offset < 0 {
		return usagef("--limit %d --offset %d: use numbers from 0", *o.limit, *o.offset)
	}
	if *o.after != "" && *o.offset > 0 {
		return usagef("both --after and --offset: use --after with the last id of the list before, without --offset")
	}
	e, f, err := a.openToRead(ctx, *o.filter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	n := 0
	for d, err := range e.List(ctx, f, *o.after) {
		if err != nil {
			return err
		}
		if n++; n <= *o.offset {
			continue
		}
		if *o.json {
			err = a.printDocument(d)
		} else {
			err = a.printLine(d)
		}
		if err != nil || n-*o.offset == *o.limit {
			return err
		}
	}
	if n == 0 {
		if err := a.unmet(ctx, e, f); err != nil {
			return err
		}
	}
	if n <= *o.offset && !*o.json {
		_, err = fmt.Fprintln(a.Stdout, "no documents")
	}
	return err
}

// printLine prints id and beginning of a document.
func (a *app) printLine(d engine.Document) error {
	width := min(a.Width, 100)
	id := clipColumns(flat(d.ID), width/2)
	text := d.Title
	if blank(text) {
		end := min(len(d.Text), 4*width)
		for end < len(d.Text) && !utf8.RuneStart(d.Text[end]) {
			end++
		}
		text = d.Text[:end]
	}
	_, err := fmt.Fprintf(a.Stdout, "%s  %s\n", a.style(bold, id), clipColumns(flat(text), width-2-len([]rune(id))))
	return err
}

// openToRead opens the database of --db for reading, without a model, and parses a
// filter.
func (a *app) openToRead(ctx context.Context, expr string) (*database, engine.Filter, error) {
	f, err := answer.Filter(expr)
	if err != nil {
		return nil, f, err
	}
	dir, err := a.needDB()
	if err != nil {
		return nil, f, err
	}
	e, err := a.openBare(ctx, dir, engine.Options{ReadOnly: true, Logger: a.warnings()})
	return e, f, err
}

var cmdGet = command{
	name:    "get",
	args:    "ID…",
	summary: "show documents by id",
	about: `
Prints the stored documents with the given ids. If an id is not stored, it is named on stderr, the others
are still printed, and the exit code is 3. No model is needed.`,
	examples: []string{"lexsem get --db notes.db todo/2024.md", "lexsem get --db notes.db --json a b | jq .metadata"},
	declare: func(f *flags) action {
		asJSON := f.bool("json", "print as JSON, one line per document")
		return func(ctx context.Context, a *app, ids []string) error { return runGet(ctx, a, ids, *asJSON) }
	},
}

func runGet(ctx context.Context, a *app, ids []string, asJSON bool) (err error) {
	if len(ids) == 0 {
		return hinted(usagef("no id given"), "give the ids of the documents; `lexsem list` shows them")
	}
	e, _, err := a.openToRead(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	var missing []string
	for i, id := range ids {
		d, err := e.Get(ctx, id)
		if errors.Is(err, engine.ErrNotFound) {
			missing = append(missing, id)
			continue
		}
		if err != nil {
			return err
		}
		if asJSON {
			err = a.printDocument(d)
		} else {
			err = a.printWhole(d, i > len(missing))
		}
		if err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", engine.ErrNotFound, strings.Join(missing, ", "))
	}
	return nil
}

// printWhole prints a document for people, with a blank line before it if behind is set.
func (a *app) printWhole(d engine.Document, behind bool) error {
	var b strings.Builder
	if behind {
		b.WriteString("\n")
	}
	fmt.Fprintln(&b, a.style(bold, flat(d.ID)))
	if len(d.Metadata) > 0 {
		raw, err := json.Marshal(d.Metadata)
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, a.style(faint, string(raw)))
	}
	if d.Title != "" {
		fmt.Fprintln(&b, flat(d.Title))
	}
	fmt.Fprintf(&b, "%s\n", strings.TrimRight(d.Text, "\n"))
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

var cmdCount = command{
	name:    "count",
	summary: "count all documents, or those that match a filter",
	about: `
Prints a number. With --by it prints the most frequent values of a metadata field, and how many documents
have each; an element of an array counts as a value. No model is needed.

--json prints {"db","count"}, and "facets":[{"value","count"}] with --by.`,
	examples: []string{
		`lexsem count --db papers.db --filter 'lang = "de"'`,
		`lexsem count --db papers.db --by lang`,
	},
	declare: func(f *flags) action {
		filter := f.str("filter", "", "`EXPR`only documents whose metadata match this filter")
		by := f.str("by", "", "`FIELD`count by the values of this field")
		limit := f.int("limit", 10, "most values with --by")
		asJSON := f.bool("json", "print as JSON")
		return func(ctx context.Context, a *app, _ []string) error {
			return runCount(ctx, a, *filter, *by, *limit, *asJSON)
		}
	},
}

func runCount(ctx context.Context, a *app, expr, by string, limit int, asJSON bool) error {
	if by != "" {
		if _, _, err := filter.FacetsOf(by, limit); err != nil {
			return usagef("--by %s --limit %d: %v", by, limit, err)
		}
	}
	e, f, err := a.openToRead(ctx, expr)
	if err != nil {
		return err
	}
	n, err := e.Count(ctx, f)
	if err == nil && n == 0 {
		err = a.unmet(ctx, e, f)
	}
	var facets []filter.Facet
	if err == nil && by != "" {
		facets, err = e.Facets(ctx, f, by, limit)
	}
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	if asJSON {
		out := map[string]any{"db": a.db, "count": n}
		if by != "" {
			out["facets"] = facets
		}
		return json.NewEncoder(a.Stdout).Encode(out)
	}
	if by == "" {
		_, err = fmt.Fprintln(a.Stdout, n)
		return err
	}
	var b strings.Builder
	for _, x := range facets {
		value := "null"
		if x.Value != nil {
			value = fmt.Sprint(x.Value)
		}
		fmt.Fprintf(&b, "%7d  %s\n", x.Count, flat(value))
	}
	if len(facets) == 0 && n > 0 {
		fmt.Fprintf(&b, "no document has the field %s\n", flat(by))
	}
	fmt.Fprintf(&b, "%s\n", a.style(faint, fmt.Sprintf("%s of %s", count(len(facets), "value", "values"), count(n, "document", "documents"))))
	_, err = fmt.Fprint(a.Stdout, b.String())
	return err
}
