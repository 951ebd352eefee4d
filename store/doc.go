// Package store keeps what must survive: documents, vectors, token ids, the
// change log and the manifest of one database, in Badger below one folder.
// Everything else (graphs, arenas, sums) is derived from it and kept in
// snapshot files beside it. A digest chained through the commits (History) tells
// which state of which database a snapshot was made from.
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
// as *CorruptError by the call that meets it: every value carries a checksum that
// covers its database and its key, what Badger reads is checked before, and a
// mark beside the database (file HEAD) tells how far acknowledged writes had
// come and their digest, so that a shortened log and records of another history
// are noticed too. What a bad block does not touch can still be read.
//
// A Store is safe for concurrent use. Readers see the state of the last
// commit and never wait for writers; one batch is written at a time.
package store
