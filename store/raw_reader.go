package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/dgraph-io/badger/v4/table"
)

// rawReader reads the readable records of a database, damaged or not, without Badger,
// which refuses to open damaged files or leaves out their content. It reads all tables
// and logs and writes nothing. A record counts if its own checksum is right, whatever the
// damage around it.
type rawReader struct {
	dir    string
	codec  *Store // knows how values get their checksums, and nothing else
	files  []string
	open   map[int]*os.File
	at     map[string]found // the newest of each key
	damage []string

	manifest  Manifest
	described bool // there is a manifest
	st        state
	stated    bool // there is a state
	head      mark
	headed    bool
	checksums *tableChecksums // what HEAD tells of the tables, or nil
}

// found is the place of a key's value.
type found struct {
	file  int
	from  int64
	n     int
	ts    uint64 // Badger's, of the transaction
	rank  uint64 // what tells versions of i, m and s apart
	gone  bool   // it was removed
	sound bool   // the block around it checks
}

// sighting is a possible record in a table or a log.
type sighting struct {
	key   []byte // without Badger's eight bytes
	value []byte
	found
}

// readRaw reads everything. The caller closes the reader. Errors: those of the operating
// system except EIO, which is damage, and that of ctx.
func readRaw(ctx context.Context, dir string, progress func(done, total int)) (_ *rawReader, err error) {
	r := &rawReader{dir: dir, codec: &Store{dir: dir}, open: map[int]*os.File{}, at: map[string]found{}}
	if r.head, _, r.headed, _, err = readHead(dir); err != nil {
		return nil, err
	}
	if r.headed {
		var foreign *CorruptError
		if r.checksums, err = readChecksums(dir, r.head, Options{}); errors.As(err, &foreign) {
			r.note("%s", foreign.What)
		} else if err != nil {
			return nil, err
		}
	}
	listed, stray, err := r.list()
	if err != nil {
		return nil, err
	}
	r.files = listed
	if err := r.read(ctx, 0, progress); err != nil {
		return nil, err
	}
	if len(stray) == 0 || r.stated && !(r.headed && r.st.gen < r.head.gen) {
		return r, nil
	}
	// The missing records may be in tables that the list of tables has lost.
	r.note("Badger's MANIFEST does not name %d of the tables", len(stray))
	r.files = append(r.files, stray...)
	return r, r.read(ctx, len(listed), progress)
}

// maxDamage bounds the list of what is damaged.
const maxDamage = 100

// note records a damage.
func (r *rawReader) note(format string, args ...any) {
	if len(r.damage) < maxDamage {
		r.damage = append(r.damage, fmt.Sprintf(format, args...))
	}
}

// list returns the logs, and the tables: those that Badger's MANIFEST lists, and the
// others. Without a readable MANIFEST all count as listed.
func (r *rawReader) list() (listed, stray []string, err error) {
	records := filepath.Join(r.dir, recordsName)
	entries, err := entriesOf(records)
	if err != nil {
		return nil, nil, err
	}
	tables, err := listedTables(r.dir)
	var broken *CorruptError
	if err != nil && !errors.As(err, &broken) {
		return nil, nil, err
	}
	if err != nil {
		r.note("%s: %v", broken.What, broken.Err)
	}
	for _, e := range entries {
		name := e.Name()
		id, isTable := table.ParseFileID(trimSpare(name))
		path := filepath.Join(records, name)
		switch {
		case !e.Type().IsRegular():
		case isNumbered(name, ".mem"):
			listed = append(listed, path)
		case isTable && broken == nil && tables != nil:
			if _, ok := tables[id]; !ok {
				stray = append(stray, path)
				continue
			}
			delete(tables, id)
			listed = append(listed, path)
		case isTable:
			listed = append(listed, path)
		}
	}
	for id := range tables {
		r.note("%s is missing", filepath.Join(recordsName, table.IDToFilename(id)))
	}
	slices.Sort(listed)
	return listed, stray, nil
}

