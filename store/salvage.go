package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/fault"
)

// SalvageOptions are the options of Salvage. The zero value is a good default.
type SalvageOptions struct {
	// Describe fills in dimension, metric, encoder and language if the manifest of the database is
	// lost. If it is nil, a lost manifest is an error.
	Describe func(m *Manifest) error
	// Evidence, if not nil, returns which versions are live, as known from sources other than the
	// records. uuid is that of the database. history returns the digest of a commit, and false if it
	// is lost.
	Evidence func(uuid UUID, history func(seq uint64) ([16]byte, bool)) *Evidence
	// Tokens, if not nil, is called with the manifest. If it returns a function, that function sets
	// the tokens of each document's rows and returns the terms that are new to the vocabulary. Their
	// numbers follow those of earlier calls. The vocabulary of the damaged database is then not kept,
	// since the numbers of lost terms would be reused. Otherwise tokens stay unchanged.
	Tokens func(ctx context.Context, m *Manifest) (func(d *Document) (terms []string), error)
	// Finish, if not nil, may add to the new database before it gets its name.
	Finish func(ctx context.Context, dir string) error
	// MemoryMiB is Options.MemoryMiB of the new database.
	MemoryMiB int
	// Progress, if not nil, receives progress: files while reading, in two passes, and documents while
	// writing.
	Progress func(stage string, done, total int)
}

// SalvageReport says what Salvage did.
type SalvageReport struct {
	Dir    string   // folder of the new database, "" if none was made
	Saved  int      // documents in the new database
	Lost   int      // documents that existed and could not be read, as far as known
	Names  []string // ids of lost documents, as far as known; at most maxNames
	Damage []string // descriptions of the damage; at most maxDamage
	// Uncoded says that the documents have no codes, because a basis of codes is lost.
	Uncoded bool
	// Uncertain says that lost records may have held later changes. A saved document may then be an
	// older version, or may have been deleted.
	Uncertain bool
}

// maxNames limits the length of SalvageReport.Names.
const maxNames = 10_000

// Damage reads all tables and logs of the database in dir and checks every record. It returns
// descriptions of the damage, at most about a hundred. It changes nothing, except that it finishes a
// decision of HandOver. The database must not be open for writing. Errors: *LockedError,
// *foreignError, ErrNoDatabase, *VersionError, those of the operating system, and that of ctx within
// about 10 ms. Cost: two reads of the records.
func (f Folder) Damage(ctx context.Context, progress func(done, total int)) (damage []string, err error) {
	dir := string(f)
	err = withRaw(ctx, dir, progress, func(r *rawReader) error {
		damage = r.damage
		return nil
	})
	return damage, err
}

// withRaw reads all readable records of a database and keeps writers out meanwhile.
func withRaw(ctx context.Context, dir string, progress func(done, total int), do func(r *rawReader) error) (err error) {
	ours, err := Folder(dir).Exists()
	if err != nil {
		return err
	}
	if !ours {
		return ErrNoDatabase
	}
	if err := Folder(dir).TakeOver(); err != nil {
		return err
	}
	if locked, err := exists(filepath.Join(dir, lockName)); err != nil {
		return err
	} else if locked { // else no one has it open, and nothing is made here
		lock, err := lockDir(dir, true)
		if err != nil {
			return err
		}
		defer unlockDir(lock, true)
	}
	r, err := readRaw(ctx, dir, progress)
	if err != nil {
		return err
	}
	if r.described && r.manifest.Major > formatMajor || r.headed && r.head.major > formatMajor {
		return &VersionError{Dir: dir, Major: max(r.manifest.Major, r.head.major), Supported: formatMajor}
	}
	if r.stated && r.headed && r.st.gen < r.head.gen {
		r.note("%d acknowledged writes after number %d are missing", r.head.gen-r.st.gen, r.st.gen)
	}
	if r.stated && r.headed && r.head.clean && r.st.gen > r.head.gen {
		r.note("the records are not those that " + headName + " tells of: they have another history")
	}
	if r.stated && r.described && r.at[string(keyManifest)].rank != r.st.manifestGen {
		r.note("the manifest that can be read is not the last one")
	}
	if !r.stated {
		r.note("the state record cannot be read")
	}
	return errors.Join(do(r), r.close())
}

