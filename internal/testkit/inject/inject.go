//go:build linux

// Package inject makes system calls of child processes fail, or ends the child at one, by strace. Start with
// [Number] or [Kill], which return the fault with a number, and [Fault.Run]. [Calls] records in the child,
// and [Tally] checks in the parent.
package inject

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Fault is an error that each thread gets from its k-th call of one kind on. Without an error, that call
// kills the process by SIGKILL.
type Fault struct {
	Call, Error string
	K           int
	anywhere    bool // the call names no file
}

func (f Fault) String() string {
	if f.Error == "" {
		return fmt.Sprintf("killed at call %d of %s", f.K, f.Call)
	}
	return fmt.Sprintf("%s at call %d of %s", f.Error, f.K, f.Call)
}

// faults are the calls of a database and their possible errors.
var faults = []Fault{
	{Call: "openat", Error: "EIO"}, {Call: "openat", Error: "EMFILE"}, {Call: "openat", Error: "ENOSPC"}, {Call: "openat", Error: "ENOMEM"},
	{Call: "read", Error: "EIO"}, {Call: "pread64", Error: "EIO"}, {Call: "getdents64", Error: "EIO"}, {Call: "newfstatat", Error: "EIO"},
	{Call: "fstat", Error: "EIO"}, {Call: "write", Error: "EIO"}, {Call: "write", Error: "ENOSPC"}, {Call: "pwrite64", Error: "EIO"},
	{Call: "pwrite64", Error: "ENOSPC"}, {Call: "ftruncate", Error: "EIO"}, {Call: "ftruncate", Error: "ENOSPC"}, {Call: "fallocate", Error: "ENOSPC"},
	{Call: "fsync", Error: "EIO"}, {Call: "fsync", Error: "ENOSPC"}, {Call: "renameat", Error: "EIO"}, {Call: "renameat", Error: "ENOSPC"},
	{Call: "unlinkat", Error: "EIO"}, {Call: "mkdirat", Error: "ENOSPC"}, {Call: "mmap", Error: "ENOMEM"}, {Call: "mmap", Error: "EMFILE"},
	{Call: "flock", Error: "EIO"}, {Call: "msync", Error: "EIO", anywhere: true}, {Call: "msync", Error: "ENOMEM", anywhere: true},
	{Call: "mremap", Error: "ENOMEM", anywhere: true},
}

// Number returns the fault with a number: each kind in turn, at an early or a late call.
func Number(n uint64) Fault {
	r := rand.New(rand.NewPCG(n, 0))
	f := faults[n%uint64(len(faults))]
	f.K = 1 + r.IntN(1+r.IntN(30))
	return f
}

// kills are the calls by which a database changes the disk.
var kills = []Fault{
	{Call: "openat"}, {Call: "ftruncate"}, {Call: "unlinkat"}, {Call: "renameat"}, {Call: "write"}, {Call: "pwrite64"},
	{Call: "fsync"}, {Call: "mkdirat"}, {Call: "fallocate"}, {Call: "msync", anywhere: true}, {Call: "mremap", anywhere: true},
}

// Kill returns the kill with a number: at each kind of call in turn, at an early or a late one.
func Kill(n uint64) Fault {
	r := rand.New(rand.NewPCG(n, 1))
	f := kills[n%uint64(len(kills))]
	f.K = 1 + r.IntN(1+r.IntN(40))
	return f
}

// Need skips a test if strace is not installed or may not trace.
func Need(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace=openat", "true").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: system calls that fail; this needs strace, and the right to trace: %v %s", err, out)
	}
}

// ByFiles reports whether the Go runtime, or the test's own reports, also make calls of f's kind: those must
// be distinguished by their files.
func (f Fault) ByFiles() bool {
	return slices.Contains([]string{"openat", "read", "pread64", "write", "newfstatat", "fstat", "mmap"}, f.Call)
}

// Run runs a command in which a fault hits calls on the given files, or all calls if none are given. It
// returns the command's output and duration. It kills the command after limit.
func (f Fault) Run(t *testing.T, cmd *exec.Cmd, limit time.Duration, files []string) (out string, took time.Duration, err error) {
	t.Helper()
	what := "error=" + f.Error
	if f.Error == "" {
		what = "signal=SIGKILL"
	}
	args := []string{"strace", "-f", "-qq", "-o", filepath.Join(t.TempDir(), "strace"), "-e", "trace=" + f.Call,
		"-e", fmt.Sprintf("inject=%s:%s:when=%d", f.Call, what, f.K)}
	if f.Error != "" {
		args = append(args, "--seccomp-bpf") // only calls of this kind stop the child; kills would hit fewer calls so
	}
	if !f.anywhere {
		for _, file := range files {
			args = append(args, "-P", file)
		}
	}
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = path, append(args, cmd.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var b strings.Builder
	cmd.Stdout, cmd.Stderr = &b, &b
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err = cmd.Wait()
	timer.Stop()
	return b.String(), time.Since(began), err
}
