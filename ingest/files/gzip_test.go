package files_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGzip: a .gz file of any kind has the documents of what it holds, and its own name as id.
func TestGzip(t *testing.T) {
	for _, kind := range append([]string{"parquet"}, filestest.MarkedKinds...) {
		name, in := marked(t, kind, 12)
		want, _, err := filestest.ReadAll(t, name, in, Options{ID: "f"})
		if err != nil {
			t.Fatal(err)
		}
		if got := KindOf(name + ".gz"); got != kind {
			t.Errorf("%s.gz is of kind %q", name, got)
		}
		got, warned := readGzip(t, name+".gz", zipped(t, in), Options{ID: "f"})
		if len(warned) > 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s.gz: %d documents, warned %q; want %d:\n%.300v\n%.300v", name, len(got), warned, len(want), got, want)
		}
	}
	if got, _ := readGzip(t, "dir/a.txt.gz", zipped(t, "seal"), Options{}); len(got) != 1 || got[0].ID != "dir/a.txt.gz" || got[0].Text != "seal" {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{"README.gz": "text", "changelog.Debian.gz": "text", "README.Debian": "text", "readme.ja": "text", "copyright": "text",
		"x.tar.gz": "", "a.txt.gz.gz": "", ".gz": "", "a.gob.gz": "chromem", "a.gz": "", "foo.debian": "", "readme.rtf": "rtf"} {
		if got := KindOf(name); got != want {
			t.Errorf("%s is of kind %q, want %q", name, got, want)
		}
	}
}

// readGzip reads a file without the checks that compare lines with those of the file.
func readGzip(t *testing.T, name, in string, o Options) (recs []Record, warned []string) {
	t.Helper()
	o.Warn = func(w Warning) { warned = append(warned, w.Text) }
	for r, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, o) {
		if err != nil {
			warned = append(warned, "error: "+err.Error())
			continue
		}
		recs = append(recs, r)
	}
	return recs, warned
}

// TestDamagedGzip: of a .gz file that is cut, or expands too much, the beginning is read, and the rest is named: of one document
// as a warning, of records as an error, since some may be stored that stood behind.
func TestDamagedGzip(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `{"_id":"%d","text":"walrus %d"}`+"\n", i, i*i)
	}
	for _, c := range []struct {
		name, in string
		o        Options
		least    int
		want     string
	}{
		{"a.txt.gz", zipped(t, b.String())[:8000], Options{}, 1, "the text before is stored: the gzip file is damaged"},
		{"a.jsonl.gz", zipped(t, b.String())[:8000], Options{}, 800, "error: the gzip file is damaged"},
		{"a.jsonl.gz", zipped(t, b.String()), Options{MaxBytes: 1 << 10}, 3000, ""}, // as a stream
		{"a.jsonl.gz", zipped(t, b.String()+strings.Repeat(" \n", 3<<20)), Options{MaxBytes: 1 << 10}, 3000, "error: it expands to more than 100 times its size"},
		{"a.txt.gz", zipped(t, strings.Repeat(" a", 3<<20)), Options{MaxBytes: 1 << 20}, 1, "longer than 1 MiB: its beginning is stored"},
		{"a.docx.gz", zipped(t, b.String()), Options{MaxBytes: 4 << 10}, 0, "error: it expands to more than 16384 bytes"},
		{"a.txt.gz", "no gzip", Options{}, 0, "error: not a gzip file"},
		{"a.txt.gz", "", Options{}, 0, "error: no text"},
	} {
		recs, warned := readGzip(t, c.name, c.in, c.o)
		if got := strings.Join(warned, "\n"); len(recs) < c.least || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s of %d bytes: %d documents, %q; want %d, %q", c.name, len(c.in), len(recs), got, c.least, c.want)
		}
	}
	in := zipped(t, b.String())
	for rec, err := range ReadStream(t.Context(), strings.NewReader(in), "a.docx.gz", Options{}) {
		if !errors.Is(err, ErrKind) {
			t.Errorf("%+v, %v", rec, err)
		}
	}
}
