// Package lexsem is an embedded search engine for texts. [Open] opens a database in a folder, and fetches the
// model that turns texts into vectors if it is not on this machine. [DB.Add] stores documents, and
// [DB.Search] finds them by meaning and by their exact words.
//
// A DB is an engine.Engine: its other methods change, delete and list documents, fit bridges, explain hits,
// back up and verify. What package engine promises holds here, too: concurrency, durability, errors. The
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

// Types of package engine that every program meets.
type (
	Document = engine.Document // what is stored
	Query    = engine.Query    // what is asked
	Hit      = engine.Hit      // a document found
	Result   = engine.Result   // the hits of a query, and how they were found
)

// Errors of every database, for errors.Is. Package engine has all.
var (
	ErrExists   = engine.ErrExists   // Add met an id that is stored
	ErrInvalid  = engine.ErrInvalid  // an argument is out of range
	ErrNotFound = engine.ErrNotFound // there is no document of that id, or no database
	ErrClosed   = engine.ErrClosed   // the database is closed
)

// Options shape Open. The zero value is a good default.
type Options struct {
	Model   string          // name of the model, as package models takes it; "" means the database's own, and models.Default for a new one
	Encoder encoder.Encoder // in place of a model by name; Close leaves it open

	Models models.Options // where models are looked for and what runs them
	Engine engine.Options // the database itself
}

// DB is an open database. Its methods are safe for concurrent use.
type DB struct{ *engine.Engine }

// Open opens the database in the folder dir, or makes one. At most one Options may be given.
// Close saves the database. Errors: those of engine.Open and models.Open.
func Open(ctx context.Context, dir string, options ...Options) (*DB, error) {
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	if o.Engine.OpenEncoder == nil {
		o.Engine.OpenEncoder = func(ctx context.Context, stored encoder.Fingerprint) (encoder.Encoder, error) {
			return models.Open(ctx, cmp.Or(o.Model, models.Of(stored), models.Default), o.Models)
		}
	}
	e, err := engine.Open(ctx, dir, o.Encoder, o.Engine)
	if err != nil {
		return nil, err
	}
	return &DB{e}, nil
}

// Memory opens a new, empty database that is kept in memory and ends with Close: for tests. It is Open
// with engine.Options.InMemory. With Options.Encoder it opens and closes in a few milliseconds; without one
// it waits for the model.
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

// Add stores documents whose ids are new, all or none: ErrExists for an id that is stored.
func (db *DB) Add(ctx context.Context, docs ...Document) error {
	_, err := db.Engine.Add(ctx, docs)
	return err
}

// Upsert stores documents, all or none, and replaces those of the same ids.
func (db *DB) Upsert(ctx context.Context, docs ...Document) error {
	_, err := db.Engine.Upsert(ctx, docs)
	return err
}

// Search returns the documents that answer a query best, best first: a string, or a Query for
// filters, pages and ways of searching. Any other type is ErrInvalid.
func (db *DB) Search(ctx context.Context, query any) (Result, error) {
	switch q := query.(type) {
	case string:
		return db.Engine.Search(ctx, Query{Text: q})
	case Query:
		return db.Engine.Search(ctx, q)
	}
	return Result{}, fmt.Errorf("%w: a query is a string or a lexsem.Query, not %T", ErrInvalid, query)
}