// read reads the files from one on: first for the manifest, whose checksum does not
// depend on the database, then for everything that the manifest makes readable.
func (r *rawReader) read(ctx context.Context, from int, progress func(done, total int)) error {
	passes := []func(s sighting){r.describe, r.enter}
	for pass, see := range passes {
		if pass == 1 {
			if err := r.unlock(ctx, from); err != nil {
				return err
			}
		}
		for i := from; i < len(r.files); i++ {
			if err := r.walk(ctx, i, see, pass == 1); err != nil {
				return err
			}
			if progress != nil {
				progress(pass*len(r.files)+i+1, len(passes)*len(r.files))
			}
		}
	}
	return nil
}

// walk passes all records of a file to see, and notes damage if tell is set.
func (r *rawReader) walk(ctx context.Context, file int, see func(s sighting), tell bool) error {
	path := r.files[file]
	name := filepath.Join(recordsName, filepath.Base(path))
	note := func(format string, args ...any) {
		if tell {
			r.note(name+": "+format, args...)
		}
	}
	data, err := readAround(ctx, path, note)
	if err != nil {
		return err
	}
	show := func(s sighting) {
		s.file = file
		see(s)
	}
	if filepath.Ext(path) == ".mem" {
		return walkLog(ctx, data, show, note)
	}
	return walkTable(ctx, data, r.checksums.blocks(path, data), show, note)
}

// readAround reads a file, with zeros for the parts that the disk cannot read.
func readAround(ctx context.Context, path string, note func(format string, args ...any)) ([]byte, error) {
	const piece = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	for at := 0; at < len(data); at += piece {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := data[at:min(at+piece, len(data))]
		if _, err := f.ReadAt(part, int64(at)); err != nil {
			if !errors.Is(err, syscall.EIO) {
				return nil, fmt.Errorf("reading %s: %w", path, err)
			}
			note("bytes %d to %d: %v", at, at+len(part), err)
			for from := 0; from < len(part); from += 4096 { // around the bad ones
				if n, err := f.ReadAt(part[from:min(from+4096, len(part))], int64(at+from)); err != nil {
					clear(part[from+n : min(from+4096, len(part))])
				}
			}
		}
	}
	return data, nil
}

// describe reads a manifest.
func (r *rawReader) describe(s sighting) {
	if s.gone || string(s.key) != string(keyManifest) {
		return
	}
	p, err := payloadOf(0, s.key, s.value)
	if err != nil {
		return
	}
	gen, m, err := decodeManifest(p)
	if err == nil && (!r.described || gen >= r.at[string(keyManifest)].rank) {
		r.manifest, r.described = m, true
		s.rank = gen
		r.at[string(keyManifest)] = s.found
	}
}

// unlock finds out how the checksums of values were made.
func (r *rawReader) unlock(ctx context.Context, from int) error {
	if r.described {
		r.codec.broughtOver = r.manifest.From != 0 || r.manifest.Major < formatHistory
		if r.manifest.Major >= formatHistory {
			r.codec.seed = r.manifest.UUID.seed()
		}
		return nil
	}
	if from == 0 {
		r.note("the manifest cannot be read")
	}
	votes := map[uint32]int{}
	for i := from; i < len(r.files); i++ {
		err := r.walk(ctx, i, func(s sighting) {
			if !s.gone && s.sound && len(s.value) >= 4 && len(votes) < 1<<16 {
				votes[seedOf(s.key, s.value)]++
			}
		}, false)
		if err != nil {
			return err
		}
	}
	most := 0
	for seed, n := range votes {
		if n > most {
			r.codec.seed, most = seed, n
		}
	}
	return nil
}

// kinds are the first bytes of the keys that enter accepts.
var kinds = []byte{keyState[0], prefixDocument, prefixRow, prefixID, prefixDeath, prefixLog, prefixCommit, prefixTerms, prefixBasis}

