// Package lexsem is an embedded search engine for texts. [Open] opens a database in a folder, and fetches the
// model that turns texts into vectors if it is not on this machine. [DB.Add] stores documents, and
// [DB.Search] finds them by meaning and by their exact words.
//
// A DB is an engine.Engine: its other methods change, delete and list documents, fit bridges, explain hits,
// back up and verify. Package engine's guarantees of concurrency, durability and errors also apply here. The
// packages below ingest make documents of files and folders. The packages below serve answer over HTTP and
// MCP.
package lexsem

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine"
)

// Types of package engine that every program uses.
type (
	Document = engine.Document // what a database stores
	Query    = engine.Query    // a search with all its options
	Hit      = engine.Hit      // a document that was found
	Result   = engine.Result   // the hits of a query, and a trace of the search
)

// The most common errors, for errors.Is. Package engine has all of them.
var (
	ErrExists   = engine.ErrExists   // Add: the id is already stored
	ErrInvalid  = engine.ErrInvalid  // an argument is out of range
	ErrNotFound = engine.ErrNotFound // there is no such document, or no database
	ErrClosed   = engine.ErrClosed   // the database is closed
)

// Options configure Open and Memory. The zero value is a good default.
type Options struct {
	Model   string          // name of a model of package models; "" means the database's own, and models.Default for a new one
	Encoder encoder.Encoder // instead of a named model; Close does not close it

	Models models.Options // where models are, and what runs them
	Engine engine.Options // options of the database itself
}

// DB is an open database. Its methods are safe for concurrent use.
type DB struct{ *engine.Engine }

// Open opens the database in the folder dir, or creates one. Give at most one Options. Close the database at the end.
// Errors: those of engine.Open and models.Open.
func Open(ctx context.Context, dir string, options ...Options) (*DB, error) {
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	if o.Engine.OpenEncoder == nil {
		o.Engine.OpenEncoder = func(ctx context.Context, stored encoder.Fingerprint) (encoder.Encoder, error) {
			return models.Open(ctx, cmp.Or(o.Model, models.Of(stored)), o.Models)
		}
	}
	e, err := engine.Open(ctx, dir, o.Encoder, o.Engine)
	if err != nil {
		return nil, err
	}
	return &DB{e}, nil
}

// Memory opens a new database in memory, for tests. Its content is lost on Close. With Options.Encoder it opens in a few
// milliseconds; otherwise it first loads the model.
func Memory(ctx context.Context, options ...Options) (*DB, error) {
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	o.Engine.InMemory = true
	return Open(ctx, "", o)
}

func one(options []Options) (o Options, err error) {
	if len(options) > 1 {
		return o, fmt.Errorf("%w: %d Options; give one", ErrInvalid, len(options))
	}
	if len(options) == 1 {
		o = options[0]
	}
	return o, nil
}

// Add stores new documents: all of them or, on an error, none. Errors: ErrExists if an id is already stored.
func (db *DB) Add(ctx context.Context, docs ...Document) error {
	_, err := db.Engine.Add(ctx, docs)
	return err
}

// Upsert stores documents and replaces those with the same ids: all of them or, on an error, none.
func (db *DB) Upsert(ctx context.Context, docs ...Document) error {
	_, err := db.Engine.Upsert(ctx, docs)
	return err
}

// Search returns the documents that answer the query best, best first. query is a string, or a Query for filters, pages
// and search modes. Errors: ErrInvalid for any other type.
func (db *DB) Search(ctx context.Context, query any) (Result, error) {
	switch q := query.(type) {
	case string:
		return db.Engine.Search(ctx, Query{Text: q})
	case Query:
		return db.Engine.Search(ctx, q)
	}
	return Result{}, fmt.Errorf("%w: a query is a string or a lexsem.Query, not %T", ErrInvalid, query)
}
