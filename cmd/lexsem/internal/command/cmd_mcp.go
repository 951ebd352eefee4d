package command

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/location"
	"github.com/lexsem/lexsem/serve/mcp"
)

var cmdMCP = command{
	name:    "mcp",
	summary: "serve a database to an agent: Model Context Protocol on stdin and stdout",
	about: `
Serves one client over the Model Context Protocol until the client closes stdin or sends SIGTERM. Tools:
search (passages with path:from-to or id, score and text), get (a document; a long one in parts), list,
explain, and index, which stores documents that the client sends. Documents are also resources:
lexsem://documents/ID. No tool reads a file or an address that a client names. Stdout carries only the
protocol; messages for people go to stderr.

Configure the client with this command line. Many clients read this form:

  {"mcpServers": {"notes": {"command": "lexsem", "args": ["mcp", "--db", "/home/me/notes.db"]}}}`,
	examples: []string{
		"lexsem mcp --db notes.db",
		"lexsem mcp --db memory.db --create",
	},
	declare: func(f *flags) action {
		f.group("Flags")
		o := mcpOptions{
			readOnly: f.bool("read-only", "offer no tool that stores documents"),
			most:     memoryFlag(f),
			second:   declareRerank(f),
			create:   f.bool("create", "make the database if it does not exist"),
		}
		return o.run
	},
}

type mcpOptions struct {
	readOnly, create *bool
	most             *int
	second           rerankFlags
}

func (o mcpOptions) run(ctx context.Context, a *app, args []string) (err error) {
	switch {
	case len(args) > 0:
		return hinted(usagef("mcp takes no arguments, got %q", args[0]), "name the database with --db")
	case *o.readOnly && *o.create:
		return hinted(usagef("--read-only with --create: a new database would stay empty"), "leave one of them out")
	}
	opt := engine.Options{MustExist: !*o.create, ReadOnly: *o.readOnly, MaxMemoryMiB: *o.most}
	if err := opt.Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	dir, err := a.needDB()
	if err != nil {
		return err
	}
	second, closeSecond, err := a.reranker(ctx, o.second)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSecond()) }()
	db, err := a.openDB(ctx, dir, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	s := mcp.New(engine.WithReranker(db, second, *o.second.depth), mcp.Options{ReadOnly: *o.readOnly, Version: versions().Version, Place: location.Of, Logger: a.warnings()})
	err = s.Serve(ctx, a.Stdin, raw(a.Stdout))
	if errors.Is(err, context.Canceled) { // a client ends its servers by a signal
		return nil
	}
	return err
}