// Salvage copies every readable document of the damaged database in dir to a new database in to, which
// must not exist. It reads around damage, also if Badger cannot open its files, and writes nothing in
// dir. A document is either copied whole, with all checksums right, or counted as lost. The new
// database is checked before it gets its name. Its manifest keeps the bridges, without their files.
// Errors: those of Damage, fs.ErrExist for to, ErrManifest if the manifest is lost and not described,
// ErrNoSpace. Cost: two reads of the records, one of the documents, and their writing; about 150 bytes
// of memory a record.
func (f Folder) Salvage(ctx context.Context, to string, o SalvageOptions) (rep SalvageReport, err error) {
	dir := string(f)
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if dir, err = fault.Folder(dir); err != nil {
		return rep, err
	}
	if to, err = fault.Folder(to); err != nil {
		return rep, err
	}
	if there, err := exists(to); err != nil {
		return rep, err
	} else if there {
		return rep, fmt.Errorf("%s is there already; name a folder that is not, or move it away: %w", to, fs.ErrExist)
	}
	err = withRaw(ctx, dir, func(done, total int) { o.Progress("reading", done, total) }, func(r *rawReader) error {
		return r.salvage(ctx, to, o, &rep)
	})
	return rep, err
}

// salvage makes the new database next to its place, and moves it there.
func (r *rawReader) salvage(ctx context.Context, to string, o SalvageOptions, rep *SalvageReport) (err error) {
	// The first manifest of a database, which an old table may still contain, has no information.
	told := !r.described || r.manifest.Dim == 0 && len(r.versions()) > 0
	if told {
		if o.Describe == nil {
			return fmt.Errorf("%w: that of %s is lost; say which encoder the database was made with", ErrManifest, r.dir)
		}
		if err := o.Describe(&r.manifest); err != nil {
			return err
		}
		r.manifest.Deferred = r.headed && r.head.major >= formatDeferred // a database of formatShort may have such documents, too
		r.manifest.Short = r.headed && r.head.major == formatShort
		if f := r.manifest.format(); r.headed && r.head.major > f {
			return fmt.Errorf("%w: that of %s is lost, which is of format %d and thus of another metric than %s; say which it was made with", ErrManifest, r.dir, r.head.major, plainMetric)
		}
	}
	var e *Evidence
	if o.Evidence != nil {
		e = o.Evidence(r.manifest.UUID, func(seq uint64) ([16]byte, bool) { return r.historyAt(ctx, seq) })
	}
	c, err := r.count(ctx, e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".unfinished-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp)) // which nobody else knows of
		}
	}()
	if err := r.fill(ctx, tmp, c, told, o, rep); err != nil {
		return err
	}
	if o.Finish != nil {
		if err := o.Finish(ctx, tmp); err != nil {
			return err
		}
	}
	if there, err := exists(to); err != nil {
		return err
	} else if there {
		return fmt.Errorf("%s appeared meanwhile: %w", to, fs.ErrExist)
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(filepath.Dir(to)); err != nil {
		return err
	}
	rep.Dir, rep.Damage = to, r.damage
	rep.Uncertain = !c.known && len(r.damage) > 0
	return nil
}

// salvageBytes is the approximate size of the documents in one batch.
const salvageBytes = 16 << 20

