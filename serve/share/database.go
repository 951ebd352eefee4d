package share

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// Add is engine.Engine.Add. The server process encodes the texts.
func (c *Client) Add(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return c.put(ctx, callAdd, docs)
}

// Upsert is engine.Engine.Upsert. The server process encodes the texts.
func (c *Client) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	return c.put(ctx, callUpsert, docs)
}

func (c *Client) put(ctx context.Context, name string, docs []engine.Document) (engine.AddResult, error) {
	wired := make([]document, len(docs))
	for i, d := range docs {
		var err error
		if wired[i], err = wireDocument(d); err != nil {
			return engine.AddResult{}, &engine.DocumentError{Position: i, ID: d.ID, Err: err}
		}
	}
	return ask[engine.AddResult](ctx, c, name, wired, asked{writes: true})
}

// Patch is engine.Engine.Patch.
func (c *Client) Patch(ctx context.Context, patches []engine.Patch) (int, error) {
	wired := make([]patch, len(patches))
	for i, p := range patches {
		meta, err := encodeMeta(p.Metadata)
		if err != nil {
			return 0, &engine.DocumentError{Position: i, ID: p.ID, Err: err}
		}
		p.Metadata = nil
		wired[i] = patch{p, meta}
	}
	return ask[int](ctx, c, "Patch", wired, asked{writes: true})
}

// Delete is engine.Engine.Delete.
func (c *Client) Delete(ctx context.Context, ids []string) (int, error) {
	return ask[int](ctx, c, "Delete", ids, asked{writes: true})
}

// DeleteWhere is engine.Engine.DeleteWhere.
func (c *Client) DeleteWhere(ctx context.Context, f engine.Filter) (int, error) {
	if err := f.Err(); err != nil {
		return 0, err
	}
	return ask[int](ctx, c, "DeleteWhere", f, asked{writes: true})
}

// Get is engine.Engine.Get.
func (c *Client) Get(ctx context.Context, id string) (engine.Document, error) {
	w, err := ask[document](ctx, c, "Get", id, asked{})
	if err != nil {
		return engine.Document{}, err
	}
	return w.document()
}

// errStop ends All when the loop over it does.
var errStop = errors.New("the loop has ended")

// All is engine.Engine.All. Memory: one document and the buffers of the connection.
func (c *Client) All(ctx context.Context, f engine.Filter) iter.Seq2[engine.Document, error] {
	return func(yield func(engine.Document, error) bool) {
		err := f.Err()
		if err == nil {
			_, err = ask[nothing](ctx, c, "All", f, asked{item: func(raw []byte) error {
				w, err := decode[document](raw)
				if err != nil {
					return err
				}
				d, err := w.document()
				if err != nil {
					return err
				}
				if !yield(d, nil) {
					return errStop
				}
				return nil
			}})
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(engine.Document{}, err)
		}
	}
}

// Count is engine.Engine.Count.
func (c *Client) Count(ctx context.Context, f engine.Filter) (int, error) {
	if err := f.Err(); err != nil {
		return 0, err
	}
	return ask[int](ctx, c, "Count", f, asked{})
}

// Search is engine.Engine.Search. The server process encodes the text.
func (c *Client) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	if err := q.Filter.Err(); err != nil {
		return engine.Result{}, err
	}
	w, err := ask[result](ctx, c, "Search", wireQuery(q), asked{})
	if err != nil {
		return engine.Result{}, err
	}
	return w.result()
}

