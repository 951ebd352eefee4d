package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
)

// handOverChild lets the database in Folder.Next take the place of that in dir.
func handOverChild(dir string) error {
	s, err := Open(dir, small)
	if err != nil {
		return err
	}
	err = s.HandOver(ctx, func() error { return nil })
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	return Folder(dir).TakeOver()
}

// twoDatabases makes an old database with a bridge and derived files, and one that is
// to take its place, and returns what each holds.
func twoDatabases(t *testing.T, dir string) (before, after any) {
	t.Helper()
	s := open(t, dir, small)
	add(t, s, doc("a", 1), doc("b", 2))
	setBridge(t, s, "slr", "a bridge of some bytes")
	for _, folder := range []string{derivedName, fitName} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "old"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before = held(t, s)
	shut(t, s)
	n := open(t, Folder(dir).Next(), small)
	add(t, n, doc("b", 3))
	add(t, n, doc("c", 4))
	if err := os.MkdirAll(filepath.Join(Folder(dir).Next(), derivedName), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(Folder(dir).Next(), derivedName, "new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	after = held(t, n)
	shut(t, n)
	if reflect.DeepEqual(before, after) {
		t.Fatal("both databases hold the same")
	}
	return before, after
}

func shut(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// isThere fails the test unless exactly these entries are in the folder.
func isThere(t *testing.T, label, dir string, want map[string]bool) {
	t.Helper()
	for name, there := range want {
		if ok, err := exists(filepath.Join(dir, name)); err != nil || ok != there {
			t.Errorf("%s: %s is there: %v, %v", label, name, ok, err)
		}
	}
}

var (
	wholeOld = map[string]bool{nextName: true, swapName: false, replacedName: false, "derived/old": true, "derived/new": false, "fit/old": true, bridgesName: true}
	wholeNew = map[string]bool{nextName: false, swapName: false, replacedName: false, "derived/old": false, "derived/new": true, "fit/old": false, bridgesName: false}
)

// TestKillHandOver kills a HandOver, and what moves the files behind it, at each named
// moment, once and again while the next opening goes on: there is the old database or
// the new one, whole.
func TestKillHandOver(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a child cannot kill itself at a point on Windows")
	}
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	before, after := twoDatabases(t, made)
	points := []string{"swap-begun", "swap-decided", "swap-replaced", "swap-moved", "swap-shown", "swap-cleared"}
	for i, point := range points {
		for _, again := range append([]string{""}, points[i:]...) {
			label := point + " " + again
			dir := filepath.Join(t.TempDir(), "db")
			copyDir(t, made, dir)
			if _, killed := start(t, "handover", dir, point, 1).wait(t, 0); !killed {
				t.Fatalf("%s: the child ended by itself", label)
			}
			if again != "" && again != point && i > 0 {
				if _, killed := start(t, "open", dir, again, 1).wait(t, 0); !killed {
					t.Fatalf("%s: the second child ended by itself", label)
				}
			}
			want, files := after, wholeNew
			if i == 0 {
				want, files = before, wholeOld
			} else if err := readOnce(dir); !errors.Is(err, ErrUnclean) {
				t.Fatalf("%s: reading alone: %v", label, err)
			}
			if there, err := Folder(dir).Exists(); !there || err != nil {
				t.Fatalf("%s: there is no database: %v", label, err)
			}
			s := open(t, dir, small)
			if got := held(t, s); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: other documents: %v", label, got)
			}
			isThere(t, label, dir, files)
			if _, err := s.Verify(ctx, nil); err != nil {
				t.Fatalf("%s: %v", label, err)
			}
			closeAndRead(t, label, s)
			if i == 0 { // the same again
				if err := handOverChild(dir); err != nil {
					t.Fatal(err)
				}
				s := open(t, dir, small)
				if got := held(t, s); !reflect.DeepEqual(got, after) {
					t.Fatalf("%s: the second time: %v", label, got)
				}
				isThere(t, label, dir, wholeNew)
				shut(t, s)
			}
		}
	}
}

// TestHandOver: nothing is decided before the last moment, and nothing is written
// behind it.
func TestHandOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	before, after := twoDatabases(t, dir)
	s := open(t, dir, small)
	same := func(when string) {
		t.Helper()
		if got := held(t, s); !reflect.DeepEqual(got, before) {
			t.Fatalf("%s: %v", when, got)
		}
		isThere(t, when, dir, wholeOld)
	}
	boom := errors.New("boom")
	if err := s.HandOver(ctx, func() error { return boom }); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	same("an error of the caller")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.HandOver(gone, func() error { t.Error("called"); return nil }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	n := open(t, Folder(dir).Next(), small)
	if err := s.HandOver(ctx, func() error { return nil }); !errors.Is(err, ErrLocked) {
		t.Fatalf("to an open database: %v", err)
	}
	if err := Folder(dir).DropNext(); !errors.Is(err, ErrLocked) {
		t.Fatalf("dropped while it is open: %v", err)
	}
	shut(t, n)
	same("to an open database")
	head := filepath.Join(Folder(dir).Next(), headName)
	raw, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	m, _, _, _, err := readHead(Folder(dir).Next())
	if err != nil {
		t.Fatal(err)
	}
	m.clean = false
	if err := os.WriteFile(head, m.encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.HandOver(ctx, func() error { return nil }); !errors.Is(err, ErrUnclean) {
		t.Fatalf("to a database that was not closed: %v", err)
	}
	if err := os.WriteFile(head, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	same("to one that was not closed")
	if err := Folder(dir).TakeOver(); err != nil {
		t.Fatalf("undecided: %v", err)
	}
	// While last runs nobody writes, and afterwards neither.
	err = s.HandOver(ctx, func() error {
		short, cancel := context.WithCancel(ctx)
		go cancel()
		if _, err := s.Begin(short); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a batch began: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(ctx); !errors.Is(err, ErrHandedOver) {
		t.Fatalf("a write behind it: %v", err)
	}
	if err := Folder(dir).TakeOver(); !errors.Is(err, ErrLocked) {
		t.Fatalf("of an open database: %v", err)
	}
	if err := Folder(dir).DropNext(); !errors.Is(err, ErrHandedOver) {
		t.Fatalf("dropped when it is decided: %v", err)
	}
	shut(t, s)
	if damage, err := Folder(dir).Damage(ctx, nil); err != nil || len(damage) > 0 { // it reads the new one
		t.Fatal(damage, err)
	}
	s = open(t, dir, Options{ReadOnly: true})
	if got := held(t, s); !reflect.DeepEqual(got, after) {
		t.Fatalf("read alone: %v", got)
	}
	shut(t, s)
	if err := Folder(dir).TakeOver(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	if got := held(t, s); !reflect.DeepEqual(got, after) {
		t.Fatalf("%v", got)
	}
	isThere(t, "taken over", dir, wholeNew)
	if err := s.HandOver(ctx, func() error { return nil }); !errors.Is(err, ErrNoDatabase) {
		t.Fatalf("to nothing: %v", err)
	}
	shut(t, s)
}

// TestDropNext removes the database beside, and nothing else.
func TestDropNext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	before, _ := twoDatabases(t, dir)
	for range 2 {
		if err := Folder(dir).DropNext(); err != nil {
			t.Fatal(err)
		}
		isThere(t, "dropped", dir, map[string]bool{nextName: false, "derived/old": true})
	}
	s := open(t, dir, small)
	if got := held(t, s); !reflect.DeepEqual(got, before) {
		t.Fatalf("%v", got)
	}
	shut(t, s)
	if err := os.Mkdir(Folder(dir).Next(), 0o755); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(Folder(dir).Next(), "mine")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Folder(dir).DropNext(); !errors.Is(err, ErrForeign) {
		t.Fatalf("a folder of somebody else's: %v", err)
	}
	if ok, err := exists(mine); !ok || err != nil {
		t.Fatal("its file is gone")
	}
}

// TestSwapFileDamaged: a file that decides nothing we know is damage, and so is a
// decision for what is not there.
func TestSwapFileDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	twoDatabases(t, dir)
	swap := filepath.Join(dir, swapName)
	for _, text := range []string{"", swapText[:10], "something else, but not longer"} {
		if err := os.WriteFile(swap, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{small, {ReadOnly: true}} {
			if _, err := Open(dir, o); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%q: %v", text, err)
			}
		}
		isThere(t, text, dir, map[string]bool{nextName: true, recordsName: true})
	}
	if err := os.WriteFile(swap, []byte(swapText), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, Folder(dir).Next()} {
		if err := os.RemoveAll(filepath.Join(d, recordsName)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir, small); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a decision for nothing: %v", err)
	}
}