// enter stores any other record whose checksum is right.
func (r *rawReader) enter(s sighting) {
	if len(s.key) == 0 || !slices.Contains(kinds, s.key[0]) {
		return
	}
	ranked := false
	if s.gone {
		if !s.sound { // nothing says that this is its key
			return
		}
	} else {
		p, err := r.codec.payloadOf(s.key, s.value)
		if err != nil {
			if s.sound {
				r.note("record %s: %v", keyName(s.key), err)
			}
			return
		}
		switch {
		case string(s.key) == string(keyState):
			st, err := decodeState(p)
			if err != nil || r.stated && st.gen < r.st.gen {
				return
			}
			r.st, r.stated = st, true
			return
		case s.key[0] == prefixID:
			c, err := decodeCurrent(p)
			if err != nil {
				return
			}
			s.rank, ranked = c.now.seq, true
		}
	}
	old, ok := r.at[string(s.key)]
	if ok && (s.ts < old.ts || ranked && !old.gone && !(s.sound && old.sound) && s.rank < old.rank) {
		return
	}
	r.at[string(s.key)] = s.found
}

// get returns the payload under a key. Errors: ErrNotFound, *CorruptError, those of
// reading, that of ctx.
func (r *rawReader) get(ctx context.Context, key []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, ok := r.at[string(key)]
	if !ok || at.gone {
		return nil, ErrNotFound
	}
	f, ok := r.open[at.file]
	if !ok {
		const most = 64 // files at a time
		if len(r.open) >= most {
			if err := r.close(); err != nil {
				return nil, err
			}
		}
		var err error
		if f, err = os.Open(r.files[at.file]); err != nil {
			return nil, err
		}
		r.open[at.file] = f
	}
	value := make([]byte, at.n)
	if _, err := f.ReadAt(value, at.from); err != nil {
		if errors.Is(err, syscall.EIO) {
			return nil, fmt.Errorf("record %s: %w: %v", keyName(key), ErrNotFound, err)
		}
		return nil, err
	}
	p, err := r.codec.payloadOf(key, value)
	if err != nil {
		return nil, r.codec.corrupt("record "+keyName(key), err)
	}
	return p, nil
}

// close closes the open files.
func (r *rawReader) close() error {
	var errs []error
	for _, f := range r.open {
		errs = append(errs, f.Close())
	}
	clear(r.open)
	return errors.Join(errs...)
}

// record joins the parts of a document or a row.
func (r *rawReader) record(ctx context.Context, prefix byte, ord uint64) ([]byte, error) {
	var whole []byte
	for i, n := 0, 1; i < n; i++ {
		key := partKey(prefix, ord, i)
		p, err := r.get(ctx, key)
		if err != nil {
			return nil, err
		}
		m, part, err := partCount(p)
		if err == nil && i > 0 && m != n {
			err = fmt.Errorf("%w: %d parts here, %d in the first", errRecord, m, n)
		}
		if err != nil {
			return nil, r.codec.corrupt("record "+keyName(key), err)
		}
		n, whole = m, append(whole, part...)
	}
	return whole, nil
}

// document reads one version of a document.
func (r *rawReader) document(ctx context.Context, ord uint64) (*Document, error) {
	text, err := r.record(ctx, prefixDocument, ord)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	if err := decodeDocument(text, d); err != nil {
		return nil, r.codec.decoded(partKey(prefixDocument, ord, 0), err)
	}
	raw, err := r.record(ctx, prefixRow, ord)
	if err != nil {
		return d, err
	}
	rows, err := decodeRows(ctx, raw, nil)
	if err == nil {
		err = d.join(rows)
	}
	return d, r.codec.decoded(partKey(prefixRow, ord, 0), err)
}

// seedOf is the seed for which the checksum of a value is right: the checksum is a
// register that can be computed backwards.
func seedOf(key, value []byte) uint32 {
	n := len(value) - 4
	sum := ^(uint32(value[n]) | uint32(value[n+1])<<8 | uint32(value[n+2])<<16 | uint32(value[n+3])<<24)
	for _, part := range [][]byte{value[:n], key} {
		for _, b := range slices.Backward(part) {
			i := backwards[sum>>24]
			sum = (sum^castagnoli[i])<<8 | uint32(i^b)
		}
	}
	return ^sum
}

// backwards maps a last byte to the entry of the checksum's table with that byte.
var backwards = func() (t [256]byte) {
	for i, x := range castagnoli {
		t[x>>24] = byte(i)
	}
	return t
}()

// exists reports whether a file or folder exists.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
