package provision

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/regular"
)

// Archives are not trusted. Only the wanted members are read, by their exact names. They
// are written under names that we choose, up to their pinned sizes. A whole archive is
// refused if a name in it leads out of its folder, if a wanted name occurs twice or is
// not a regular file, or if its unpacked size exceeds every known archive.
const (
	maxEntries  = 20_000  // members in an archive
	maxUnpacked = 2 << 30 // bytes that a tgz may unpack to before the wanted members are found
	maxMember   = 1 << 30 // bytes of a member without a pinned size
)

// extract puts t's files, taken from the archive, into t.dir.
func extract(ctx context.Context, archive string, t transfer) error {
	f, err := regular.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return extractFrom(ctx, f, info.Size(), strings.HasSuffix(archive, ".tgz"), t)
}

// extractFrom puts t's files, taken from the zip or tgz of that size, into t.dir.
func extractFrom(ctx context.Context, r io.ReaderAt, size int64, tgz bool, t transfer) error {
	dir := t.dir
	if t.pkg.Inner != "" {
		dir = t.tmp
	}
	outer := t.outer()
	var err error
	if tgz {
		err = extractFiles(ctx, outer, dir, func(take takeFunc) error { return walkTar(ctx, io.NewSectionReader(r, 0, size), take) })
	} else {
		err = extractZip(ctx, r, size, outer, dir)
	}
	if err != nil || t.pkg.Inner == "" {
		return err
	}
	path := filepath.Join(t.tmp, outer[0].Name)
	defer os.Remove(path)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return extractZip(ctx, f, info.Size(), t.pkg.Files, t.dir)
}

func extractZip(ctx context.Context, r io.ReaderAt, size int64, files []File, dir string) error {
	z, err := openZip(r, size)
	if err != nil {
		return err
	}
	return extractFiles(ctx, files, dir, func(take takeFunc) error {
		for _, m := range z.File {
			if err := take(m.Name, m.Mode().IsRegular(), m.Open); err != nil {
				return err
			}
		}
		return nil
	})
}

// extractFiles stores the wanted ones among the members that walk yields.
func extractFiles(ctx context.Context, files []File, dir string, walk func(takeFunc) error) error {
	wanted := make(map[string]File, len(files))
	for _, w := range files {
		wanted[w.Member] = w
	}
	found := make(map[string]bool, len(files))
	take := func(name string, regular bool, r func() (io.ReadCloser, error)) error {
		w, ok := wanted[path.Clean(name)]
		if !ok {
			return nil
		}
		if !regular {
			return fmt.Errorf("%w: %s is not a regular file", ErrArchive, name)
		}
		if found[w.Member] {
			return fmt.Errorf("%w: %s occurs twice", ErrArchive, name)
		}
		found[w.Member] = true
		rc, err := r()
		if err != nil {
			return fmt.Errorf("%w: %s: %v", ErrArchive, name, err)
		}
		defer rc.Close()
		return store(ctx, rc, w, dir)
	}
	if err := walk(take); err != nil {
		return err
	}
	for _, w := range files {
		if !found[w.Member] {
			return fmt.Errorf("%w: it lacks %s", ErrArchive, w.Member)
		}
	}
	return nil
}

type takeFunc func(name string, regular bool, open func() (io.ReadCloser, error)) error

// openZip reads the directory of a zip and refuses one with names that lead out
// of it.
func openZip(r io.ReaderAt, size int64) (*zip.Reader, error) {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // insecure names are refused below
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if len(z.File) > maxEntries {
		return nil, fmt.Errorf("%w: it has %d members", ErrArchive, len(z.File))
	}
	for _, m := range z.File {
		if err := checkName(m.Name); err != nil {
			return nil, err
		}
	}
	return z, nil
}

// part is a range of bytes in an archive.
type part struct{ from, size int64 }

// wantedParts returns the byte ranges of the wanted files in the zip, and their total
// length.
func wantedParts(r io.ReaderAt, size int64, files []File) (parts []part, total int64, err error) {
	z, err := openZip(r, size)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range z.File {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Member == path.Clean(m.Name) }) || m.CompressedSize64 == 0 {
			continue
		}
		from, err := m.DataOffset()
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %s: %w", ErrArchive, m.Name, err)
		}
		if m.CompressedSize64 > uint64(size) || from > size-int64(m.CompressedSize64) || len(parts) == len(files) {
			return nil, 0, fmt.Errorf("%w: %s is said to lie where it cannot", ErrArchive, m.Name)
		}
		parts = append(parts, part{from, int64(m.CompressedSize64)})
		total += int64(m.CompressedSize64)
	}
	return parts, total, nil
}

func walkTar(ctx context.Context, f io.Reader, take takeFunc) error {
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrArchive, err)
	}
	bounded := &io.LimitedReader{R: contextReader{ctx, z}, N: maxUnpacked}
	t := tar.NewReader(bounded)
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if bounded.N <= 0 {
			return fmt.Errorf("%w: it unpacks to more than %d bytes", ErrArchive, int64(maxUnpacked))
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // insecure names are refused below
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %v", ErrArchive, err)
		}
		if n == maxEntries {
			return fmt.Errorf("%w: it has more than %d members", ErrArchive, maxEntries)
		}
		if err := checkName(h.Name); err != nil {
			return err
		}
		if err := take(h.Name, h.Typeflag == tar.TypeReg, func() (io.ReadCloser, error) { return io.NopCloser(t), nil }); err != nil {
			return err
		}
	}
}

// checkName refuses names that are absolute or lead upwards, on any system.
func checkName(name string) error {
	slashed := strings.ReplaceAll(name, `\`, "/")
	bad := slashed == "" || strings.HasPrefix(slashed, "/") || strings.ContainsRune(slashed, 0) ||
		len(slashed) > 1 && slashed[1] == ':'
	for _, part := range strings.Split(slashed, "/") {
		bad = bad || part == ".."
	}
	if bad {
		return fmt.Errorf("%w: it has a member named %q", ErrArchive, name)
	}
	return nil
}

// store copies r into dir under w's name and checks size and digest. A file that fails
// them is removed. Nothing is synced: if a power cut damages the cache, the digests show
// it, and the file is fetched again.
func store(ctx context.Context, r io.Reader, w File, dir string) (err error) {
	limit := int64(maxMember)
	if w.Size > 0 {
		limit = w.Size
	}
	dst := filepath.Join(dir, w.Name)
	f, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(dst)
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(contextReader{ctx, r}, limit+1))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %s: %w", ErrArchive, w.Member, err)
	}
	if n > limit {
		return fmt.Errorf("%w: %s is longer than %d bytes", ErrArchive, w.Member, limit)
	}
	if got := hex.EncodeToString(h.Sum(nil)); w.SHA256 != "" && got != w.SHA256 {
		return fmt.Errorf("%w: %s has %s, want %s", ErrDigest, w.Member, got, w.SHA256)
	}
	return f.Close()
}
