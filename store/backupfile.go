package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/filelock"
)

// Errors of BackupFile.
var (
	// ErrOtherBackup is returned for a backup file whose last part is not a past state of this
	// database.
	ErrOtherBackup = errors.New("file is a backup of another database, or of another history of this one; name another file")
	// errBackupBusy is returned for a backup file that another backup is writing.
	errBackupBusy = errors.New("another backup is writing this file; wait for it")
)

// BackupFile writes a backup to a file. If the file is missing or empty, it writes the first part: the
// file is then complete or absent. If the file holds a backup of this database, it appends a part with
// the changes since the last part, or nothing if there are none. It first cuts off an unfinished part
// of an earlier call. After an error the file is otherwise unchanged. Cost and size are proportional
// to the change, plus one pass over the keys. Errors: those of Backup, ErrOtherBackup, errBackupBusy,
// and *backupError for a file that is not a backup. A file in the folder of a database is refused: it would be lost with it.
func (s *Store) BackupFile(ctx context.Context, path string, progress func(done, total int)) (r BackupReport, err error) {
	if dir, err := Folder(filepath.Dir(path)).Within(); err != nil {
		return r, err
	} else if dir != "" {
		return r, fmt.Errorf("%w: %s is in the folder of the database %s, and would be lost with it; name a file elsewhere", fault.ErrInvalid, path, dir)
	}
	b, err := s.beginBackup(ctx)
	if err != nil {
		return r, err
	}
	defer b.close()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0:
		if err := b.remember(ctx); err != nil {
			return r, err
		}
		err = atomicfile.Write(path, func(f *os.File) error {
			r, err = b.writeTo(ctx, f, nil, progress)
			return err
		})
		return r, err
	case err != nil:
		return r, err
	case !info.Mode().IsRegular():
		return r, fmt.Errorf("%s is no file; name one for the backup", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return r, err
	}
	if err := filelock.Try(f, true); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = fmt.Errorf("%s: %w", path, errBackupBusy)
		}
		return r, errors.Join(err, f.Close())
	}
	r, err = b.append(ctx, f, progress)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, errors.Join(err, filelock.Release(f))
}

// append writes the next part at the end of a file.
func (b *backup) append(ctx context.Context, f *os.File, progress func(done, total int)) (r BackupReport, err error) {
	last, err := readLast(f)
	if err != nil {
		return r, err
	}
	known := last.header.UUID == b.manifest.UUID
	if known {
		if known, err = b.s.knows(last.header.To); err != nil {
			return r, err
		}
	}
	if !known {
		return r, ErrOtherBackup
	}
	if err := f.Truncate(last.size); err != nil {
		return r, err
	}
	if last.header.To == b.to() && bytes.Equal(last.header.Manifest, b.raw) {
		return BackupReport{Seq: b.to().Seq, Documents: b.view.Len()}, nil
	}
	if err := b.remember(ctx); err != nil {
		return r, err
	}
	if _, err := f.Seek(last.size, io.SeekStart); err != nil {
		return r, err
	}
	r, err = b.writeTo(ctx, f, last, progress)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return BackupReport{}, errors.Join(err, f.Truncate(last.size))
	}
	return r, nil
}

// writeTo is write with a buffer.
func (b *backup) writeTo(ctx context.Context, f *os.File, last *lastPart, progress func(done, total int)) (BackupReport, error) {
	w := bufio.NewWriterSize(f, 256<<10)
	r, err := b.write(ctx, w, last, progress)
	if err == nil {
		err = w.Flush()
	}
	return r, err
}

// lastPart is the last whole part of a file.
type lastPart struct {
	header   partHeader
	manifest Manifest
	end      partEnd
	size     int64 // of the file up to the end of the part
}

// has reports whether the part's state had a bridge's file: then it is in the backup.
func (l *lastPart) has(name string) bool {
	for _, br := range l.manifest.Bridges {
		if filepath.Base(br.File) == name {
			return true
		}
	}
	return false
}

// readLast finds the last part of a file from the frame at its end. If there is no such frame, an
// earlier append may have been interrupted, and all parts are read.
func readLast(f *os.File) (*lastPart, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	l := &lastPart{size: info.Size()}
	if err := l.readEnd(f); err != nil {
		if l.size, err = wholeParts(f); err != nil {
			return nil, err
		}
		if err = l.readEnd(f); err != nil {
			return nil, err
		}
	}
	return l, l.readHeader(f)
}

// readEnd reads the last frame.
func (l *lastPart) readEnd(f *os.File) error {
	p := &partReader{r: io.NewSectionReader(f, max(0, l.size-endSize), endSize)}
	p.reset()
	kind, payload, err := p.next()
	if err == nil && kind == frameEnd {
		l.end, err = decodeEnd(payload)
	}
	if err == nil && (kind != frameEnd || l.end.length > uint64(max(0, l.size-endSize))) {
		err = errRecord
	}
	return err
}

// readHeader reads the header of a part whose end is known.
func (l *lastPart) readHeader(f *os.File) error {
	start := l.size - endSize - int64(l.end.length)
	p := &partReader{r: io.NewSectionReader(f, start, int64(l.end.length))}
	err := p.begin()
	var kind byte
	var payload []byte
	if err == nil {
		kind, payload, err = p.next()
	}
	if err == nil && kind != frameHeader {
		err = errors.New("it has no header")
	}
	if err == nil {
		l.header, l.manifest, err = decodeHeader(payload)
	}
	if err != nil {
		return &backupError{Part: max(1, l.header.Part), What: "its header", Err: err}
	}
	return nil
}

// wholeParts returns the end of the last whole part of a file that ends with an incomplete part. Any
// other ending is a *backupError: it may be damage, and parts after it may be good.
func wholeParts(f *os.File) (int64, error) {
	var size int64
	p := &partReader{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 256<<10)}
	for part := 1; ; part++ {
		n, err := p.skip()
		if err == nil {
			size += n
			continue
		}
		torn := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
		if torn && size > 0 {
			return size, nil
		}
		return 0, &backupError{Part: part, What: "it is no whole backup", Err: err}
	}
}

// skip reads over a part and returns its length.
func (p *partReader) skip() (int64, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	for {
		kind, payload, err := p.next()
		if err != nil {
			return 0, err
		}
		if kind == frameEnd {
			e, err := p.end(payload)
			return int64(e.length) + endSize, err
		}
	}
}
