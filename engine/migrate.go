package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// MigrateOptions shape MigrateTo and MigrateFrom.
type MigrateOptions struct {
	// Mark is a file that says how far the migration has come, written after each batch and
	// removed at the end. Where it is there, the migration that has written it goes on.
	Mark string
	// Progress, if not nil, hears of stages "migrate" and "verify".
	Progress func(Progress)
}

// MigrateReport tells what a migration did.
type MigrateReport struct {
	Documents, Passages int    // there and here, compared by digests at the end
	Copied              int    // documents, by this run
	Mended              int    // of those, documents that were found other than they should be at the end
	Removed             int    // documents that were gone from the source at the end
	Digest              string // of all documents, whatever their order
}

// migrateBatch is how many documents are copied between two marks.
const migrateBatch = 500

// errDigest answers a migration whose two sides still differ at the end.
var errDigest = errors.New("the documents there are not those here")

// MigrateTo copies all documents of a database into a Backend in which nothing was
// created, or which an interrupted migration has begun to fill: texts, metadata and chunks byte for byte, vectors
// bit for bit. Nothing is encoded. At the end documents are counted on both sides and compared by digests, and
// what was written meanwhile is copied. After an error or a kill the same call goes on.
// Left behind are token states, fitted bridges and local bridges. Errors: ErrExists where b
// holds other documents; ErrInvalid for a metric other than cosine, and for a database of images.
func MigrateTo(ctx context.Context, e *Engine, b Backend, o MigrateOptions) (r MigrateReport, err error) {
	if err := e.metric.Needs("migration to another engine"); err != nil {
		return r, err
	}
	if err := textsAlone(e.fp); err != nil {
		return r, err
	}
	info, err := infoOf(e.fp, e.st.Manifest().Language)
	if err != nil {
		return r, err
	}
	m := migration{MigrateOptions: o, to: b.Name(), r: &r}
	if err := m.begin(); err != nil {
		return r, err
	}
	there, err := b.Info(ctx)
	if errors.Is(err, ErrNoDatabase) {
		m.mark = migrateMark{To: m.to}
		if err := b.Create(ctx, info); err != nil && !errors.Is(err, ErrExists) { // a run that was killed may just have asked for it
			return r, err
		}
		there, err = b.Info(ctx)
	}
	switch {
	case err != nil:
		return r, err
	case !sameInfo(there, info):
		return r, fmt.Errorf("%w: %s was made for vectors of %q with %d dimensions and language %q; this database has %q, %d, %q", ErrExists, b.Name(), there.Encoder.Model, there.Dim, there.Language, info.Encoder.Model, info.Dim, info.Language)
	case !m.begun:
		if s, err := b.Status(ctx); err != nil || s.Passages > 0 {
			return r, cmp.Or(err, fmt.Errorf("%w: %s has %d documents, and no migration of this database was interrupted; name an index that is not there", ErrExists, b.Name(), s.Documents))
		}
	}
	source := func(ctx context.Context, after uint64) iter.Seq2[migrated, error] { return e.migrated(ctx, after) }
	put := func(ctx context.Context, docs []migrated) error {
		batch := make([][]Passage, len(docs))
		for i, d := range docs {
			batch[i] = d.passages
		}
		return b.Put(ctx, batch, false)
	}
	target := func(ctx context.Context) iter.Seq2[migrated, error] { return scanned(ctx, b, "") }
	return r, m.run(ctx, source(ctx, m.mark.Ordinal), func(ctx context.Context) iter.Seq2[migrated, error] { return source(ctx, 0) }, target, put, b.Delete)
}

// textsAlone refuses an encoder of images: a Backend keeps no files and no codebook.
func textsAlone(fp encoder.Fingerprint) error {
	if fp.Media == encoder.MediaImages {
		return fmt.Errorf("%w: images, which another engine cannot keep for this one; leave them in an embedded database", ErrInvalid)
	}
	return nil
}

