package trial

import (
	"os"

	"golang.org/x/sys/unix"
)

// InMemory puts the folders that t.TempDir makes into memory, if /dev/shm has room. It is for TestMain of
// packages whose tests would wait for a disk and promise nothing of one: package store tests what a disk keeps.
// Long forms and counted rounds use the disk, and so does a run in which TMPDIR names a folder.
func InMemory() {
	const memory, room = "/dev/shm", 4 << 30
	const noExec = 8 // of statfs: a test may run a program that it puts there
	if os.Getenv("LEXSEM_LONG")+os.Getenv("LEXSEM_ROUNDS")+os.Getenv("TMPDIR") != "" {
		return
	}
	var s unix.Statfs_t
	if err := unix.Statfs(memory, &s); err != nil || s.Type != unix.TMPFS_MAGIC || s.Flags&noExec != 0 || s.Bavail*uint64(s.Bsize) < room || unix.Access(memory, unix.W_OK) != nil {
		return
	}
	if err := os.Setenv("TMPDIR", memory); err != nil {
		panic(err)
	}
}
