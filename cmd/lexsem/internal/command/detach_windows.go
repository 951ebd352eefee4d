package command

import "syscall"

// detachedProcess is DETACHED_PROCESS: without the console of this one.
const detachedProcess = 0x8

// detached has a process outlive this one and its console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}
