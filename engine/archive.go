package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/internal/exportline"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/internal/metric"
)

// Backup writes the last commit to a file, from which archive.Restore makes a database that gives the same hits. It
// makes a new file as a whole or not at all. To an existing backup of this database it appends a part with the changes;
// it appends nothing, and returns Part 0, if there are none.
//
// The backup holds documents, vectors, vocabulary and fitted bridges, but no derived state. Writes continue meanwhile.
// Close cancels the backup. After an error the file is unchanged.
//
// Errors: ErrOtherBackup for a backup of another database or of another history of this one; ErrBackup for a file that
// is no sound backup; ErrCorrupt. Cost: reading what is written, and one pass over the keys. Memory: one document.
func (e *Engine) Backup(ctx context.Context, path string) (r archive.BackupReport, err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return r, err
	}
	defer done(&err)
	if path, err = filepath.Abs(path); err != nil { // the process may change its folder
		return r, err
	}
	return e.st.BackupFile(ctx, path, e.backedUp(ctx))
}

// BackupTo writes a complete backup to w. Output that ends with an error is not a backup.
func (e *Engine) BackupTo(ctx context.Context, w io.Writer) (r archive.BackupReport, err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return r, err
	}
	defer done(&err)
	return e.st.Backup(ctx, w, e.backedUp(ctx))
}

func (e *Engine) backedUp(ctx context.Context) func(n, total int) {
	return func(n, total int) { e.report(ctx, Progress{Stage: "backup", Done: n, Total: total}) }
}

// Export writes the documents of one commit as JSON lines in the format of BEIR, and returns their number. Each line
// has "_id", "title", "text" and "metadata", and under "lexsem" what Import also needs: chunk divisions, bytes that are
// not UTF-8, and vectors. Documents come in the order in which they were last stored.
//
// Fitted bridges are not exported; use Backup to keep them. Writes continue meanwhile. Cost: one read from the store a
// document, two with vectors. Memory: one document.
func (e *Engine) Export(ctx context.Context, w io.Writer, o archive.ExportOptions) (n int, err error) {
	l, err := e.list(ctx, o.Filter)
	if err != nil {
		return 0, err
	}
	defer l.view.Close()
	m := e.st.Manifest()
	fp, err := intake.StoredFingerprint(m) // with the probe vectors that came after the opening
	if err != nil {
		return 0, err
	}
	head := exportline.Head{Documents: l.n, Language: m.Language, Vectors: o.Vectors, Encoder: fp}
	if o.Vectors {
		if !e.metric.Directions() { // older programs read no other exports than those without
			head.Metric = e.metric.String()
		}
		head.Bases, err = e.storedBases()
	} else {
		head.Encoder.Probe = encoder.Fingerprint{}.Probe
	}
	if err != nil {
		return 0, err
	}
	lines := exportline.NewWriter(w, head)
	read := l.view.Get
	if !o.Vectors {
		read = l.view.Text
	}
	for d, err := range l.records(ctx, read) {
		if err == nil && e.terms != nil {
			intake.DropTokens(d)
		}
		if err == nil {
			err = lines.Write(d)
		}
		if err != nil {
			return n, err
		}
		if n++; n%256 == 1 {
			e.report(ctx, Progress{Stage: "export", Done: n, Total: l.n})
		}
	}
	return n, lines.Flush()
}

// An import is stored in batches of this many documents, or of this many bytes
// and one document.
const (
	importDocuments = 500
	importBytes     = 8 << 20
)

// Import stores the documents of an export, in its order. Texts are stored byte for byte, and vectors bit for bit. With
// the same encoder chunks are the same. Documents without vectors are encoded. Unchanged documents stay; other versions
// are replaced.
//
// Each batch of some hundred documents is one commit. After an error the earlier batches are stored and reported; the
// same import continues after them. Errors: an *archive.LineError for a line that cannot be imported;
// *encoder.MismatchError for vectors of another encoder; ErrNoEncoder. Memory: a batch, or one document.
func (e *Engine) Import(ctx context.Context, x *archive.Exported) (r AddResult, err error) {
	if e.o.ReadOnly {
		return r, ErrReadOnly
	}
	im := &importer{e: e, r: &r}
	for {
		d, err := x.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if n, documents := x.Heads(); n != im.told {
			im.told, im.total = n, documents
			im.report(ctx)
		}
		if err == nil {
			err = im.add(ctx, x, d)
		}
		if err != nil {
			return r, err
		}
	}
	return r, im.flush(ctx)
}

// importer gathers a batch.
type importer struct {
	e       *Engine
	r       *AddResult
	records []record
	lines   []int
	pending map[string]bool // ids in the batch
	bytes   int
	encode  bool // the batch's documents lack vectors

	told, total int // lines that said how many documents there are, and how many

	heads   int   // of the export that was compared last
	differs error // its encoder is another than the database's
}

