package share

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
)

var export = newCall("Export", 0,
	form[exportTo, archive.ExportOptions]{
		func(x exportTo) (archive.ExportOptions, error) { return x.Options, x.Options.Filter.Err() },
		func(o archive.ExportOptions) (exportTo, error) { return exportTo{Options: o}, nil },
	},
	plain[int](),
	func(db engine.Database, ctx context.Context, x exportTo) (int, error) {
		return db.Export(ctx, x.W, x.Options)
	},
	streams[exportTo]{
		func(x exportTo, how *asked) { how.out = x.W },
		func(_ context.Context, x *exportTo, s *session) error {
			x.W = s
			return nil
		},
	})

type exportTo struct {
	W       io.Writer
	Options archive.ExportOptions
}

// Export is engine.Engine.Export.
func (j *Joined) Export(ctx context.Context, w io.Writer, o archive.ExportOptions) (int, error) {
	return export.from(ctx, j, exportTo{w, o})
}

var load = newCall("Import", writes, absent[*archive.Exported](), plain[engine.AddResult](), engine.Database.Import,
	streams[*archive.Exported]{
		func(x *archive.Exported, how *asked) { how.in = x.Unread() },
		func(ctx context.Context, x **archive.Exported, s *session) (err error) {
			*x, err = archive.NewExported(source{ctx, s})
			return err
		},
	})

// Import is engine.Engine.Import. This process reads the lines. It sends them at the rate at which the
// server process stores them.
func (j *Joined) Import(ctx context.Context, x *archive.Exported) (engine.AddResult, error) {
	return load.from(ctx, j, x)
}

var backup = newCall("Backup", writes,
	form[string, string]{
		func(path string) (string, error) {
			full, err := filepath.Abs(path) // the server process has another current folder
			if err != nil {
				err = fmt.Errorf("backup %s: %w", path, err)
			}
			return full, err
		},
		plain[string]().from,
	},
	plain[archive.BackupReport](), engine.Database.Backup)

// Backup is engine.Engine.Backup. The process that has the database open writes the file.
func (j *Joined) Backup(ctx context.Context, path string) (archive.BackupReport, error) {
	return backup.from(ctx, j, path)
}

var backupTo = newCall("BackupTo", 0, absent[io.Writer](), plain[archive.BackupReport](), engine.Database.BackupTo,
	streams[io.Writer]{
		func(w io.Writer, how *asked) { how.out = w },
		func(_ context.Context, w *io.Writer, s *session) error {
			*w = s
			return nil
		},
	})

// BackupTo is engine.Engine.BackupTo.
func (j *Joined) BackupTo(ctx context.Context, w io.Writer) (archive.BackupReport, error) {
	return backupTo.from(ctx, j, w)
}
