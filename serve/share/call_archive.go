package share

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/engine"
)

var export = newCall("Export", 0,
	form[exportTo, engine.ExportOptions]{
		func(x exportTo) (engine.ExportOptions, error) { return x.Options, x.Options.Filter.Err() },
		func(o engine.ExportOptions) (exportTo, error) { return exportTo{Options: o}, nil },
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
	Options engine.ExportOptions
}

// Export is engine.Engine.Export.
func (j *Joined) Export(ctx context.Context, w io.Writer, o engine.ExportOptions) (int, error) {
	return export.from(ctx, j, exportTo{w, o})
}

var load = newCall("Import", writes, absent[*engine.Exported](), plain[engine.ImportReport](), engine.Database.Import,
	streams[*engine.Exported]{
		func(x *engine.Exported, how *asked) { how.in = x.Unread() },
		func(ctx context.Context, x **engine.Exported, s *session) (err error) {
			*x, err = engine.NewExported(source{ctx, s})
			return err
		},
	})

// Import is engine.Engine.Import. This process reads the lines. It sends them at the rate at which the
// server process stores them.
func (j *Joined) Import(ctx context.Context, x *engine.Exported) (engine.ImportReport, error) {
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
	plain[engine.BackupReport](), engine.Database.Backup)

// Backup is engine.Engine.Backup. The process that has the database open writes the file.
func (j *Joined) Backup(ctx context.Context, path string) (engine.BackupReport, error) {
	return backup.from(ctx, j, path)
}

var backupTo = newCall("BackupTo", 0, absent[io.Writer](), plain[engine.BackupReport](), engine.Database.BackupTo,
	streams[io.Writer]{
		func(w io.Writer, how *asked) { how.out = w },
		func(_ context.Context, w *io.Writer, s *session) error {
			*w = s
			return nil
		},
	})

// BackupTo is engine.Engine.BackupTo.
func (j *Joined) BackupTo(ctx context.Context, w io.Writer) (engine.BackupReport, error) {
	return backupTo.from(ctx, j, w)
}
