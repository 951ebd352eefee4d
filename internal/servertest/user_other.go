//go:build !unix

package servertest

import "os/exec"

// Unprivileged does nothing here.
func Unprivileged(*exec.Cmd, string) error { return nil }