// SearchBatch is engine.Engine.SearchBatch.
func (c *Client) SearchBatch(ctx context.Context, qs []engine.Query) ([]engine.Result, error) {
	wired := make([]query, len(qs))
	for i, q := range qs {
		if err := q.Filter.Err(); err != nil {
			return nil, &engine.QueryError{Position: i, Err: err}
		}
		wired[i] = wireQuery(q)
	}
	ws, err := ask[[]result](ctx, c, "SearchBatch", wired, asked{})
	if err != nil || ws == nil {
		return nil, err
	}
	rs := make([]engine.Result, len(ws))
	for i, w := range ws {
		if rs[i], err = w.result(); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

// Explain is engine.Engine.Explain.
func (c *Client) Explain(ctx context.Context, q engine.Query, id string) (engine.Explanation, error) {
	if err := q.Filter.Err(); err != nil {
		return engine.Explanation{}, err
	}
	w, err := ask[explanation](ctx, c, "Explain", explainArgs{wireQuery(q), id}, asked{})
	if err != nil {
		return engine.Explanation{}, err
	}
	w.Metadata, err = decodeMeta(w.Meta)
	return w.Explanation, err
}

// Vector is engine.Engine.Vector.
func (c *Client) Vector(ctx context.Context, q engine.Query) ([]float32, engine.Trace, error) {
	w, err := ask[vectorOf](ctx, c, "Vector", wireQuery(q), asked{})
	if err != nil {
		return nil, engine.Trace{}, err
	}
	v, err := w.Vector.unpack()
	return v, w.Trace, err
}

// Stats is engine.Engine.Stats.
func (c *Client) Stats(ctx context.Context) (engine.Stats, error) {
	return ask[engine.Stats](ctx, c, "Stats", nothing{}, asked{})
}

// Verify is engine.Engine.Verify. At most 20 progress reports a second arrive; the newest are kept.
func (c *Client) Verify(ctx context.Context, progress func(engine.Progress)) (engine.VerifyReport, error) {
	return ask[engine.VerifyReport](ctx, c, "Verify", nothing{}, asked{progress: progress})
}

// Flush is engine.Engine.Flush.
func (c *Client) Flush(ctx context.Context) error {
	_, err := ask[nothing](ctx, c, "Flush", nothing{}, asked{})
	return err
}

// Fit is engine.Engine.Fit. Progress is reported as by Verify.
func (c *Client) Fit(ctx context.Context, o engine.FitOptions) (engine.FitReport, error) {
	return ask[engine.FitReport](ctx, c, "Fit", wireFit(o), asked{writes: true, progress: o.Progress})
}

// defaultWithin is how long Default waits.
const defaultWithin = 5 * time.Second

// Default is engine.Engine.Default; it returns "" if the server process does not answer within 5 s.
func (c *Client) Default() string {
	ctx, cancel := context.WithTimeout(context.Background(), defaultWithin)
	defer cancel()
	v, err := ask[string](ctx, c, "Default", nothing{}, asked{})
	if err != nil {
		return ""
	}
	return v
}

// Export is engine.Engine.Export.
func (c *Client) Export(ctx context.Context, w io.Writer, o engine.ExportOptions) (int, error) {
	if err := o.Filter.Err(); err != nil {
		return 0, err
	}
	return ask[int](ctx, c, "Export", o, asked{out: w})
}

// Import is engine.Engine.Import. Lines are read in this process and sent at the rate at which the
// server process stores them.
func (c *Client) Import(ctx context.Context, x *engine.Exported) (engine.ImportReport, error) {
	lines := x.Unread()
	var reading error
	r, err := ask[engine.ImportReport](ctx, c, "Import", nothing{}, asked{writes: true, in: func(p []byte) (int, error) {
		n, err := lines.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			reading = err
		}
		return n, err
	}})
	if reading != nil && err != nil {
		err = reading
	}
	return r, err
}

// Backup is engine.Engine.Backup. The server process writes the file.
func (c *Client) Backup(ctx context.Context, path string) (engine.BackupReport, error) {
	path, err := filepath.Abs(path) // the holder has another folder
	if err != nil {
		return engine.BackupReport{}, fmt.Errorf("backup %s: %w", path, err)
	}
	return ask[engine.BackupReport](ctx, c, "Backup", path, asked{writes: true})
}

// BackupTo is engine.Engine.BackupTo.
func (c *Client) BackupTo(ctx context.Context, w io.Writer) (engine.BackupReport, error) {
	return ask[engine.BackupReport](ctx, c, "BackupTo", nothing{}, asked{out: w})
}

// Compact is engine.Engine.Compact.
func (c *Client) Compact(ctx context.Context) error {
	_, err := ask[nothing](ctx, c, "Compact", nothing{}, asked{writes: true})
	return err
}

// KeepTokenStates is engine.Engine.KeepTokenStates.
func (c *Client) KeepTokenStates(ctx context.Context) (engine.TokenReport, error) {
	return ask[engine.TokenReport](ctx, c, "KeepTokenStates", nothing{}, asked{writes: true})
}
