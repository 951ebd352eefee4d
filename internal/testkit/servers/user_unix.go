//go:build unix

package servers

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody is the user that runs servers which refuse to run as root, if this process is root.
const nobody = 65534

// Unprivileged makes a command run as an unprivileged user if this process is root, and gives that user the
// folder dir, whose parent must be readable by all.
func Unprivileged(cmd *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}
