// Package archive reads and writes the files of a database: exports, which are JSON lines that other programs can
// read, and backups.
//
// Start with [NewExported], which reads an export, and [Restore], which makes a database from a backup. Engine.Export,
// Engine.Import and Engine.Backup of package engine are the calls of an open database. docs/format.md describes both
// formats. Errors are those of package engine.
package archive

import (
	"github.com/lexsem/lexsem/engine/filter"
)

// ExportOptions configure Engine.Export.
type ExportOptions struct {
	// Vectors also writes vectors, tokens and token states exactly, so that Import needs no encoder. They take 5.3
	// bytes a dimension and chunk, and 4/3 of the token states' bytes.
	//
	// Tokens that are terms of this database's own vocabulary are left out: Import makes them from the texts.
	Vectors bool
	// Filter keeps documents whose metadata match; zero keeps all.
	Filter filter.Filter
}
