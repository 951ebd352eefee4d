// Package store keeps what must survive: documents, vectors, token ids, the
// change log and the manifest of one database, in Badger below one folder.
// Everything else (graphs, arenas, sums) is derived from it and kept in
// snapshot files, for which this package has the file format (WriteSnapshot,
// OpenSnapshot) but no knowledge of their contents.
//
// Every version of a document gets an ordinal: a number from 1 upwards that no
// other version ever gets. Writes come in batches; a batch gets the next
// sequence number when it commits and is visible as a whole or not at all,
// whatever its size and whenever the process dies. The change log tells what
// each batch did, so that derived state can follow by replay; Compact removes
// replaced versions and log entries that nobody needs any more.
//
// # The promise
//
// A batch whose Commit returned survives the end of the process always, and
// the loss of power unless Options.NoSync is set. Damage on disk is reported
// as *CorruptError: every value carries a checksum that covers its key, all
// tables are checked at Open, and a mark beside the database (file HEAD)
// tells how far acknowledged writes had come, so that a shortened log is
// noticed too.
//
// A Store is safe for concurrent use. Readers see the state of the last
// commit and never wait for writers; one batch is written at a time.
package store
