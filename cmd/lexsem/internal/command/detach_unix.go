//go:build unix

package command

import "syscall"

// detached has a process outlive this one and its terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
