// Package store keeps what must survive: documents, vectors, token ids, the change log and the manifest of
// one database, in Badger in one folder. All other data (indexes, sufficient statistics) is derived from it,
// and kept by other packages in snapshots.
//
// Start with [Open], then [Store.Begin], [Batch.Put] and [Batch.Commit], and [Store.Snapshot] for a [View] to
// read. [Store.BackupFile] and [Restore] keep copies (archive.go), [Folder.Salvage] saves the readable parts of a
// damaged database (raw_reader.go), and [Store.HandOver] lets a second database take the place of this one.
// docs/format.md describes the bytes.
//
// Every version of a document gets an ordinal that is never reused, and every batch the next sequence number.
// The change log records the changes of each batch, so derived state can be updated by replay.
// [Store.Compact] removes replaced versions and log entries. A digest chained through the commits ([History])
// ties a snapshot to one state of one database.
//
// What holds:
//
//   - Durability: a batch whose Commit returned survives the end of the process, and a power cut unless
//     Options.NoSync is set. A batch is visible as a whole or not at all, whatever its size.
//   - Damage is a *CorruptError of the call that reads it. Every value has a checksum that covers its
//     database and its key, and blocks of Badger are checked before they are read. The file HEAD records the
//     last acknowledged write, so a shortened log is also noticed. Data outside a damaged block can still be
//     read.
//   - Concurrency: a Store and its Views are safe for concurrent use, a Batch is for one goroutine. Readers
//     see the last commit and never wait for writers. One batch is written at a time. After a write that
//     failed midway, writes return ErrFailed until the store is opened again.
package store