// MigrateFrom copies all documents of a Backend into a database, which was made for the
// same encoder (CreateFor) and is empty, or holds what an interrupted migration has copied. It is MigrateTo the other way.
func MigrateFrom(ctx context.Context, b Backend, e *Engine, o MigrateOptions) (r MigrateReport, err error) {
	info, err := b.Info(ctx)
	if err != nil {
		return r, err
	}
	own, err := infoOf(e.fp, e.st.Manifest().Language)
	if err != nil {
		return r, err
	}
	if !sameInfo(info, own) || e.metric.Needs("migration") != nil {
		return r, fmt.Errorf("%w: database %s was made for vectors of %q with %d dimensions, language %q and metric %s; %s has %q, %d, %q and cosine", ErrInvalid, e.dir, own.Encoder.Model, own.Dim, own.Language, e.metric, b.Name(), info.Encoder.Model, info.Dim, info.Language)
	}
	m := migration{MigrateOptions: o, to: "from " + b.Name(), r: &r}
	if err := m.begin(); err != nil {
		return r, err
	}
	if n, err := e.Count(ctx, Filter{}); err != nil || n > 0 && !m.begun {
		return r, cmp.Or(err, fmt.Errorf("%w: database %s has %d documents, and no migration into it was interrupted; name a folder without one", ErrExists, e.dir, n))
	}
	put := func(ctx context.Context, docs []migrated) error { return e.putMigrated(ctx, docs) }
	return r, m.run(ctx, scanned(ctx, b, m.mark.After), func(ctx context.Context) iter.Seq2[migrated, error] { return scanned(ctx, b, "") },
		func(ctx context.Context) iter.Seq2[migrated, error] { return e.migrated(ctx, 0) }, put, e.Delete)
}

// CreateFor makes an empty database in dir for what a Backend holds. Errors: those of
// Exported.Create.
func CreateFor(ctx context.Context, dir string, b Backend) error {
	info, err := b.Info(ctx)
	if err != nil {
		return err
	}
	x := Exported{Encoder: info.Encoder, Language: info.Language, Vectors: true}
	return x.Create(ctx, dir)
}

func sameInfo(a, b BackendInfo) bool {
	return a.Dim == b.Dim && a.Encoder.Model == b.Encoder.Model && a.Encoder.Tokenizer == b.Encoder.Tokenizer && a.Language == b.Language && a.Analysis == b.Analysis
}

// migrated is a document on its way, with where it stands in its source.
type migrated struct {
	passages []Passage
	ordinal  uint64 // of an engine
}

func (d migrated) id() string { return d.passages[0].ID }

