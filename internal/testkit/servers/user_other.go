//go:build !unix

package servers

import "os/exec"

// Unprivileged does nothing here.
func Unprivileged(*exec.Cmd, string) error { return nil }
