package engine

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
)

// Engine is an open database. All methods are safe for concurrent use; writes
// are serialised, searches run beside them.
type Engine struct{ dir string }

// Open opens or creates the database in dir. enc must be the encoder the
// database was filled with (else *encoder.MismatchError); nil opens it for
// Get, Delete, Stats and searches by vector only.
func Open(ctx context.Context, dir string, enc encoder.Encoder, o Options) (*Engine, error) {
	return nil, ErrInvalid
}

// Add stores new documents atomically; ErrExists if an id is stored already.
func (e *Engine) Add(ctx context.Context, docs []Document) (AddResult, error) {
	return AddResult{}, ErrInvalid
}

// Upsert stores documents atomically, replacing those with the same ids.
func (e *Engine) Upsert(ctx context.Context, docs []Document) (AddResult, error) {
	return AddResult{}, ErrInvalid
}

// Get returns a document by id, or ErrNotFound.
func (e *Engine) Get(ctx context.Context, id string) (Document, error) {
	return Document{}, ErrInvalid
}

// Delete removes the documents that are stored and returns how many were.
func (e *Engine) Delete(ctx context.Context, ids []string) (int, error) { return 0, ErrInvalid }

// Search answers one query.
func (e *Engine) Search(ctx context.Context, q Query) (Result, error) { return Result{}, ErrInvalid }

// Fit fits a bridge on what is stored and makes it the default.
func (e *Engine) Fit(ctx context.Context, o FitOptions) (FitReport, error) {
	return FitReport{}, ErrInvalid
}

// Stats describes the database.
func (e *Engine) Stats(ctx context.Context) (Stats, error) { return Stats{}, ErrInvalid }

// Close finishes running writes, saves derived state and releases everything.
func (e *Engine) Close() error { return nil }
