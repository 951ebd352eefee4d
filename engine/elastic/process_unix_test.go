//go:build unix

package elastic_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody runs the server where this process is root, which the server refuses to be.
const nobody = 65534

// unprivileged makes a command one of a user without rights.
func unprivileged(cmd *exec.Cmd, dir string) error {
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
