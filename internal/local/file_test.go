package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
	"github.com/lexsem/lexsem/modulate"
)

var testHeader = snapshot.Header{Kind: "local", Version: 1}

func saved(t testing.TB, b *Bridges) []byte {
	t.Helper()
	var out bytes.Buffer
	w := snapshot.NewWriter(&out, testHeader)
	if err := b.Save(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (c *set) open(data []byte, o Options) (*Bridges, error) {
	f, err := snapshot.Parse(data)
	if err != nil {
		return nil, err
	}
	return Open(testDim, testVocab, c.vector, o, f)
}

// What is opened answers bit for bit as what was saved, without a fit and
// without reading a cell before it is asked for, is edited as the original is,
// and is saved as the same bytes.
func TestSaveAndOpen(t *testing.T) {
	c := newSet(11, 400)
	empty, err := New(testDim, testVocab, c.vector, Options{})
	if err != nil {
		t.Fatal(err)
	}
	edited := c.build(t, Options{Cells: 6})
	for i := range 3 { // not only what came in order
		e := edited.Edit()
		for id := range uint64(20) {
			e.Remove(id*7 + uint64(i))
		}
		edited = done(t, e)
	}
	for name, b := range map[string]*Bridges{
		"built": c.build(t, Options{Cells: 6}), "empty": empty, "edited": edited,
		"rows": c.build(t, Options{Cells: 6, TableFrom: 1}), "groups": c.build(t, Options{Cells: 90, Seed: 2}),
	} {
		data := saved(t, b)
		got, err := c.open(data, b.o)
		if err != nil {
			t.Fatal(name, err)
		}
		for i, s := range got.cells {
			if s.loaded.Load() != nil {
				t.Errorf("%s: cell %d was read at opening", name, i)
			}
		}
		if got.Len() != b.Len() || got.Cells() != b.Cells() || got.o.Beta != b.o.Beta || got.o.Lambda != b.o.Lambda || got.o.TableFrom != b.o.TableFrom || got.o.Cells != b.o.Cells || got.o.Seed != b.o.Seed {
			t.Fatalf("%s: opened as something else", name)
		}
		if !bytes.Equal(saved(t, got), data) {
			t.Fatalf("%s: saved as something else", name)
		}
		for round := range uint64(4) {
			if !reflect.DeepEqual(ask(t, got, round), ask(t, b, round)) {
				t.Fatalf("%s, round %d: other answers", name, round)
			}
			for _, x := range []**Bridges{&got, &b} {
				e := (*x).Edit()
				for id := range uint64(30) {
					if !e.Remove(id * 5) {
						if err := e.Add(id*5, c.vectors[id*5], c.tokens[id*5]); err != nil {
							t.Fatal(err)
						}
					}
				}
				*x = done(t, e)
			}
		}
		if !bytes.Equal(saved(t, got), saved(t, b)) {
			t.Fatalf("%s: saved as something else after edits", name)
		}
		x, err := got.Repartition(ctx)
		if err != nil {
			t.Fatal(name, err)
		}
		y, err := b.Repartition(ctx)
		if err != nil || !reflect.DeepEqual(ask(t, x, 1), ask(t, y, 1)) {
			t.Fatalf("%s: another repartition; %v", name, err)
		}
	}
}

func TestOpenRefusesOthers(t *testing.T) {
	c := newSet(12, 60)
	data := saved(t, c.build(t, Options{Cells: 3}))
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"lambda":     func() error { _, err := Open(testDim, testVocab, c.vector, Options{Lambda: 7}, f); return err },
		"tables":     func() error { _, err := Open(testDim, testVocab, c.vector, Options{TableFrom: 7}, f); return err },
		"dimension":  func() error { _, err := Open(testDim+1, testVocab, c.vector, Options{}, f); return err },
		"vocabulary": func() error { _, err := Open(testDim, testVocab+1, c.vector, Options{}, f); return err },
	} {
		if err := try(); !errors.Is(err, modulate.ErrCorrupt) || !errors.Is(err, snapshot.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// use asks for all that lies in a file.
func use(b *Bridges, c *set) (a answers, err error) {
	in := modulate.Input{Tokens: tokens(2, 3, 4, 5, 6, 7, 8, 9, 10, 30, 31, 32), Dense: c.vectors[1]}
	if a.probes, err = b.Probe(nil, in, 1000); err != nil {
		return a, err
	}
	if a.vectors, err = b.Modulate(ctx, nil, in, a.probes); err != nil {
		return a, err
	}
	var ps []Probe
	for i, cell := range a.probes {
		ps = append(ps, Probe{cell, a.vectors[i*testDim : (i+1)*testDim]})
		if _, err := b.Members(nil, cell); err != nil {
			return a, err
		}
		if _, err := b.Shares(nil, in, cell, in.Dense); err != nil {
			return a, err
		}
	}
	if a.found, err = b.Search(ctx, nil, ps, 20, nil); err != nil {
		return a, err
	}
	e := b.Edit()
	for id := range uint64(9) {
		e.Remove(id)
		if err := e.Add(id, c.vectors[id], c.tokens[id]); err != nil {
			return a, err
		}
	}
	if b, err = e.Done(ctx); err != nil {
		return a, err
	}
	return a, b.Save(snapshot.NewWriter(new(bytes.Buffer), testHeader))
}

// A damaged byte is an ErrCorrupt from opening or from the call that meets it,
// or it stands where nothing is.
func TestDamage(t *testing.T) {
	c := newSet(12, 120)
	data := saved(t, c.build(t, Options{Cells: 3}))
	b, err := c.open(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := use(b, c)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 4096; at < len(data); at += 1 + len(data)/400 {
		bad := bytes.Clone(data)
		bad[at] ^= 0x20
		f, err := snapshot.Parse(bad)
		if err != nil {
			continue // the container's tables
		}
		if b, err = Open(testDim, testVocab, c.vector, Options{}, f); err == nil {
			var got answers
			if got, err = use(b, c); err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("bit at %d: other answers", at)
			}
		}
		if err != nil {
			found++
			if !errors.Is(err, modulate.ErrCorrupt) || !errors.Is(err, snapshot.ErrDamaged) {
				t.Fatalf("bit at %d: %v", at, err)
			}
		}
	}
	if found < 300 {
		t.Errorf("%d of some 400 damages were found", found)
	}
}

// A fault under the mapping is an error, not the end of the program.
func TestFileCutUnderBridges(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut there")
	}
	c := newSet(13, 400)
	path := filepath.Join(t.TempDir(), "local")
	b := c.build(t, Options{Cells: 3})
	if err := snapshot.Write(path, testHeader, b.Save); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err = Open(testDim, testVocab, c.vector, Options{}, f); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	if _, err := use(b, c); !errors.Is(err, modulate.ErrCorrupt) || !errors.Is(err, snapshot.ErrDamaged) {
		t.Error(err)
	}
	if !b.Has(7) {
		t.Error("what was read at opening is gone")
	}
}

var allSections = []string{sectionHead, sectionCent, sectionPlace, sectionWords, sectionLists, sectionCells}

// hostile opens a file whose checksums are right and asks it everything: the
// answer is anything, or an error of this package.
func hostile(t *testing.T, c *set, data []byte) {
	b, err := c.open(data, Options{})
	if err == nil {
		_, err = use(b, c)
	}
	if err == nil {
		_, err = b.Repartition(ctx)
	}
	if err != nil && !errors.Is(err, modulate.ErrCorrupt) && !errors.Is(err, modulate.ErrPassage) && !errors.Is(err, modulate.ErrOptions) {
		t.Fatal(err)
	}
}

// FuzzOpen: whatever stands behind right checksums, the bridges answer or give
// an error. The input is a list of changes: section, offset, four bytes.
func FuzzOpen(f *testing.F) {
	c := newSet(13, 40)
	flat := saved(f, c.build(f, Options{Cells: 3}))
	many := newSet(14, 90)
	groups := saved(f, many.build(f, Options{Cells: 70}))
	f.Add([]byte{0, 0, 8, 255, 255, 255, 255})
	f.Add([]byte{0, 0, 0x30, 1, 0, 0, 0, 3, 0, 4, 9, 0, 0, 0})
	f.Add([]byte{5, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, edits []byte) {
		for _, x := range []struct {
			c    *set
			data []byte
		}{{c, flat}, {many, groups}} {
			hostile(t, x.c, snapshottest.Rewritten(t, x.data, allSections, func(section int, payload []byte) []byte {
				for e := edits; len(e) >= 7; e = e[7:] {
					at := 4 * int(binary.LittleEndian.Uint16(e[1:]))
					switch {
					case int(e[0])%len(allSections) != section || len(payload) < 4:
					case e[0] >= 192: // cut off
						payload = payload[:at%(len(payload)+1)]
					default:
						copy(payload[at%(len(payload)-3):], e[3:7])
					}
				}
				return payload
			}))
		}
	})
}

// Every number of the tables and of a cell, made large, small or another.
func TestHostileNumbers(t *testing.T) {
	c := newSet(13, 40)
	data := saved(t, c.build(t, Options{Cells: 3}))
	many := newSet(14, 90)
	groups := saved(t, many.build(t, Options{Cells: 70}))
	for at := 36; at < 36+4*9; at += 4 { // the first cells of groups
		for _, v := range []uint32{0, 1, 5, 69, 70, 71, math.MaxUint32} {
			hostile(t, many, snapshottest.Rewritten(t, groups, allSections, func(section int, payload []byte) []byte {
				if section == 0 {
					binary.LittleEndian.PutUint32(payload[at:], v)
				}
				return payload
			}))
		}
	}
	_, err := c.open(snapshottest.Rewritten(t, data, allSections, func(section int, payload []byte) []byte {
		if allSections[section] == sectionPlace {
			cell := payload[len(payload)-4:]
			cell[0] = (cell[0] + 1) % 3
		}
		return payload
	}), Options{})
	if !errors.Is(err, modulate.ErrCorrupt) {
		t.Errorf("a passage in another cell: %v", err)
	}
	places := 150
	if testing.Short() {
		places = 40
	}
	for i := range allSections {
		step, last := 4, 0
		for at := 0; at <= last; at += step {
			for _, v := range []uint32{0, 1, 40, 1 << 16, 1 << 31, math.MaxUint32, math.Float32bits(float32(math.Inf(1)))} {
				hostile(t, c, snapshottest.Rewritten(t, data, allSections, func(section int, payload []byte) []byte {
					if section == i {
						last = len(payload) - 4
						step = 4 * max(1, last/4/places)
						binary.LittleEndian.PutUint32(payload[at:], v)
					}
					return payload
				}))
			}
		}
	}
}
