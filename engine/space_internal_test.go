package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
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
	for mode, most := range map[string]float64{TokenStatesOn: 8.5, TokenStatesOff: 3} {
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
		for part, n := range s.Disk {
			if part != "derived/flat-int8" && part != "derived/sums" { // which only tests save for so few documents
				sum += n
			}
		}
		codes, vectors := s.TokenStates.Bytes, int64(4*s.Dim*s.Chunks)
		t.Logf("token states %s: %.1f times %d bytes in %d chunks, %d of codes and %d of vectors: %v", mode, float64(sum)/float64(text), text, s.Chunks, codes, vectors, s.Disk)
		if ratio := float64(sum) / float64(text); ratio > most {
			t.Errorf("token states %s: %.1f times the bytes of the texts, at most %.1f", mode, ratio, most)
		}
		for part, most := range map[string]int64{
			"tables":            codes*101/100 + vectors/2 + 2*text,
			"derived/tokens":    16<<10 + 12*int64(s.Chunks),
			"derived/sums":      16<<10 + 4*384*385/2 + vectors/2 + text/2,
			"derived/flat-int8": 16<<10 + vectors*5/4 + 64*int64(s.Chunks),
			"derived/words":     5 * text / 4, // a quarter of it function words and their pairs
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
		e := opened(t, t.TempDir(), keptOptions, autoHNSW)
		put(t, e, docs...)
		codedAll(t, name, e)
		if n := e.st.BasisCount(); n != 1 {
			t.Errorf("%s: %d bases", name, n)
		}
		closed(t, e)
	}
}

// TestOlderTokenFiles: a database of an older program, whose derived files have the codes as well, in blocks, some of
// chunks that are gone, opens and answers alike; the next save leaves the list alone.
func TestOlderTokenFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, keptOptions, autoHNSW)
	put(t, e, madeDocs(rand.New(rand.NewPCG(9, 9)), 0, 300)...)
	put(t, e, madeDocs(rand.New(rand.NewPCG(9, 8)), 0, 40)...) // which takes the first versions away
	flushed(t, e)
	want, s := answers(t, e, tokenProbes), e.db.Present()
	n, live := s.Tokens.Len(), s.Live
	var ids []uint64
	var codes [][]byte
	for ord := uint64(1); ord < s.Limit; ord++ {
		if d, err := s.View.Get(t.Context(), ord); err == nil {
			for i, r := range d.Rows {
				ids, codes = append(ids, chunk.ID(ord, i)), append(codes, r.Codes)
			}
		} else if !live.Has(ord) {
			ids, codes = append(ids, chunk.ID(ord, 0)), append(codes, []byte("gone"))
		}
	}
	closed(t, e)
	path := func(kind string) string { return filepath.Join(dir, "derived", kind+".snap") }
	f, err := snapshot.Open(path("tokens"))
	if err != nil {
		t.Fatal(err)
	}
	state, err := f.Section("STATE")
	if err != nil {
		t.Fatal(err)
	}
	raw, h := bytes.Clone(state.Raw()), f.Header()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	const block = "tokens-0123456789abcdef"
	half := len(ids) / 2
	write := func(kind string, head bool, ids []uint64, codes [][]byte) {
		h.Kind = kind
		err := snapshot.Write(path(kind), h, func(w *snapshot.Writer) error {
			if head {
				w.Begin("STATE")
				w.Write(raw)
				w.Begin("tk.head")
				w.U32(1)
				w.U32(1)
				w.Text(block)
				w.U64(uint64(half))
				w.U64(0)
			}
			w.Begin("tk.ids")
			w.Uint64s(ids)
			w.Begin("tk.codes")
			var ends []uint64
			end := uint64(0)
			for _, c := range codes {
				w.Write(c)
				end += uint64(len(c))
				ends = append(ends, end)
			}
			w.Begin("tk.ends")
			w.Uint64s(ends)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(block, false, ids[:half], codes[:half])
	write("tokens", true, ids[half:], codes[half:])
	for _, way := range []string{"older", "a second time"} {
		var log bytes.Buffer
		o := keptOptions
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		e = opened(t, dir, o, autoHNSW)
		if strings.Contains(log.String(), "made anew") {
			t.Errorf("%s: the list was not read: %s", way, log.String())
		}
		if got := e.db.Present().Tokens.Len(); got != n || len(ids) == n {
			t.Errorf("%s: %d chunks with codes, want %d of the %d that were written", way, got, n, len(ids))
		}
		sameAnswers(t, way, answers(t, e, tokenProbes), want, tokenProbes)
		codedAll(t, way, e)
		put(t, e, madeDocs(rand.New(rand.NewPCG(9, 7)), 400, 401)...)
		removed(t, e, "d400")
		flushed(t, e)
		closed(t, e)
	}
	if _, err := os.Stat(path(block)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a block of an older program is left: %v", err)
	}
}

// TestRowsOfAReader: a database that is opened for reading makes the rows of RLR a second after its opening, even if
// Flush is called before; for writing Flush makes them.
func TestRowsOfAReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := Open(t.Context(), dir, encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 2))
	for i := range 40 {
		put(t, e, made(r, i))
	}
	closed(t, e)
	for _, reads := range []bool{true, false} {
		if err := os.Remove(filepath.Join(dir, "derived", "sums.snap")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		begun := time.Now()
		e, err := Open(t.Context(), dir, encoder.NewHash(32), Options{ReadOnly: reads})
		if err != nil {
			t.Fatal(err)
		}
		flushed(t, e)
		if rowless := e.db.Present().Sums.Rowless(); rowless != reads && (!reads || time.Since(begun) < time.Second) {
			t.Errorf("read-only %v: without rows after Flush: %v", reads, rowless)
		}
		for until := time.Now().Add(20 * time.Second); e.db.Present().Sums.Rowless(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("read-only %v: no rows after 20 s", reads)
			}
		}
		closed(t, e)
	}
}
