package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/limit"
)

func TestRefusedInput(t *testing.T) {
	s, err := Open(t.TempDir(), small)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := begin(t, s)
	if _, err := b.Put(ctx, doc("a", 1)); !errors.Is(err, errNoDimension) {
		t.Errorf("put without dimension: %v", err)
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetManifest(ctx, func(m *Manifest) error { m.Dim = testDim; return nil }); err != nil {
		t.Fatal(err)
	}
	b = begin(t, s)
	for name, c := range map[string]struct {
		change func(*Document)
		want   error
	}{
		"empty id":       {func(d *Document) { d.ID = "" }, errInvalidID},
		"long id":        {func(d *Document) { d.ID = strings.Repeat("x", limit.IDBytes+1) }, errInvalidID},
		"short vector":   {func(d *Document) { d.Rows[0].Vector = d.Rows[0].Vector[1:] }, ErrDimension},
		"no vector":      {func(d *Document) { d.Rows[0].Vector = nil }, ErrDimension},
		"nan":            {func(d *Document) { d.Rows[0].Vector[3] = float32(math.NaN()) }, errNotFinite},
		"infinity":       {func(d *Document) { d.Rows[0].Vector[0] = float32(math.Inf(-1)) }, errNotFinite},
		"metadata array": {func(d *Document) { d.Metadata = []byte("[]") }, errMetadata},
		"metadata empty": {func(d *Document) { d.Metadata = []byte{} }, errMetadata},
		"metadata null":  {func(d *Document) { d.Metadata = []byte("null") }, errMetadata},
		"metadata cut":   {func(d *Document) { d.Metadata = []byte(`{"a":`) }, errMetadata},
		"chunk outside":  {func(d *Document) { d.Rows = append(d.Rows, d.Rows[0]); d.Rows[1].End++ }, errSpan},
		"chunks back":    {func(d *Document) { d.Rows = append(d.Rows, d.Rows[0]); d.Rows[0].Start = 1 }, errSpan},
		"chunk inverted": {func(d *Document) { d.Rows = append(d.Rows, Row{Start: 4, End: 3, Vector: d.Rows[0].Vector}) }, errSpan},
		"second vector":  {func(d *Document) { d.Rows = append(d.Rows, Row{}) }, ErrDimension},
		"too many rows":  {func(d *Document) { d.Rows = make([]Row, limit.Rows+1) }, ErrTooLarge},
		"huge text":      {func(d *Document) { d.Text = string(make([]byte, limit.DocumentBytes)) }, ErrTooLarge},
	} {
		d := doc("a", 1)
		c.change(d)
		if _, err := b.Put(ctx, d); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var dim *DimensionError
	d := doc("a", 1)
	d.Rows[0].Vector = d.Rows[0].Vector[:5]
	if _, err := b.Put(ctx, d); !errors.As(err, &dim) || *dim != (DimensionError{Got: 5, Want: testDim}) {
		t.Errorf("dimension error %+v", dim)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Put(cancelled, doc("a", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, _, err := b.Delete(ctx, ""); !errors.Is(err, errInvalidID) {
		t.Errorf("delete of no id: %v", err)
	}
	// Another writer waits for the slot no longer than its context.
	if _, err := s.Begin(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("begin: %v", err)
	}
	put(t, b, doc("a", 1)) // the batch is as good as new
	if seq, err := b.Commit(ctx); err != nil || seq != 1 || s.Len() != 1 {
		t.Errorf("commit: %d %v, len %d", seq, err, s.Len())
	}
	if _, _, err := s.Lookup(""); !errors.Is(err, errInvalidID) {
		t.Errorf("lookup of no id: %v", err)
	}
}

func TestRefusedPutLeavesNoOrdinalGap(t *testing.T) {
	s := open(t, t.TempDir(), small)
	b := begin(t, s)
	put(t, b, doc("a", 1))
	bad := doc("b", 1)
	bad.Rows[0].Vector = nil
	if _, err := b.Put(ctx, bad); err == nil {
		t.Fatal("accepted")
	}
	if c := put(t, b, doc("c", 1)); c.New != 2 {
		t.Errorf("ordinal %d", c.New)
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	uuid := s.Manifest().UUID
	if uuid == (UUID{}) || s.Manifest().Major != formatHistory || s.Manifest().Created.IsZero() {
		t.Fatalf("%+v", s.Manifest())
	}
	want := Bridge{File: "f", CRC32C: 7, Seq: 3, Passages: 9, Probes: json.RawMessage(`[{"task":"keyword"}]`)}
	err := s.SetManifest(ctx, func(m *Manifest) error {
		m.Metric, m.Default, m.Encoder = "cosine", "slr", json.RawMessage(`{"model":"m"}`)
		m.Bridges = map[string]Bridge{"slr": want}
		m.extra = map[string]json.RawMessage{"newer": json.RawMessage(`[1,2]`)}
		b := m.Bridges["slr"]
		b.extra = map[string]json.RawMessage{"also": json.RawMessage(`true`)}
		m.Bridges["slr"] = b
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir, small)
	// An edit by this program keeps what a newer one wrote.
	if err := s.SetManifest(ctx, func(m *Manifest) error { m.Default = "rlr"; return nil }); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir, small)
	m := s.Manifest()
	if m.UUID != uuid || m.Default != "rlr" || m.Metric != "cosine" || string(m.Encoder) != `{"model":"m"}` ||
		string(m.extra["newer"]) != "[1,2]" || string(m.Bridges["slr"].extra["also"]) != "true" {
		t.Errorf("%+v", m)
	}
	got := m.Bridges["slr"]
	got.extra = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("bridge %+v", got)
	}
	m.Bridges["slr"] = Bridge{} // a copy
	if s.Manifest().Bridges["slr"].File != "f" {
		t.Error("the manifest can be changed from outside")
	}
	add(t, s, doc("a", 1))
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		change func(*Manifest) error
		want   error
	}{
		"callback":  {func(*Manifest) error { return boom }, boom},
		"dimension": {func(m *Manifest) error { m.Dim++; return nil }, ErrManifest},
		"uuid":      {func(m *Manifest) error { m.UUID = UUID{}; return nil }, ErrManifest},
		"major":     {func(m *Manifest) error { m.Major++; return nil }, ErrManifest},
		"too large": {func(m *Manifest) error { m.Default = strings.Repeat("x", maxManifestBytes); return nil }, ErrTooLarge},
		"no json":   {func(m *Manifest) error { m.Encoder = json.RawMessage("{"); return nil }, ErrManifest},
	} {
		before := s.Manifest()
		if err := s.SetManifest(ctx, c.change); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(s.Manifest(), before) {
			t.Errorf("%s: the manifest changed", name)
		}
	}
	add(t, s, doc("b", 1)) // refusals are no failures
}

func TestNewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	s.Close()
	h, err := openHead(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.writeAll(mark{major: formatMajor + 1, clean: true, gen: 9}); err != nil {
		t.Fatal(err)
	}
	h.close()
	for _, o := range []Options{{}, {ReadOnly: true}} {
		var v *VersionError
		if _, err := Open(dir, o); !errors.As(err, &v) || !errors.Is(err, ErrVersion) || v.Major != formatMajor+1 {
			t.Errorf("%v", err)
		}
	}
	// Without HEAD the manifest tells.
	dir = t.TempDir()
	s = open(t, dir, small)
	m := s.Manifest()
	m.Major = formatMajor + 1
	st := s.current()
	st.gen++
	st.manifestGen = st.gen
	if err := s.writeManifest(st, m); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.Remove(filepath.Join(dir, headName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small); !errors.Is(err, ErrVersion) {
		t.Errorf("%v", err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	ro := Options{ReadOnly: true, MemoryMiB: 64}
	if _, err := Open(filepath.Join(dir, "absent"), ro); !errors.Is(err, ErrNoDatabase) {
		t.Errorf("absent folder: %v", err)
	}
	if _, err := Open(dir, ro); !errors.Is(err, ErrNoDatabase) {
		t.Errorf("empty folder: %v", err)
	}
	if e, _ := os.ReadDir(dir); len(e) != 0 {
		t.Errorf("a read-only open created %v", e)
	}
	s := open(t, dir, small)
	add(t, s, doc("a", 1), doc("b", 1))
	b := begin(t, s)
	put(t, b, doc("a", 2))
	put(t, b, doc("c", 2))
	if _, _, err := b.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if err := b.w.flush(); err != nil {
		t.Fatal(err)
	}
	s.Close() // what was staged stays until the next open for writing
	r1, r2 := open(t, dir, ro), open(t, dir, ro)
	for _, r := range []*Store{r1, r2} {
		if r.Len() != 2 || !reflect.DeepEqual(find(t, r, "a"), doc("a", 1)) || !reflect.DeepEqual(find(t, r, "b"), doc("b", 1)) || find(t, r, "c") != nil {
			t.Errorf("len %d", r.Len())
		}
		n := 0
		if err := r.Scan(ctx, 0, func(uint64, []Row) error { n++; return nil }); err != nil || n != 2 {
			t.Errorf("scan: %d %v", n, err)
		}
		if _, err := r.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := r1.Begin(ctx); !errors.Is(err, ErrReadOnly) {
		t.Errorf("begin: %v", err)
	}
	if err := r1.SetManifest(ctx, func(*Manifest) error { return nil }); !errors.Is(err, ErrReadOnly) {
		t.Errorf("set manifest: %v", err)
	}
	if err := r1.Compact(ctx, 1); !errors.Is(err, ErrReadOnly) {
		t.Errorf("compact: %v", err)
	}
	if _, err := Open(dir, small); !errors.Is(err, ErrLocked) {
		t.Errorf("open for writing beside readers: %v", err)
	}
	r1.Close()
	r2.Close()
	p := start(t, "write", dir, "after-commit", 1)
	if _, killed := p.wait(t, 0); killed {
		if _, err := Open(dir, ro); !errors.Is(err, ErrUnclean) {
			t.Errorf("read-only after a kill: %v", err)
		}
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), small)
	add(t, s, doc("a", 1))
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, err1 := s.Begin(ctx)
	_, _, err2 := s.Lookup("a")
	_, err3 := v.Get(t.Context(), 1)
	_, err4 := s.Snapshot()
	_, err5 := s.Verify(ctx, nil)
	for i, err := range []error{err1, err2, err3, err4, err5, s.Compact(ctx, 0), s.SetManifest(ctx, nil)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
	v.Close()
	v.Close()
}

// TestReadWithoutLockFile: a database that was copied without its LOCK can be
// read, and a folder without a database still cannot.
func TestReadWithoutLockFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if r := open(t, dir, Options{ReadOnly: true}); r.Len() != 1 {
		t.Errorf("%d documents", r.Len())
	}
	empty := t.TempDir()
	if _, err := Open(empty, Options{ReadOnly: true}); !errors.Is(err, ErrNoDatabase) {
		t.Errorf("an empty folder: %v", err)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("reading left %v in the folder (%v)", left, err)
	}
}

// TestFileAsFolder: the name of a file is refused in words.
func TestFileAsFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(file, o); err == nil || !strings.Contains(err.Error(), "notes.txt is a file") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestForeignFolder: folders that may not be read, as a mounted disk's
// lost+found, do not keep a database from opening.
func TestForeignFolder(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("NOT TESTED: unreadable folders; run on a Unix and not as root")
	}
	dir := t.TempDir()
	lost := filepath.Join(dir, "lost+found")
	if err := os.Mkdir(lost, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(lost, 0o755) })
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	if n, err := diskBytes(s.dir); err != nil || n == 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestLinkedFolder: a link to a database's folder is the folder.
func TestLinkedFolder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "x"+atomicfile.Mark+"1")
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skipf("NOT TESTED: links to folders; this system makes none: %v", err)
	}
	s = open(t, link, small)
	if n, err := diskBytes(s.dir); err != nil || n == 0 || s.Len() != 1 {
		t.Errorf("%d bytes, %d documents, %v", n, s.Len(), err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an unfinished write left is there: %v", err)
	}
}

// TestMetricRaisesTheFormat: a database of another metric than cosine is of a format that
// older programs refuse, by HEAD and by the manifest, and keeps its metric. All others stay
// in the format that they read.
func TestMetricRaisesTheFormat(t *testing.T) {
	for metric, want := range map[string]int{"": formatHistory, "cosine": formatHistory, "dot": formatMetric, "l2": formatMetric} {
		dir := t.TempDir()
		s := open(t, dir, small)
		if err := s.SetManifest(ctx, func(m *Manifest) error { m.Metric = metric; return nil }); err != nil {
			t.Fatal(err)
		}
		check := func(s *Store, when string) {
			t.Helper()
			m, _, ok, _, err := readHead(s.dir)
			if err != nil || !ok || m.major != want || s.Manifest().Major != want || s.Manifest().Metric != metric {
				t.Errorf("%q, %s: HEAD says %d (%v, %v), %+v", metric, when, m.major, ok, err, s.Manifest())
			}
		}
		check(s, "made")
		add(t, s, doc("a", 1))
		if err := s.SetManifest(ctx, func(m *Manifest) error { m.Metric += "2"; return nil }); !errors.Is(err, ErrManifest) {
			t.Errorf("%q: another metric: %v", metric, err)
		}
		var part bytes.Buffer
		if _, err := s.Backup(ctx, &part, nil); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = open(t, dir, small)
		check(s, "opened again")
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
		s.Close()
		again := t.TempDir()
		if _, err := Restore(ctx, again, &part, RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		s = open(t, again, small)
		check(s, "restored")
		s.Close()
	}
}

// TestDeferred: documents without vectors are stored where the manifest says so, all rows or none, in a format that older
// programs refuse, and a database that is read around its damage keeps them.
func TestDeferred(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	later := doc("a", 1)
	later.Rows[0].Vector = nil
	put := func(d *Document) error {
		b, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Put(ctx, d); err != nil {
			return errors.Join(err, b.Discard())
		}
		_, err = b.Commit(ctx)
		return err
	}
	if err := put(later); !errors.Is(err, ErrDimension) {
		t.Fatal(err)
	}
	set := func(deferred bool, metric string) error {
		return s.SetManifest(ctx, func(m *Manifest) error { m.Deferred, m.Metric = deferred, metric; return nil })
	}
	if err := set(true, "dot"); !errors.Is(err, ErrManifest) {
		t.Fatal(err)
	}
	if err := set(true, ""); err != nil {
		t.Fatal(err)
	}
	if err := put(later); err != nil {
		t.Fatal(err)
	}
	if err := set(false, ""); !errors.Is(err, ErrManifest) {
		t.Fatal(err)
	}
	half := doc("b", 2)
	half.Text = "two chunks"
	half.Rows = []Row{{End: 3, Vector: half.Rows[0].Vector}, {Start: 3, End: 10}}
	for range 2 {
		if err := put(half); !errors.Is(err, ErrDimension) {
			t.Fatal(err)
		}
		slices.Reverse(half.Rows)
		half.Rows[0].Start, half.Rows[0].End, half.Rows[1].Start, half.Rows[1].End = 0, 3, 3, 10
	}
	add(t, s, doc("c", 3))
	check := func(s *Store) {
		t.Helper()
		if m, _, ok, _, err := readHead(s.dir); err != nil || !ok || m.major != formatDeferred || s.Manifest().Major != formatDeferred || !s.Manifest().Deferred {
			t.Fatalf("HEAD says %d (%v, %v), %+v", m.major, ok, err, s.Manifest())
		}
		for id, want := range map[string]bool{"a": true, "c": false} {
			ord, _, err := s.Lookup(id)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := s.Get(t.Context(), ord); err != nil || d.Deferred() != want {
				t.Fatalf("%s: %+v, %v", id, d, err)
			}
		}
		if r, err := s.Verify(ctx, nil); err != nil || len(r.Problems) > 0 || r.Documents != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "saved")
	if r, err := Folder(dir).Salvage(ctx, to, SalvageOptions{}); err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	check(open(t, to, small))
	s = open(t, dir, small)
	check(s)
}
