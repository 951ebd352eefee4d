package search

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/code"
)

func hashes(terms ...string) (list []uint32) {
	for _, t := range terms {
		list = append(list, hashed(t))
	}
	slices.Sort(list)
	return list
}

func TestSignals(t *testing.T) {
	asked := asked{words: []askedWord{{hashed("parse"), 0.5}, {hashed("multipart"), 0.3}, {hashed("body"), 0.2}},
		rows: []askedRow{{1, []int{0, 1}}, {2, []int{1, 2}}, {3, []int{0, 1, 2}}}}
	for role, n := range map[string]int{code.Source: -1, code.Test: isTest, code.Example: isExample, code.Documentation: isDocumentation, code.Vendored: isVendored} {
		x := &sourceFile{role: role, name: hashes("multipart", "parse", "util", "more"), defined: hashes("parse", "body", "read")}
		for _, off := range []bool{false, true} {
			want := [fileSignals]float64{nameShare: 0.5, definedShare: 0.7}
			if n >= 0 && !off {
				want[n] = 1
			}
			asked.off = map[string]bool{role: off}
			if got := x.signals(asked); got != want {
				t.Errorf("%q, off %v: %v, want %v", role, off, got, want)
			}
		}
	}
	// Words in a row count once, in whichever names they stand.
	x := &sourceFile{row: 3, rows: []uint32{1, 2, 9}, definitions: make([]definition, manyNames)}
	if got, want := x.signals(asked), [fileSignals]float64{nameRow: 1, definedRows: 1, amount: 0.5}; got != want {
		t.Errorf("rows: %v, want %v", got, want)
	}
	if got := (&sourceFile{}).signals(asked); got != [fileSignals]float64{} {
		t.Errorf("a file without names: %v", got)
	}
}

// Files keeps those that were asked for last, in bounded memory.
func TestFilesAreBounded(t *testing.T) {
	f := NewFiles()
	one := &sourceFile{role: "first"}
	big := &sourceFile{defined: make([]uint32, keptNames/100)}
	f.Put(0, one, one.words())
	for ord := uint64(1); ord < 500; ord++ {
		f.Put(ord, big, big.words())
		if f.Get(0) != one || f.Get(ord) != big {
			t.Fatalf("after %d files one that was just asked for is gone", ord)
		}
		if n := f.Len(); n > 110 {
			t.Fatalf("%d files of %d words are kept", n, keptNames/100)
		}
	}
	if f.Get(1) != nil {
		t.Error("a file that was asked for long ago is kept")
	}
}

func BenchmarkSignals(b *testing.B) {
	x := &sourceFile{role: code.Test}
	for i := range 300 {
		x.defined = append(x.defined, hashed(fmt.Sprint(i)))
	}
	slices.Sort(x.defined)
	q := asked{words: make([]askedWord, 8), rows: make([]askedRow, 25)}
	for b.Loop() {
		x.signals(q)
	}
}

// TestCodeWords: each byte of a word keeps its place, and a passage without words stays as it is.
func TestCodeWords(t *testing.T) {
	for in, want := range map[string]string{
		"f(a_b)!=nil": "f a b   nil", "größe→x": "größe   x", "a\xffb": "a b", "ก็(e\u0301)": "ก็ e\u0301 ", "x²": "x²", "": "", "}\n)": "}\n)", "→": "→",
	} {
		if got := CodeWords(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