// same compares the encoder and the metric of an export with the database's.
func (im *importer) same(ctx context.Context, x *archive.Exported) error {
	if n, _ := x.Heads(); im.heads != n {
		im.heads = n
		want, err := intake.StoredFingerprint(im.e.st.Manifest())
		if err == nil {
			err = intake.CheckSpace("database "+im.e.dir, im.e.metric, want, x.Encoder)
		}
		if by := metric.Metric(x.Metric); err == nil && by.String() != im.e.metric.String() {
			err = fmt.Errorf("%w: vectors of a database of metric %s in one of metric %s; import into a new database, or export without vectors", ErrInvalid, by, im.e.metric)
		}
		if err == nil {
			err = im.e.acceptBases(x.Bases)
		}
		if err == nil {
			err = im.e.calibrateBy(ctx, func() (float64, error) { return x.Encoder.Unrelated, nil })
		}
		im.differs = err
	}
	return im.differs
}

func (im *importer) add(ctx context.Context, x *archive.Exported, d exportline.Line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line := x.At()
	refuse := func(err error) error { return &archive.LineError{Line: line, Err: err} }
	encode := !d.Encoded()
	switch {
	case encode && d.Empty():
		return refuse(fmt.Errorf("%w: neither text nor vectors; leave the document out", ErrInvalid))
	case encode && im.e.vectorsOnly():
		return refuse(fmt.Errorf("%w: no vector, and this database has no encoder; export with vectors", ErrInvalid))
	case encode && im.e.enc == nil:
		return refuse(ErrNoEncoder)
	case !encode && !x.Vectors:
		return refuse(fmt.Errorf("%w: a vector, and no line before says of which encoder; import the whole export", ErrInvalid))
	case !encode:
		if err := im.same(ctx, x); err != nil {
			return refuse(err)
		}
	}
	read, err := d.Record(im.e.fp, im.e.metric)
	if err != nil {
		return refuse(err)
	}
	r := record{Document: read}
	if err := im.e.acceptCodes(&r.Document); err != nil {
		return refuse(err)
	}
	if encode && (isImage(&r.Document) || !sameTexts(x.Encoder, im.e.fp)) {
		r.Rows = nil // to be cut as this encoder reads
	}
	if encode {
		r.Truncated = 0
	}
	if !im.pending[r.ID] {
		if err := im.e.importable(ctx, &r, encode); err != nil {
			if ended := ctx.Err(); ended != nil {
				return ended
			}
			return refuse(err)
		}
		if r.same != 0 {
			im.r.Unchanged++
			return nil
		}
	}
	if len(im.records) > 0 && encode != im.encode {
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	if im.pending == nil {
		im.pending = map[string]bool{}
	}
	im.encode = encode
	im.pending[r.ID] = true
	im.records, im.lines = append(im.records, r), append(im.lines, line)
	im.bytes += len(r.Text) + len(r.Data) + 4*im.e.fp.Dim*len(r.Rows)
	if len(im.records) >= importDocuments || im.bytes >= importBytes {
		return im.flush(ctx)
	}
	return nil
}

// sameTexts reports whether two encoders tokenize texts alike; then the stored chunks of a text stay valid.
func sameTexts(a, b encoder.Fingerprint) bool {
	return a.Model == b.Model && a.Tokenizer == b.Tokenizer && a.MaxTokens == b.MaxTokens && a.PassagePrefix == b.PassagePrefix
}

// flush stores the batch.
func (im *importer) flush(ctx context.Context) error {
	if len(im.records) == 0 {
		return nil
	}
	res, err := im.e.importBatch(ctx, im.records, im.encode)
	if refused, ok := errors.AsType[*DocumentError](err); ok {
		err = &archive.LineError{Line: im.lines[refused.Position], Err: refused.Err}
	}
	if err != nil {
		return err
	}
	im.r.Add(res)
	im.records, im.lines, im.pending, im.bytes = nil, nil, nil, 0
	im.report(ctx)
	return nil
}

func (im *importer) report(ctx context.Context) {
	im.e.report(ctx, Progress{Stage: "import", Done: im.r.Added + im.r.Replaced + im.r.Unchanged, Total: im.total})
}

// importable reuses the stored parts of a record. A record that must be encoded is compared by its texts.
func (e *Engine) importable(ctx context.Context, r *record, encode bool) error {
	done, err := e.calls.Enter()
	if err != nil {
		return err
	}
	defer done()
	view, err := e.st.Snapshot()
	if err != nil {
		return err
	}
	defer view.Close()
	if encode {
		return e.reuse(ctx, view, r, bringsText)
	}
	return e.reuse(ctx, view, r, bringsAll)
}