// migrated yields the documents of one state that were stored behind an ordinal.
func (e *Engine) migrated(ctx context.Context, after uint64) iter.Seq2[migrated, error] {
	return func(yield func(migrated, error) bool) {
		l, err := e.list(ctx, Filter{})
		if err != nil {
			yield(migrated{}, err)
			return
		}
		defer l.view.Close()
		analyzer, err := newAnalyzer(e.st.Manifest().Language)
		if err != nil {
			yield(migrated{}, err)
			return
		}
		for ord := range l.live {
			if ord <= after {
				continue
			}
			var d migrated
			err := ctx.Err()
			if err == nil {
				var s *store.Document
				if s, err = l.view.Get(ord); err != nil {
					err = missing(err)
				} else {
					d, err = e.passagesOf(ord, s, func(text string) (string, int) {
						terms := analyzer.Terms(nil, text)
						return inverted.Spell(terms), len(terms)
					})
				}
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// passagesOf are those of a stored document.
func (e *Engine) passagesOf(ord uint64, s *store.Document, terms func(string) (string, int)) (migrated, error) {
	d := migrated{ordinal: ord}
	facts, err := filter.Facts(s.Metadata)
	if err != nil {
		return d, fmt.Errorf("%w: metadata of %q: %v", ErrCorrupt, s.ID, err)
	}
	for i, row := range s.Rows {
		p := Passage{PassageID: PassageID{s.ID, i}, Chunks: len(s.Rows), Title: s.Title, Text: s.Text[row.Start:row.End], Start: row.Start,
			Line: linesOf(s.Text, row)[0], Metadata: string(s.Metadata), Facts: facts, Vector: row.Vector}
		if e.terms == nil { // numbers of a vocabulary of this database mean nothing elsewhere
			p.Tokens = row.Tokens
		}
		p.Terms, p.Length = terms(chunk.Passage(s.Title, p.Text))
		d.passages = append(d.passages, p)
	}
	d.passages[0].Truncated = int(s.Truncated)
	if len(s.Rows) > 1 {
		d.passages[0].Whole = s.Text
	}
	return d, nil
}

// scanned yields the documents of a Backend behind an id.
func scanned(ctx context.Context, b Backend, after string) iter.Seq2[migrated, error] {
	return func(yield func(migrated, error) bool) {
		var d migrated
		for p, err := range b.Scan(ctx, Filter{}, ScanOptions{After: after}) {
			if err != nil {
				yield(migrated{}, err)
				return
			}
			if len(d.passages) > 0 && d.id() != p.ID {
				if !yield(d, nil) {
					return
				}
				d = migrated{}
			}
			d.passages = append(d.passages, p)
		}
		if len(d.passages) > 0 {
			yield(d, nil)
		}
	}
}

// putMigrated stores documents of a Backend in one commit.
func (e *Engine) putMigrated(ctx context.Context, docs []migrated) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	defer snapshot.Guard(&err)()
	records := make([]record, len(docs))
	for i, d := range docs {
		first := d.passages[0]
		if len(d.passages) != first.Chunks || first.Chunk != 0 {
			return fmt.Errorf("%w: document %q has %d of %d chunks; write it anew there", ErrCorrupt, first.ID, len(d.passages), first.Chunks)
		}
		r := record{Document: store.Document{ID: first.ID, Title: first.Title, Text: first.Text, Truncated: int32(first.Truncated)}}
		if first.Chunks > 1 {
			r.Text = first.Whole
		}
		if first.Metadata != "" {
			r.Metadata = []byte(first.Metadata)
		}
		for _, p := range d.passages {
			if p.Start < 0 || p.Start+len(p.Text) > len(r.Text) || len(p.Vector) != e.fp.Dim {
				return fmt.Errorf("%w: document %q, chunk %d: bytes %d to %d of a text of %d, a vector of length %d", ErrCorrupt, p.ID, p.Chunk, p.Start, p.Start+len(p.Text), len(r.Text), len(p.Vector))
			}
			row := store.Row{Start: p.Start, End: p.Start + len(p.Text), Vector: p.Vector}
			if e.terms == nil {
				row.Tokens = p.Tokens
			}
			r.Rows = append(r.Rows, row)
		}
		records[i] = r
	}
	_, err = e.stage(ctx, records, true)
	return err
}

// migrateMark is what the file Mark holds.
type migrateMark struct {
	To      string `json:"to"`
	Ordinal uint64 `json:"ordinal,omitempty"` // documents up to this one are copied
	After   string `json:"after,omitempty"`   // documents up to this id are
}

// migration is one that runs.
type migration struct {
	MigrateOptions
	to    string
	begun bool // by a run before
	mark  migrateMark
	r     *MigrateReport
}

// begin reads the mark.
func (m *migration) begin() error {
	m.mark = migrateMark{To: m.to}
	raw, err := os.ReadFile(m.Mark)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &m.mark)
	}
	if err != nil {
		return fmt.Errorf("mark of a migration %s: %w; remove it to begin anew", m.Mark, err)
	}
	if m.mark.To != m.to {
		return fmt.Errorf("%w: %s is the mark of a migration %s, not %s; end that one first, or remove the file", ErrInvalid, m.Mark, m.mark.To, m.to)
	}
	m.begun = true
	return nil
}

// save writes the mark beside the old one, and puts it in its place.
func (m *migration) save() error {
	raw, err := json.Marshal(m.mark)
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(m.Mark), "."+filepath.Base(m.Mark)+".new")
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(next, m.Mark)
}

// run copies what rest yields, then makes target equal to source.
func (m *migration) run(ctx context.Context, rest iter.Seq2[migrated, error], source, target func(context.Context) iter.Seq2[migrated, error],
	put func(context.Context, []migrated) error, remove func(context.Context, []string) (int, error)) error {
	if err := m.save(); err != nil {
		return err
	}
	if err := m.copy(ctx, rest, put, func(d migrated) error {
		m.mark.Ordinal, m.mark.After = d.ordinal, ""
		if d.ordinal == 0 {
			m.mark.After = d.id()
		}
		return m.save()
	}); err != nil {
		return err
	}
	for try := 0; ; try++ {
		want, err := m.digests(ctx, source)
		if err != nil {
			return err
		}
		got, err := m.digests(ctx, target)
		if err != nil {
			return err
		}
		differ := want.differ(got)
		if len(differ) == 0 {
			m.r.Documents, m.r.Passages, m.r.Digest = want.documents, want.passages, want.digest()
			return os.Remove(m.Mark)
		}
		if try == 2 {
			return fmt.Errorf("%s: %w: %d documents here and %d there, in %d of %d parts; is somebody writing? Call it again", m.to, errDigest, want.documents, got.documents, len(differ), buckets)
		}
		if err := m.mend(ctx, differ, source, target, put, remove); err != nil {
			return err
		}
	}
}

