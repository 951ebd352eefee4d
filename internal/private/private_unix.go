//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// opening does not wait for pipes and does not follow links.
const opening = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOFOLLOW

func tighten(dir string, ours Ours) error {
	return tightenAt(unix.AT_FDCWD, dir, opening&^unix.O_NOFOLLOW, ours)
}

func tightenAt(parent int, name string, how int, ours Ours) error {
	folder, err := open(parent, name, how|unix.O_DIRECTORY)
	if folder == nil {
		return err
	}
	defer folder.Close()
	var errs []error
	if !ours.Shared {
		errs = append(errs, closeTo(folder)) // first, so that nobody comes in meanwhile
	}
	for name, of := range ours.Folders {
		errs = append(errs, tightenAt(int(folder.Fd()), name, opening, of))
	}
	if ours.Files == nil {
		return errors.Join(errs...)
	}
	names, err := folder.Readdirnames(-1)
	errs = append(errs, err)
	for _, name := range names {
		if !ours.Files(name) || !loose(int(folder.Fd()), name) {
			continue
		}
		f, err := open(int(folder.Fd()), name, opening)
		if f != nil {
			err = errors.Join(closeTo(f), f.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// loose reports whether an entry is a file that other users can access, so that few files are opened.
func loose(folder int, name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && fs.FileMode(st.Mode)&others != 0
}

// open opens an entry of a folder; it returns nil if the entry does not exist, is of another kind or
// cannot be read.
func open(folder int, name string, how int) (*os.File, error) {
	for {
		fd, err := unix.Openat(folder, name, how, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case errors.Is(err, unix.EINTR):
			continue
		case among(err, unix.ENOENT, unix.ELOOP, unix.EMLINK, unix.ENOTDIR, unix.ENXIO, unix.EACCES):
			return nil, nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
}

// closeTo removes the access of others to a file or folder of this user.
func closeTo(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() || info.Mode()&others == 0 || !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	err = f.Chmod(info.Mode() &^ others)
	if among(err, unix.EROFS, unix.EPERM, unix.ENOTSUP, unix.ENOSYS, unix.EINVAL) {
		return nil // as of a medium that cannot be written, or keeps no modes
	}
	return err
}

func among(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(e error) bool { return errors.Is(err, e) })
}

// Exposed reports whether users other than its owner can read or change a file. The group of a file of root may read it, where
// this user is not root: so a cluster mounts secrets, and nobody here could change their modes.
func Exposed(info fs.FileInfo) bool {
	open := info.Mode() & others
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == 0 && os.Geteuid() != 0 {
		open &^= 0o040
	}
	return open != 0
}
