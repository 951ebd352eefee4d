// Package archive reads and writes the files of a database: exports, which are JSON lines that other programs can
// read, and backups.
//
// Start with [NewExported], which reads an export, and [Restore], which makes a database from a backup. Engine.Export,
// Engine.Import and Engine.Backup of package engine are the calls of an open database. docs/format.md describes both
// formats. Errors are those of package engine.
package archive
