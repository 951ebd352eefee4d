package share

import (
	"context"
	"io"
	"iter"

	"github.com/lexsem/lexsem/engine"
)

// Add is engine.Engine.Add.
func (j *Joined) Add(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return tried(ctx, j, false, func(db engine.Database) (engine.AddResult, error) { return db.Add(ctx, docs) })
}

// Upsert is engine.Engine.Upsert. If the call was repeated, documents that the first attempt stored
// count as unchanged.
func (j *Joined) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.AddResult, error) { return db.Upsert(ctx, docs) })
}

// Patch is engine.Engine.Patch.
func (j *Joined) Patch(ctx context.Context, patches []engine.Patch) (int, error) {
	return tried(ctx, j, false, func(db engine.Database) (int, error) { return db.Patch(ctx, patches) })
}

// Delete is engine.Engine.Delete.
func (j *Joined) Delete(ctx context.Context, ids []string) (int, error) {
	return tried(ctx, j, false, func(db engine.Database) (int, error) { return db.Delete(ctx, ids) })
}

// DeleteWhere is engine.Engine.DeleteWhere.
func (j *Joined) DeleteWhere(ctx context.Context, f engine.Filter) (int, error) {
	return tried(ctx, j, false, func(db engine.Database) (int, error) { return db.DeleteWhere(ctx, f) })
}

// Get is engine.Engine.Get.
func (j *Joined) Get(ctx context.Context, id string) (engine.Document, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.Document, error) { return db.Get(ctx, id) })
}

// All is engine.Engine.All.
func (j *Joined) All(ctx context.Context, f engine.Filter) iter.Seq2[engine.Document, error] {
	return func(yield func(engine.Document, error) bool) {
		begun := false
		var last error // of a stream of which a part has gone, which does not begin again
		_, err := tried(ctx, j, true, func(db engine.Database) (nothing, error) {
			for d, err := range db.All(ctx, f) {
				if err != nil && begun {
					last = err
					return nothing{}, nil
				}
				if err != nil {
					return nothing{}, err
				}
				begun = true
				if !yield(d, nil) {
					return nothing{}, nil
				}
			}
			return nothing{}, nil
		})
		if err == nil {
			err = last
		}
		if err != nil {
			yield(engine.Document{}, err)
		}
	}
}

// Count is engine.Engine.Count.
func (j *Joined) Count(ctx context.Context, f engine.Filter) (int, error) {
	return tried(ctx, j, true, func(db engine.Database) (int, error) { return db.Count(ctx, f) })
}

// Search is engine.Engine.Search.
func (j *Joined) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.Result, error) { return db.Search(ctx, q) })
}

// SearchBatch is engine.Engine.SearchBatch.
func (j *Joined) SearchBatch(ctx context.Context, qs []engine.Query) ([]engine.Result, error) {
	return tried(ctx, j, true, func(db engine.Database) ([]engine.Result, error) { return db.SearchBatch(ctx, qs) })
}

// Explain is engine.Engine.Explain.
func (j *Joined) Explain(ctx context.Context, q engine.Query, id string) (engine.Explanation, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.Explanation, error) { return db.Explain(ctx, q, id) })
}

// Vector is engine.Engine.Vector.
func (j *Joined) Vector(ctx context.Context, q engine.Query) (v []float32, t engine.Trace, err error) {
	t, err = tried(ctx, j, true, func(db engine.Database) (engine.Trace, error) {
		var err error
		v, t, err = db.Vector(ctx, q)
		return t, err
	})
	return v, t, err
}

// Default is engine.Engine.Default.
func (j *Joined) Default() string {
	db, err := j.now()
	if err != nil {
		return ""
	}
	return db.Default()
}

// Fit is engine.Engine.Fit. If the server process ends during the fit, the fit continues in the next
// process.
func (j *Joined) Fit(ctx context.Context, o engine.FitOptions) (engine.FitReport, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.FitReport, error) { return db.Fit(ctx, o) })
}

// Stats is engine.Engine.Stats.
func (j *Joined) Stats(ctx context.Context) (engine.Stats, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.Stats, error) { return db.Stats(ctx) })
}

// Verify is engine.Engine.Verify.
func (j *Joined) Verify(ctx context.Context, progress func(engine.Progress)) (engine.VerifyReport, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.VerifyReport, error) { return db.Verify(ctx, progress) })
}

// Flush is engine.Engine.Flush.
func (j *Joined) Flush(ctx context.Context) error {
	_, err := tried(ctx, j, true, func(db engine.Database) (nothing, error) { return nothing{}, db.Flush(ctx) })
	return err
}

// Compact is engine.Engine.Compact.
func (j *Joined) Compact(ctx context.Context) error {
	_, err := tried(ctx, j, true, func(db engine.Database) (nothing, error) { return nothing{}, db.Compact(ctx) })
	return err
}

// KeepTokenStates is engine.Engine.KeepTokenStates. If the server process ends meanwhile, the work
// continues in the next process.
func (j *Joined) KeepTokenStates(ctx context.Context) (engine.TokenReport, error) {
	return tried(ctx, j, true, func(db engine.Database) (engine.TokenReport, error) { return db.KeepTokenStates(ctx) })
}

// Export is engine.Engine.Export.
func (j *Joined) Export(ctx context.Context, w io.Writer, o engine.ExportOptions) (int, error) {
	return tried(ctx, j, false, func(db engine.Database) (int, error) { return db.Export(ctx, w, o) })
}

// Import is engine.Engine.Import.
func (j *Joined) Import(ctx context.Context, x *engine.Exported) (engine.ImportReport, error) {
	return tried(ctx, j, false, func(db engine.Database) (engine.ImportReport, error) { return db.Import(ctx, x) })
}

// Backup is engine.Engine.Backup.
func (j *Joined) Backup(ctx context.Context, path string) (engine.BackupReport, error) {
	return tried(ctx, j, false, func(db engine.Database) (engine.BackupReport, error) { return db.Backup(ctx, path) })
}

// BackupTo is engine.Engine.BackupTo.
func (j *Joined) BackupTo(ctx context.Context, w io.Writer) (engine.BackupReport, error) {
	return tried(ctx, j, false, func(db engine.Database) (engine.BackupReport, error) { return db.BackupTo(ctx, w) })
}
