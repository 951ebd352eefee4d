//go:build unix

package store

import "syscall"

func kill(pid int) { syscall.Kill(pid, syscall.SIGKILL) }
