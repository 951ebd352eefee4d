package engine_test

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
)

// sources are files of source code of some passages each, and a long README before them.
func sources(n int, first bool) []engine.Document {
	var d []engine.Document
	for i := range n {
		var s strings.Builder
		for j := range 30 {
			fmt.Fprintf(&s, "func F%d_%d() {\n\t// %s\n}\n\n", i, j, text(100*i+j))
		}
		d = append(d, codeFile(fmt.Sprintf("zoo/f%d.go", i), s.String()))
		d[i].WordsFirst = first
	}
	var s strings.Builder
	for j := range 100 {
		fmt.Fprintf(&s, "%s.\n\n", text(5000+j))
	}
	return append([]engine.Document{{ID: "README.md", Title: "zoo", Text: s.String(), WordsFirst: first}}, d...)
}

// TestTokenStatesOfSource: a database of source code has token states only where they were asked for.
func TestTokenStatesOfSource(t *testing.T) {
	stats := func(e *engine.Engine) engine.Stats {
		t.Helper()
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		return statsOf(t, e)
	}
	for name, c := range map[string]struct {
		o     engine.Options
		first bool
		all   bool
	}{
		"auto": {}, "words first": {first: true}, "on": {o: engine.Options{TokenStates: engine.TokenStatesOn}, all: true},
		"text": {o: engine.Options{Kind: engine.KindText}, all: true}, "code": {o: engine.Options{Kind: engine.KindCode}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.open()
			dir := t.TempDir()
			o := sparing(c.o)
			o.ChunkTokens, o.TokenStates = 60, cmp.Or(o.TokenStates, engine.TokenStatesAuto)
			e, err := engine.Open(t.Context(), dir, g, o)
			if err != nil {
				t.Fatal(err)
			}
			files := sources(5, c.first)
			add(t, e, files)
			s := stats(e)
			none := s.TokenStates.Chunks == 0 && strings.Contains(s.TokenStates.Note, "lexsem tokens")
			if all := s.TokenStates.Chunks == s.Chunks && s.TokenStates.Note == ""; all != c.all || none == c.all {
				t.Fatalf("%+v of %d chunks", s.TokenStates, s.Chunks)
			}
			last := len(files) - 1
			asked := g.asked.Load()
			files[last].Text += "func More() {\n}\n"
			files[last].WordsFirst = false
			if _, err := e.Upsert(t.Context(), files[last:]); err != nil {
				t.Fatal(err)
			}
			if n := g.asked.Load() - asked; n > 2 {
				t.Errorf("an edit of a passage encodes %d", n)
			}
			if s := stats(e); (s.TokenStates.Chunks == s.Chunks) != c.all {
				t.Errorf("after an edit %+v of %d chunks", s.TokenStates, s.Chunks)
			}
			var export bytes.Buffer
			if _, err := e.Export(t.Context(), &export, archive.ExportOptions{}); err != nil {
				t.Fatal(err)
			}
			again := open(t, t.TempDir(), o)
			x, err := archive.NewExported(&export)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := again.Import(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			if s := stats(again); (s.TokenStates.Chunks == s.Chunks) != c.all {
				t.Errorf("imported %+v of %d chunks", s.TokenStates, s.Chunks)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := engine.Reembed(t.Context(), dir, encoder.NewHash(32), sparing(engine.Options{ChunkTokens: 60})); err != nil {
				t.Fatal(err)
			}
			e, err = engine.Open(t.Context(), dir, encoder.NewHash(32), sparing(engine.Options{ChunkTokens: 60}))
			if err != nil {
				t.Fatal(err)
			}
			if s := stats(e); (s.TokenStates.Chunks == s.Chunks) != c.all {
				t.Errorf("of another model %+v of %d chunks", s.TokenStates, s.Chunks)
			}
			if _, err := e.KeepTokenStates(t.Context()); err != nil {
				t.Fatal(err)
			}
			files[last].ID, files[last].Text = "zoo/new.go", "func New() {\n}\n"
			add(t, e, files[last:])
			if s := stats(e); s.TokenStates.Chunks != s.Chunks || s.TokenStates.Note != "" {
				t.Errorf("asked for, %+v of %d chunks", s.TokenStates, s.Chunks)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := engine.Reembed(t.Context(), dir, hash(t), sparing(engine.Options{ChunkTokens: 60})); err != nil {
				t.Fatal(err)
			}
			if s := stats(open(t, dir, engine.Options{})); s.TokenStates.Chunks != s.Chunks {
				t.Errorf("asked for before a change of model, %+v of %d chunks", s.TokenStates, s.Chunks)
			}
		})
	}
}
