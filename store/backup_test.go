package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/filelock"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// held is what a database has at one commit: each document with its ordinal.
func held(t testing.TB, s *Store) map[uint64]*Document {
	t.Helper()
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	out := map[uint64]*Document{}
	err = v.ScanDocuments(ctx, 0, func(ord uint64, d *Document) (err error) {
		out[ord], err = v.Get(t.Context(), ord)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// restored restores a file into a new folder and opens it.
func restored(t testing.TB, file string, o RestoreOptions) *Store {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := filepath.Join(t.TempDir(), "new", "db")
	rep, err := Restore(ctx, dir, f, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, restoreName)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the unfinished folder is left: %v", err)
	}
	s := open(t, dir, small)
	if s.Seq() != rep.Seq || s.Len() != rep.Documents {
		t.Fatalf("restored commit %d of %d documents, the report says %+v", s.Seq(), s.Len(), rep)
	}
	if r, err := s.Verify(ctx, nil); err != nil || r.Documents != s.Len() {
		t.Fatalf("verify: %+v, %v", r, err)
	}
	return s
}

func backedUp(t testing.TB, s *Store, file string) BackupReport {
	t.Helper()
	r, err := s.BackupFile(ctx, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// setBridge gives a database the bridge of a variant.
func setBridge(t testing.TB, s *Store, variant, content string) string {
	t.Helper()
	name := fmt.Sprintf("%s-%08x.bridge", variant, crc32.ChecksumIEEE([]byte(content)))
	dir := filepath.Join(s.dir, bridgesName)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	sum := crc32.Checksum([]byte(content[:len(content)-4]), castagnoli)
	if err := s.SetManifest(ctx, func(m *Manifest) error {
		if m.Bridges == nil {
			m.Bridges = map[string]Bridge{}
		}
		m.Bridges[variant] = Bridge{File: name, CRC32C: sum, Seq: s.Seq(), Last: 7}
		m.Default = variant
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestBackupChain backs up a database onto one file again and again while it
// changes, is compacted and opened anew. Each part restores the state it was made of.
func TestBackupChain(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	s := open(t, dir, small)
	r := rand.New(rand.NewPCG(1, 2))
	type moment struct {
		docs     map[uint64]*Document
		next     uint64
		manifest Manifest
		stats    [3]uint64
	}
	var moments []moment
	for round := range 8 {
		if round != 3 { // a part without documents
			b, err := s.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 12 {
				d := doc(fmt.Sprint("id", r.IntN(40)), round*100+i)
				if i == 5 {
					d.Text = strings.Repeat("long ", 300_000) // several frames
					d.Rows = d.Rows[:1]
					d.Rows[0].Start, d.Rows[0].End = 0, len(d.Text)
				}
				put(t, b, d)
				if _, _, err := b.Delete(ctx, fmt.Sprint("id", r.IntN(40))); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		switch round {
		case 2:
			setBridge(t, s, "slr", "the first bridge")
		case 3:
			setBridge(t, s, "rlr+slr", strings.Repeat("another", 50_000))
		case 4, 6:
			setBridge(t, s, "slr", fmt.Sprint("the bridge of round ", round))
		}
		if round%2 == 1 {
			if err := s.Compact(ctx, s.Seq()); err != nil {
				t.Fatal(err)
			}
		}
		if round == 5 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, small)
		}
		rep := backedUp(t, s, file)
		if rep.Part != round+1 || rep.Documents != s.Len() || round > 0 && rep.Written > 13 {
			t.Fatalf("round %d: %+v", round, rep)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if again := backedUp(t, s, file); again.Part != 0 || again.Seq != s.Seq() {
			t.Fatalf("nothing has changed, %+v was written", again)
		}
		if now, err := os.Stat(file); err != nil || now.Size() != info.Size() {
			t.Fatalf("%d bytes, %d before nothing was added (%v)", now.Size(), info.Size(), err)
		}
		st := s.current()
		moments = append(moments, moment{held(t, s), st.nextOrd, s.Manifest(), [3]uint64{st.seq, st.liveBytes, st.truncated}})
	}
	if n := bridgesIn(t, file); n != 4 {
		t.Errorf("%d bridges are in the file, 4 were ever made", n)
	}
	for i, m := range moments {
		if !trial.Long() && i%3 != 1 { // the parts 2, 5 and 8
			continue
		}
		o := RestoreOptions{Parts: i + 1}
		if i+1 == len(moments) {
			o.Parts = 0
		}
		c := restored(t, file, o)
		if got := held(t, c); !reflect.DeepEqual(got, m.docs) {
			t.Fatalf("part %d: %d documents, want %d, or others", i+1, len(got), len(m.docs))
		}
		st := c.current()
		if st.nextOrd != m.next || [3]uint64{st.seq, st.liveBytes, st.truncated} != m.stats {
			t.Errorf("part %d: state %+v, want next %d and %v", i+1, st, m.next, m.stats)
		}
		got := c.Manifest()
		if got.UUID == m.manifest.UUID || st.history == s.current().history || len(got.Backups) != 0 {
			t.Errorf("part %d: identity %v %v %v", i+1, got.UUID, st.history, got.Backups)
		}
		if !reflect.DeepEqual(got.Bridges, m.manifest.Bridges) || got.Default != m.manifest.Default || got.Dim != testDim {
			t.Errorf("part %d: manifest %+v, want %+v", i+1, got, m.manifest)
		}
		entries, err := entriesOf(filepath.Join(c.dir, bridgesName))
		if err != nil || len(entries) != len(got.Bridges) {
			t.Errorf("part %d: %d files of bridges, want %d (%v)", i+1, len(entries), len(got.Bridges), err)
		}
		for _, br := range got.Bridges {
			was, err := os.ReadFile(filepath.Join(c.dir, bridgesName, br.File))
			if err != nil || crc32.Checksum(was[:len(was)-4], castagnoli) != br.CRC32C {
				t.Errorf("part %d: bridge %s: %v", i+1, br.File, err)
			}
		}
		add(t, c, doc("after", 1))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if again := open(t, c.dir, small); again.Len() != len(m.docs)+1 || again.Seq() != m.stats[0]+1 {
			t.Errorf("part %d: %d documents at %d behind another", i+1, again.Len(), again.Seq())
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Restore(ctx, filepath.Join(t.TempDir(), "x"), f, RestoreOptions{Parts: 9}); !errors.Is(err, ErrBackup) || !strings.Contains(err.Error(), "has 8 parts") {
		t.Errorf("more parts than there are: %v", err)
	}
}

// bridgesIn counts the bridges of a backup.
func bridgesIn(t *testing.T, file string) (n int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for p := (&partReader{r: f}); p.begin() == nil; {
		for kind := byte(0); kind != frameEnd; {
			if kind, _, err = p.next(); err != nil {
				t.Fatal(err)
			}
			if kind == frameBridge {
				n++
			}
		}
	}
	return n
}

// A backup beside a writer is one of its commits, and no write waits for it.
func TestBackupConcurrentWithWriter(t *testing.T) {
	s := open(t, t.TempDir(), small)
	batch := func(seq uint64) (ds []*Document) {
		for i := range 3 {
			ds = append(ds, doc(fmt.Sprintf("b%d-%d", seq, i), int(seq)))
		}
		return append(ds, doc("shared", int(seq)))
	}
	add(t, s, batch(1)...)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for seq := uint64(2); ; seq++ {
			select {
			case <-stop:
				return
			default:
			}
			add(t, s, batch(seq)...)
			if seq%16 == 0 {
				if err := s.Compact(ctx, seq-8); err != nil {
					t.Error(err)
				}
			}
		}
	})
	file := filepath.Join(t.TempDir(), "backup")
	var reports []BackupReport
	for len(reports) < 6 {
		r := backedUp(t, s, file)
		if r.Part > 0 {
			reports = append(reports, r)
		}
	}
	// One that does not end before a commit that began behind it.
	slow := &slowWriter{s: s, want: s.Seq() + 20}
	if _, err := s.Backup(ctx, slow, nil); err != nil {
		t.Fatal(err)
	}
	close(stop)
	wg.Wait()
	if !slow.passed {
		t.Error("writers waited for a backup")
	}
	for _, r := range reports {
		c := restored(t, file, RestoreOptions{Parts: r.Part})
		want := map[string]*Document{}
		for seq := uint64(1); seq <= r.Seq; seq++ {
			for _, d := range batch(seq) {
				want[d.ID] = d
			}
		}
		got := documentsOf(t, c)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("part %d is not commit %d: %d documents, want %d", r.Part, r.Seq, len(got), len(want))
		}
	}
}

// slowWriter waits in its first write until a commit has happened.
type slowWriter struct {
	s      *Store
	want   uint64
	passed bool
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if !w.passed {
		err := w.s.poll(ctx, patient, func() (bool, error) { return w.s.Seq() >= w.want, nil })
		w.passed = err == nil
	}
	return len(p), nil
}

// A backup goes on only where it is the database's own past.
func TestBackupOntoAnother(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	file := filepath.Join(files, "backup")
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	early := filepath.Join(t.TempDir(), "copy")
	closeCopy := func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(early, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, small)
	}
	closeCopy()
	add(t, s, doc("b", 2))
	backedUp(t, s, file)
	content := func() []byte {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := content()
	refused := func(what string, o *Store, want error) {
		t.Helper()
		if _, err := o.BackupFile(ctx, file, nil); !errors.Is(err, want) || err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		if !bytes.Equal(content(), before) {
			t.Fatalf("%s: the file has changed", what)
		}
	}
	other := open(t, t.TempDir(), small)
	add(t, other, doc("a", 1), doc("b", 2))
	refused("another database", other, ErrOtherBackup)
	// The copy has another commit 2, and another 3, of the same UUID.
	copied := open(t, early, small)
	add(t, copied, doc("c", 2))
	refused("another history", copied, ErrOtherBackup)
	add(t, copied, doc("d", 3))
	if err := copied.Compact(ctx, copied.Seq()); err != nil {
		t.Fatal(err)
	}
	refused("another history, compacted", copied, ErrOtherBackup)
	refused("a restored database", restored(t, file, RestoreOptions{}), ErrOtherBackup)

	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(f, true); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("c", 3))
	refused("a file that is being written", s, errBackupBusy)
	f.Close()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.BackupFile(cancelled, file, nil); !errors.Is(err, context.Canceled) || !bytes.Equal(content(), before) {
		t.Errorf("cancelled: %v, %d bytes of %d", err, len(content()), len(before))
	}

	setBridge(t, s, "slr", strings.Repeat("more than a buffer holds", 25_000))
	midway, cancel := context.WithCancel(ctx)
	if _, err := s.BackupFile(midway, file, func(int, int) { cancel() }); !errors.Is(err, context.Canceled) || !bytes.Equal(content(), before) {
		t.Errorf("cancelled midway: %v, %d bytes of %d", err, len(content()), len(before))
	}

	// What an append left that died is cut off, whatever its length.
	backedUp(t, s, file)
	two := content()
	var torn bytes.Buffer
	p, err := newPartWriter(&torn, partHeader{Part: 2, Manifest: []byte("{}")})
	if err != nil || p.frame(frameMore, make([]byte, 100_000)) != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(slices.Clone(before), torn.Bytes()...), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := backedUp(t, s, file); r.Part != 2 || len(content()) != len(two) {
		t.Fatalf("over a longer part: %+v, %d bytes, want %d", r, len(content()), len(two))
	}
	for _, n := range []int{1, 12, 40, (len(two) - len(before)) / 2, len(two) - len(before) - 1} {
		if err := os.WriteFile(file, two[:len(before)+n], 0o644); err != nil {
			t.Fatal(err)
		}
		if r := backedUp(t, s, file); r.Part != 2 {
			t.Fatalf("cut %d bytes behind the first part: %+v", n, r)
		}
		if c := restored(t, file, RestoreOptions{}); c.Len() != 3 {
			t.Fatalf("cut %d bytes behind the first part: %d documents", n, c.Len())
		}
	}
	// What cannot be told from damage is left alone.
	for what, b := range map[string][]byte{
		"text": []byte("My dear diary, which is no backup at all, and longer than the end of a part would be."), "short": []byte("x"),
		"half": before[:len(before)/2], "zeros": append(slices.Clone(before), make([]byte, 5000)...),
		"damage": append(append(slices.Clone(before), two[len(before):len(two)-100]...), make([]byte, 100)...),
	} {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		before = b
		refused(what, s, ErrBackup)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := backedUp(t, s, file); r.Part != 1 || r.Written != 3 {
		t.Errorf("over an empty file: %+v", r)
	}
	if _, err := s.BackupFile(ctx, files, nil); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("onto a folder: %v", err)
	}
	if _, err := s.BackupFile(ctx, filepath.Join(files, "no", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into no folder: %v", err)
	}
	left, err := os.ReadDir(files)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A damaged database, or one with a damaged bridge, makes no backup.
func TestBackupOfDamage(t *testing.T) {
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1))
	name := filepath.Join(s.dir, bridgesName, setBridge(t, s, "slr", "a bridge of some bytes"))
	file := filepath.Join(t.TempDir(), "backup")
	refused := func(what string) {
		t.Helper()
		if _, err := s.BackupFile(ctx, file, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file is left: %v", what, err)
		}
	}
	if err := os.WriteFile(name, []byte("b bridge of some bytes"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused("a flipped bridge")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	refused("a missing bridge")
	if err := os.WriteFile(name, []byte("a bridge of some bytes"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := s.newStager()
	if err := errors.Join(w.apply(op{key: partKey(prefixRow, 1, 0)}), w.finish()); err != nil {
		t.Fatal(err)
	}
	s.setPin(s.newPin(s.current()))
	refused("a missing record")

	s = open(t, t.TempDir(), small)
	add(t, s, doc("a", 1), doc("b", 2))
	backedUp(t, s, file)
	w = s.newStager()
	if err := errors.Join(w.apply(op{key: partKey(prefixRow, 1, 0)}, op{key: partKey(prefixDocument, 1, 0)}), w.finish()); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("c", 3))
	if _, err := s.BackupFile(ctx, file, nil); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "2 of 3 records") {
		t.Errorf("a version that is gone: %v", err)
	}
}

// Restore into a folder that is used is refused, and the folder is left alone.
func TestRestoreWhereItMayNot(t *testing.T) {
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1))
	var b bytes.Buffer
	if _, err := s.Backup(ctx, &b, nil); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter"), []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	restore := func(dir string) error {
		_, err := Restore(ctx, dir, bytes.NewReader(b.Bytes()), RestoreOptions{})
		return err
	}
	if err := restore(foreign); !errors.Is(err, ErrForeign) {
		t.Errorf("another folder: %v", err)
	}
	if left, err := os.ReadDir(foreign); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if err := restore(s.dir); !errors.Is(err, ErrOccupied) {
		t.Errorf("a database: %v", err)
	}
	if err := restore(filepath.Join(foreign, "letter")); err == nil {
		t.Error("a file was taken for a folder")
	}
	empty := t.TempDir()
	if err := restore(empty); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := restore(empty); !errors.Is(err, ErrOccupied) {
		t.Errorf("a second time: %v", err)
	}
	locked := t.TempDir()
	f, err := lockDir(locked, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := restore(locked); !errors.Is(err, ErrLocked) {
		t.Errorf("while another process makes a database: %v", err)
	}
}

var errReader = errors.New("the reader fails")

// An interrupted Restore leaves the folder as it was, or a whole database.
func TestRestoreIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	file := filepath.Join(t.TempDir(), "backup")
	setBridge(t, s, "slr", "a bridge of some bytes")
	for i := range 5 {
		add(t, s, doc(fmt.Sprint(i), i), doc("shared", i))
		backedUp(t, s, file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	try := func(dir string, ctx context.Context, r io.Reader, want error) {
		t.Helper()
		before, _ := os.ReadDir(dir)
		_, err := Restore(ctx, dir, r, RestoreOptions{})
		if !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		after, _ := os.ReadDir(dir)
		if len(before) != len(after) {
			t.Fatalf("left behind: %v, there was %v", after, before)
		}
	}
	made := filepath.Join(top, "made")
	for i, n := 0, 0; n < len(b); i, n = i+1, n+len(b)/8 {
		dir := made
		if i%2 == 1 {
			dir = filepath.Join(top, "there")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		try(dir, ctx, io.MultiReader(bytes.NewReader(b[:n]), failingReader{}), errReader)
		cancelled, cancel := context.WithCancel(ctx)
		try(dir, cancelled, io.MultiReader(bytes.NewReader(b[:n]), cancelling{cancel}, bytes.NewReader(b[n:])), context.Canceled)
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errReader }

type cancelling struct{ cancel func() }

func (c cancelling) Read([]byte) (int, error) { c.cancel(); return 0, io.EOF }

// TestBackupIntoADatabase: a file in the folder of a database, also by a link or below it, is refused and not made.
func TestBackupIntoADatabase(t *testing.T) {
	base := t.TempDir()
	dir, other := filepath.Join(base, "db"), filepath.Join(base, "other")
	s := open(t, dir, small)
	open(t, other, small).Close()
	link := filepath.Join(base, "link")
	paths := []string{filepath.Join(dir, "b"), filepath.Join(dir, recordsName, "b"), filepath.Join(other, "b")}
	if err := os.Symlink(dir, link); err != nil {
		t.Logf("NOT TESTED: links: %v", err)
	} else if _, err := os.Stat(filepath.Join(link, recordsName)); err != nil {
		t.Logf("NOT TESTED: links, which this system makes and does not follow: %v", err)
	} else {
		paths = append(paths, filepath.Join(link, "b"))
	}
	for _, path := range paths {
		if _, err := s.BackupFile(t.Context(), path, nil); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := s.BackupFile(t.Context(), filepath.Join(base, "b"), nil); err != nil {
		t.Error(err)
	}
}
