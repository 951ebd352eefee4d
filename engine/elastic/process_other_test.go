//go:build !unix

package elastic_test

import "os/exec"

func unprivileged(*exec.Cmd, string) error { return nil }

func (n *node) kill() {
	_ = n.cmd.Process.Kill() // it may have ended
	<-n.ended
	n.ended <- nil
}
