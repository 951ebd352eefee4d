package share_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/share"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
}

// asNobody runs do in a thread that has lost its rights, and ends it.
func asNobody(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it
		const nobody = 65534
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); e != 0 {
			done <- e
			return
		}
		done <- do()
	}()
	return <-done
}

// TestOtherUsers: a process of another user is not let in, even where the permissions of
// folder and socket are wide open, and hears nothing.
func TestOtherUsers(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	e := filledShare(t, dir, 3)
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	shared(t, e, dir, share.Options{})
	if err := os.Chmod(filepath.Join(dir, "socket"), 0o666); err != nil {
		t.Fatal(err)
	}
	greeting := greetingOf(t, dir)
	err := asNobody(t, func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "socket")}); err != nil {
			return err
		}
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
			return err
		}
		_, _ = unix.Write(fd, greeting) // it may be gone by now
		n, err := unix.Read(fd, make([]byte, 100))
		if n > 0 {
			return errors.New("it was answered")
		}
		if errors.Is(err, unix.EAGAIN) {
			return errors.New("it was not let go")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n, err := asked(t, dir).Count(t.Context(), engine.Filter{}); n != 3 || err != nil {
		t.Error(n, err)
	}
}

// TestImpostor: a socket of another user, in a folder that is not theirs, is no holder.
func TestImpostor(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var fd int
	err := asNobody(t, func() (err error) {
		if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err = unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "socket")}); err != nil {
			return err
		}
		return unix.Listen(fd, 5)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := share.Open(t.Context(), dir); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
