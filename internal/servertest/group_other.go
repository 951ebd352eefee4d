//go:build !unix

package servertest

import "os/exec"

func group(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
