package share

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/lexsem/lexsem/internal/private"
)

// socketName is the socket in the folder of a database.
const socketName = "socket"

// maxPath is the maximum length of a socket's path on this system.
func maxPath() int {
	if runtime.GOOS == "linux" || runtime.GOOS == "windows" {
		return 107
	}
	return 103
}

// short calls use with a path of the socket in dir that the system accepts: a longer path is replaced
// by a temporary link in a folder of ours.
func short(dir string, use func(path string) error) (err error) {
	path := filepath.Join(dir, socketName)
	if len(path) <= maxPath() {
		return use(path)
	}
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if base == "" || len(base)+len("/lexsem-4294967295/d/")+len(socketName) > maxPath() {
			continue
		}
		var own string
		if own, err = os.MkdirTemp(base, "lexsem-"); err != nil {
			continue
		}
		link := filepath.Join(own, "d")
		defer func() { err = errors.Join(err, removeIfThere(link), os.Remove(own)) }()
		if err := os.Symlink(dir, link); err != nil {
			return err
		}
		return use(filepath.Join(link, socketName))
	}
	return errors.Join(fmt.Errorf("the path %s is longer than the %d bytes that a socket path may have, and there is no folder for a link to it", path, maxPath()), err)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Clear removes the socket of a killed process from the folder of a database. Only the process that has
// the database open for writing may call it. Join does so when it shares the database.
func Clear(dir string) error {
	path := filepath.Join(dir, socketName)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is not a socket of this program and is left as it is; remove it so that other processes can use the database", path)
	}
	return removeIfThere(path)
}

// listen makes the socket of the database in dir. Only its holder may call this, so an existing socket
// was left by a killed process. Any other file of that name belongs to somebody and stays.
func listen(dir string) (*net.UnixListener, fs.FileInfo, error) {
	path := filepath.Join(dir, socketName)
	if err := Clear(dir); err != nil {
		return nil, nil, err
	}
	var l *net.UnixListener
	err := short(dir, func(path string) error {
		var err error
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err == nil {
			l.SetUnlinkOnClose(false) // the name may have become another's
		}
		return err
	})
	var info fs.FileInfo
	if err == nil {
		err = os.Chmod(path, private.File)
	}
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close(), removeIfThere(path))
		}
		return nil, nil, err
	}
	return l, info, nil
}

// connectPause is the time between two attempts if the system has no capacity for another connection;
// connectFor is how long they continue.
const (
	connectPause = 5 * time.Millisecond
	connectFor   = 2 * time.Second
)

// connect connects to the process that listens on the socket in dir; ErrNoHolder if none does. It does
// not follow a link of that name.
func connect(ctx context.Context, dir string) (conn net.Conn, err error) {
	path := filepath.Join(dir, socketName)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("database %s: %w", dir, ErrNoHolder)
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("database %s: %w: %s is not a socket", dir, ErrNoHolder, path)
	}
	var d net.Dialer
	for until := time.Now().Add(connectFor); ; {
		err = short(dir, func(path string) error {
			var err error
			conn, err = d.DialContext(ctx, "unix", path)
			return err
		})
		if !errors.Is(err, syscall.EAGAIN) || time.Now().After(until) {
			break
		}
		select {
		case <-time.After(connectPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case refused(err), errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("database %s: %w", dir, ErrNoHolder)
	default:
		return nil, fmt.Errorf("database %s: the process that has it open cannot be reached: %w", dir, err)
	}
	if err := trusted(conn.(*net.UnixConn), dir); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: the process that has it open: %w", dir, err), conn.Close())
	}
	return conn, nil
}

// trusted checks that a process of our user, of the folder's owner, or of root answers.
func trusted(c *net.UnixConn, dir string) error {
	uid, ok, err := peerUser(c)
	if err != nil || !ok || uid == os.Geteuid() || uid == 0 {
		return err
	}
	if owner, ok := ownerOf(dir); ok && owner == uid {
		return nil
	}
	return errForeignPeer
}

// allowed checks that a process of our user or of root calls.
func allowed(c *net.UnixConn) error {
	uid, ok, err := peerUser(c)
	if err != nil || !ok || uid == os.Geteuid() || uid == 0 {
		return err
	}
	return errForeignPeer
}

// errForeignPeer is the error for processes of other users.
var errForeignPeer = fmt.Errorf("a process of another user: %w", fs.ErrPermission)
