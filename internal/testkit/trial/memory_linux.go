package trial

import (
	"os"

	"golang.org/x/sys/unix"
)

// InMemory moves the folders of t.TempDir into memory, if /dev/shm has room. It is for TestMain of packages
// whose tests would wait for a disk but do not test it: package store tests the disk. Long forms and counted
// rounds use the disk. So does a run in which TMPDIR names a folder.
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
