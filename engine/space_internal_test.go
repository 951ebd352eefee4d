package engine

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestSpaceOfMarkdown: a closed database of the documents of this repository takes no more times their bytes than it has
// to, and no part has grown: the codes of token states are there once, and so are the vectors but for the copy of the index.
func TestSpaceOfMarkdown(t *testing.T) {
	t.Parallel()
	var docs []Document
	text := int64(0)
	err := filepath.WalkDir("../docs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		b, err := os.ReadFile(path)
		docs, text = append(docs, Document{ID: path, Text: string(b)}), text+int64(len(b))
		return err
	})
	if err != nil || text < 100_000 {
		t.Fatalf("%d bytes of documents, %v", text, err)
	}
	for mode, most := range map[string]float64{TokenStatesOn: 31, TokenStatesOff: 13} {
		dir := t.TempDir()
		open := func() *Engine {
			e, err := Open(t.Context(), dir, encoder.NewHash(384), Options{TokenStates: mode})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e := open()
		put(t, e, docs...)
		flushed(t, e)
		closed(t, e)
		e = open()
		s, err := e.Stats(t.Context())
		if err = errors.Join(err, e.Close()); err != nil {
			t.Fatal(err)
		}
		delete(s.Disk, "reserve") // while a writer has it open
		sum := int64(0)
		for _, n := range s.Disk {
			sum += n
		}
		codes, vectors := s.TokenStates.Bytes, int64(4*s.Dim*s.Chunks)
		t.Logf("token states %s: %.1f times %d bytes in %d chunks, %d of codes and %d of vectors: %v", mode, float64(sum)/float64(text), text, s.Chunks, codes, vectors, s.Disk)
		if ratio := float64(sum) / float64(text); ratio > most {
			t.Errorf("token states %s: %.1f times the bytes of the texts, at most %.1f", mode, ratio, most)
		}
		for part, most := range map[string]int64{
			"tables":            codes*101/100 + vectors + 3*text,
			"derived/tokens":    16<<10 + 12*int64(s.Chunks),
			"derived/sums":      16<<10 + 4*384*385/2 + vectors/2 + text/2,
			"derived/flat-int8": 16<<10 + vectors*5/4 + 64*int64(s.Chunks),
			"derived/words":     3 * text / 2,
		} {
			if s.Disk[part] > most || s.Disk[part] == 0 && (codes > 0 || part != "derived/tokens") {
				t.Errorf("token states %s: %s takes %d bytes, at most %d", mode, part, s.Disk[part], most)
			}
		}
	}
}

// TestOneBasis: documents that come in one call get one basis of token states, and all have their codes when the call
// ends.
func TestOneBasis(t *testing.T) {
	t.Parallel()
	for name, docs := range map[string][]Document{
		"many": madeDocs(rand.New(rand.NewPCG(9, 9)), 0, 1100), "few": madeDocs(rand.New(rand.NewPCG(9, 9)), 0, 60),
	} {
		e := opened(t, t.TempDir(), keptOptions, AutoHNSW)
		put(t, e, docs...)
		codedAll(t, name, e)
		if n := e.st.BasisCount(); n != 1 {
			t.Errorf("%s: %d bases", name, n)
		}
		closed(t, e)
	}
}