// copy puts documents batch by batch.
func (m *migration) copy(ctx context.Context, docs iter.Seq2[migrated, error], put func(context.Context, []migrated) error, mark func(last migrated) error) error {
	var batch []migrated
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := put(ctx, batch); err != nil {
			return err
		}
		m.r.Copied += len(batch)
		m.report("migrate", m.r.Copied)
		err := mark(batch[len(batch)-1])
		batch = nil
		return err
	}
	size := 0
	for d, err := range docs {
		if err != nil {
			return err
		}
		batch = append(batch, d)
		for _, p := range d.passages {
			size += len(p.Text) + len(p.Whole) + 4*len(p.Vector)
		}
		if len(batch) == migrateBatch || size > importBytes {
			if err := flush(); err != nil {
				return err
			}
			size = 0
		}
	}
	return flush()
}

func (m *migration) report(stage string, done int) {
	if m.Progress != nil {
		m.Progress(Progress{Stage: stage, Done: done})
	}
}

// buckets is into how many parts ids are divided where two sides are compared.
const buckets = 4096

// census is what one side holds: for each bucket the number of documents and the sum of
// their digests, which does not depend on their order.
type census struct {
	documents, passages int
	count               [buckets]int
	sum                 [buckets][4]uint64
}

func (m *migration) digests(ctx context.Context, docs func(context.Context) iter.Seq2[migrated, error]) (*census, error) {
	c := new(census)
	for d, err := range docs(ctx) {
		if err != nil {
			return nil, err
		}
		h := d.digest()
		n := bucketOf(d.id())
		c.documents++
		c.passages += len(d.passages)
		c.count[n]++
		for i := range c.sum[n] {
			c.sum[n][i] += binary.LittleEndian.Uint64(h[8*i:])
		}
		if c.documents%1000 == 0 {
			m.report("verify", c.documents)
		}
	}
	return c, ctx.Err()
}

func (c *census) differ(o *census) map[int]bool {
	differ := map[int]bool{}
	for i := range c.count {
		if c.count[i] != o.count[i] || c.sum[i] != o.sum[i] {
			differ[i] = true
		}
	}
	return differ
}

// digest is one of all documents.
func (c *census) digest() string {
	h := sha256.New()
	for i := range c.count {
		_ = binary.Write(h, binary.LittleEndian, c.sum[i]) // a hash takes all
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func bucketOf(id string) int { return int(ordinalOf(id) % buckets) }

// digest is that of all that is to be kept of a document.
func (d migrated) digest() (sum [32]byte) {
	var b bytes.Buffer
	number := func(n int) { b.Write(binary.AppendVarint(nil, int64(n))) }
	text := func(s string) { number(len(s)); b.WriteString(s) }
	first := d.passages[0]
	whole := first.Text
	if first.Chunks > 1 {
		whole = first.Whole
	}
	text(first.ID)
	text(first.Title)
	text(whole)
	text(first.Metadata)
	number(first.Truncated)
	number(first.Chunks)
	for _, p := range d.passages {
		number(p.Chunk)
		number(p.Start)
		number(len(p.Text))
		text(p.Terms)
		number(len(p.Tokens))
		for _, t := range p.Tokens {
			number(int(t))
		}
		for _, x := range p.Vector {
			b.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
	}
	return sha256.Sum256(b.Bytes())
}

// mend copies and removes what differs in some buckets.
func (m *migration) mend(ctx context.Context, differ map[int]bool, source, target func(context.Context) iter.Seq2[migrated, error],
	put func(context.Context, []migrated) error, remove func(context.Context, []string) (int, error)) error {
	there := map[string][32]byte{}
	for d, err := range target(ctx) {
		if err != nil {
			return err
		}
		if differ[bucketOf(d.id())] {
			there[strings.Clone(d.id())] = d.digest()
		}
	}
	wrong := func(yield func(migrated, error) bool) {
		for d, err := range source(ctx) {
			if err == nil {
				if !differ[bucketOf(d.id())] {
					continue
				}
				h, ok := there[d.id()]
				delete(there, d.id())
				if ok && h == d.digest() {
					continue
				}
				m.r.Mended++
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
	if err := m.copy(ctx, wrong, put, func(migrated) error { return nil }); err != nil {
		return err
	}
	var extra []string
	for id := range there {
		extra = append(extra, id)
	}
	if len(extra) == 0 {
		return nil
	}
	n, err := remove(ctx, extra)
	m.r.Removed += n
	return err
}