// fill writes the new database and reads it back. told is set if the manifest is not the database's
// own.
func (r *rawReader) fill(ctx context.Context, dir string, c *census, told bool, o SalvageOptions, rep *SalvageReport) (err error) {
	s, err := Open(dir, Options{MemoryMiB: o.MemoryMiB, NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	old := r.manifest
	if err := s.SetManifest(ctx, func(m *Manifest) error {
		m.Dim, m.Metric, m.Encoder, m.Language = old.Dim, old.Metric, old.Encoder, old.Language
		m.TokenStates, m.Index, m.Kind, m.Deferred, m.Short = old.TokenStates, old.Index, old.Kind, old.Deferred, old.Short
		return nil
	}); err != nil {
		return err
	}
	var number func(d *Document) []string
	if o.Tokens != nil {
		if number, err = o.Tokens(ctx, &old); err != nil {
			return err
		}
	}
	bases, whole, err := r.bases(ctx)
	if err != nil {
		return err
	}
	rep.Uncoded = !whole
	ords := make([]uint64, 0, len(c.live))
	for ord := range c.live {
		ords = append(ords, ord)
	}
	slices.Sort(ords)
	var b *Batch
	var terms []string // that the batch needs
	size := 0
	commit := func() error {
		if b == nil {
			return nil
		}
		if err := b.AddTerms(ctx, s.TermCount(), terms); err != nil {
			return err
		}
		_, err := b.Commit(ctx)
		b, terms, size = nil, nil, 0
		return err
	}
	defer func() {
		if b != nil {
			err = errors.Join(err, b.Discard())
		}
	}()
	var saved []uint64 // the n-th gets the ordinal n
	for i, ord := range ords {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := r.document(ctx, ord)
		if err != nil && !lost(err) {
			return err
		}
		if err == nil && !old.Impacts { // it was lost that there are some
			for i := range d.Rows {
				d.Rows[i].Impacts = nil
			}
		}
		if id := c.live[ord]; err == nil && id != "" && d.ID != id {
			err = r.codec.corrupt(fmt.Sprintf("version %d is of id %q, not %q", ord, d.ID, id), nil)
		}
		if err == nil {
			if err = d.check(old); errors.Is(err, ErrDimension) && told {
				return err
			}
		}
		if err != nil {
			rep.lose(c, ord, d)
			continue
		}
		if b == nil {
			if b, err = s.Begin(ctx); err != nil {
				return err
			}
			for n, basis := range bases {
				if err := b.AddBasis(ctx, n, basis); err != nil {
					return err
				}
			}
			bases = nil
		}
		if !whole {
			d.dropCodes()
		}
		if number != nil {
			terms = append(terms, number(d)...)
		}
		if _, err := b.Put(ctx, d); err != nil {
			return err
		}
		saved = append(saved, ord)
		if size += len(d.Text) + len(d.Metadata) + len(d.Rows)*(4*old.Dim+64); size > salvageBytes {
			if err := commit(); err != nil {
				return err
			}
			o.Progress("saving", i+1, len(ords))
		}
	}
	if err := commit(); err != nil {
		return err
	}
	o.Progress("saving", len(ords), len(ords))
	if rep.Saved = s.Len(); c.total >= 0 {
		rep.Lost = max(c.total-rep.Saved, len(rep.Names))
	}
	if len(old.Bridges) > 0 {
		if err := s.SetManifest(ctx, func(m *Manifest) error {
			m.Bridges, m.Default, m.Auto = map[string]Bridge{}, old.Default, old.Auto
			for name, bridge := range old.Bridges {
				n, _ := slices.BinarySearch(saved, bridge.Last+1)
				bridge.Last = uint64(n)
				m.Bridges[name] = bridge
			}
			return nil
		}); err != nil {
			return err
		}
	}
	_, err = s.Verify(ctx, nil)
	return err
}

// lose records a document that could not be saved; d has its readable parts, or is nil.
func (rep *SalvageReport) lose(c *census, ord uint64, d *Document) {
	rep.Lost++
	id := c.live[ord]
	if id == "" && d != nil {
		id = d.ID
	}
	if id != "" && len(rep.Names) < maxNames {
		rep.Names = append(rep.Names, id)
	}
}
