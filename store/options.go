package store

import "log/slog"

// Options are the options of Open. The zero value is a good default.
type Options struct {
	// NoSync lets the operating system decide when writes reach the disk. Many small batches get much
	// faster. A power cut may then lose the last batches, or leave a database that is reported as
	// damaged. The end of the process still loses nothing, and Close makes everything durable. Do not
	// write derived state before Close: after a power cut it could be ahead of the store.
	NoSync bool
	// ReadOnly opens the database for reading only. Several readers may have it open at once, but not
	// together with a writer.
	ReadOnly bool
	// InMemory keeps all records in memory: the store is new and ends with Close. Its folder must exist.
	// This package writes no file there. HandOver is refused.
	InMemory bool
	// MemoryMiB is about the memory of buffers and compactions, in MiB, without memory-mapped files. 0
	// means 128; values below 32 count as 32. While the database is open for writing, 3/8 of it is
	// reserved on the disk. With Go's default settings the heap grows to about twice this size.
	MemoryMiB int
	// Logger receives warnings and, at debug level, Badger's messages. nil means none.
	Logger *slog.Logger

	logged int64 // size of memtable that the logs need (logRoom)
}

func (o Options) memoryMiB() int {
	switch {
	case o.MemoryMiB > 0:
		return max(o.MemoryMiB, 32)
	case o.InMemory: // Badger clears what it takes, at each opening
		return 64
	}
	return 128
}

// memtableBytes is the nominal size of one of Badger's memtables.
func (o Options) memtableBytes() int64 {
	return min(max(int64(o.memoryMiB())<<20/16, o.logged), 64<<20)
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
