package command

import (
	"context"
	"errors"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/serve/mcp"
)

var cmdMCP = command{
	name:    "mcp",
	instead: "name the database with --db, or a folder with --dir",
	summary: "serve a database to an agent: Model Context Protocol on stdin and stdout",
	about: `
Serves one client over the Model Context Protocol until the client closes stdin or sends SIGTERM. Tools:
search (passages with path:from-to or id, score and text), get (a document; a long one in parts), list,
explain, and index, which stores documents that the client sends. Documents are also resources:
lexsem://documents/ID. No tool reads a file or an address that a client names. Stdout carries only the
protocol; messages for people go to stderr.

--dir serves a folder, such as a repository, from nothing: its files are found by their words at once, and
by their meaning soon after; changes are followed. The database is .lexsem in the folder if that is there, else
in the cache folder, unless --db names one. The tool index is then left out.

` + "`lexsem mcp install CLIENT`" + ` configures a client. By hand, configure it with this command line. Many clients read this form:

  {"mcpServers": {"notes": {"command": "lexsem", "args": ["mcp", "--db", "/home/me/notes.db"]}}}`,
	examples: []string{
		"lexsem mcp --db memory.db --create",
		"lexsem mcp --dir ~/src/project",
	},
	declare: func(f *flags) action {
		o := mcpOptions{
			readOnly: f.bool("read-only", "offer no tool that stores documents"),
			most:     memoryFlag(f),
			second:   declareRerank(f),
			create:   f.bool("create", "make the database if it does not exist"),
			dir:      f.str("dir", "", "`DIR`serve the files of this folder, and follow their changes"),
		}
		return o.run
	},
}

type mcpOptions struct {
	readOnly, create *bool
	dir              *string
	most             *int
	second           rerankFlags
}

func (o mcpOptions) run(ctx context.Context, a *app, _ []string) (err error) {
	switch {
	case *o.readOnly && *o.create:
		return hinted(usagef("--read-only with --create: a new database would stay empty"), "leave one of them out")
	}
	if *o.dir != "" && (*o.readOnly || *o.create) {
		return hinted(usagef("--dir with --read-only or --create: the files of the folder are stored, and the database is made"), "leave them out")
	}
	opt := engine.Options{MustExist: !*o.create && *o.dir == "", ReadOnly: *o.readOnly, MaxMemoryMiB: *o.most}
	if err := opt.Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	where := a.needDB
	if *o.dir != "" {
		where = func() (string, error) { return a.folderDB(*o.dir) }
	}
	dir, err := where()
	if err != nil {
		return err
	}
	go freeAtRest(ctx, restAfter)
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
	served := mcp.Database(engine.WithReranker(db, second, *o.second.depth))
	opts := mcp.Options{ReadOnly: *o.readOnly || *o.dir != "", Version: versions().Version, Place: location.Of, Logger: a.warnings()}
	if *o.dir != "" {
		f, end, err := a.follow(ctx, db, *o.dir)
		if err != nil {
			return err
		}
		defer end()
		served, opts.Stale = fresh{served, f}, location.Stale
	}
	s := mcp.New(served, opts)
	err = s.Serve(ctx, a.Stdin, raw(a.Stdout))
	if errors.Is(err, context.Canceled) { // a client ends its servers by a signal
		return nil
	}
	return err
}
