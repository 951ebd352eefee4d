//go:build unix

package provision

import (
	"os/exec"
	"syscall"
)

// killWithChildren makes cancelling cmd kill its children too: clients are
// often scripts that start another program.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
