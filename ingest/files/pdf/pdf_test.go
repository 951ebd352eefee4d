package pdf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// testPDF is a file that testdata/make.py has made (reportlab, fpdf2).
func testPDF(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPDF(t *testing.T) {
	for name, c := range map[string]struct {
		title, begin, has string
		words, pages      int
	}{
		"p_simple.pdf":    {"My Title", "Heading one\nThe quick brown fox jumps over", "Second page ünïcödé\nThe quick", 228, 2},
		"p_enc_owner.pdf": {"", "Heading one\n", "Second page", 228, 2},
		"p_cols.pdf":      {"", "Left para 0. The quick brown fox jumps over the\nlazy dog", "Left para 39. The quick", 2200, 3},
		"p_uni.pdf":       {"", "Zwölf Boxkämpfer jagen Viktor. Привет мир. Ελληνικά.", "efficient office file", 50, 1},
	} {
		recs, _, err := filestest.ReadAll(t, name, testPDF(t, name), files.Options{ID: "p"})
		if err != nil || len(recs) != 1 {
			t.Errorf("%s: %v, %v", name, recs, err)
			continue
		}
		r := recs[0]
		if n := len(strings.Fields(r.Text)); r.ID != "p" || r.Title != c.title || !strings.HasPrefix(r.Text, "\f"+c.begin) || !strings.Contains(r.Text, c.has) || n < c.words-4 || n > c.words+4 {
			t.Errorf("%s: title %q, %d words: %.300q", name, r.Title, n, r.Text)
		}
		if r.Metadata["pages"] != c.pages || len(r.Breaks) != c.pages-1 || r.From != 0 || r.Verbatim {
			t.Errorf("%s: %v, breaks %v", name, r.Metadata, r.Breaks)
		}
		if name == "p_simple.pdf" && (fmt.Sprint(r.Metadata["author"]) != "An Author" || !strings.HasPrefix(r.Text[r.Breaks[0]:], "Second page")) {
			t.Errorf("%s: %v, breaks %v", name, r.Metadata, r.Breaks)
		}
	}
}

func TestBadPDF(t *testing.T) {
	good := testPDF(t, "p_simple.pdf")
	for name, c := range map[string]struct {
		in   string
		is   error
		want string
	}{
		"encrypted": {testPDF(t, "p_enc_user.pdf"), files.ErrMalformed, "save it without a password"},
		"scan":      {testPDF(t, "p_scan.pdf"), files.ErrNoText, "OCR"},
		"other":     {"<html>", files.ErrMalformed, "not a PDF"},
		"begin":     {good[:300], files.ErrMalformed, "not a PDF"},
	} {
		if recs, _, err := filestest.ReadAll(t, "a.pdf", c.in, files.Options{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", name, recs, err, c.want)
		}
	}
	var warned []string
	o := files.Options{MaxBytes: 800, Warn: func(w files.Warning) { warned = append(warned, w.Text) }}
	if recs, _, err := filestest.ReadAll(t, "a.pdf", good, o); err != nil || len(recs) != 1 || len(recs[0].Text) > 800 || len(recs[0].Text) < 400 || len(warned) != 1 || !strings.Contains(warned[0], "its beginning is stored") {
		t.Errorf("a long text: %+v, %q, %v", recs, warned, err)
	}
	for i := 0; i < len(good); i += 311 { // damage gives a text or an error
		b := []byte(good)
		b[i] ^= 0x15
		if _, _, err := filestest.ReadAll(t, "a.pdf", string(b), files.Options{}); err != nil && !errors.Is(err, files.ErrMalformed) && !errors.Is(err, files.ErrNoText) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}

// TestPDFStops: a step that does not end is stopped with its context, and the next
// file is read.
func TestPDFStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := newReader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	release := make(chan struct{})
	defer close(release)
	if err := p.step(func() error { <-release; return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := p.close(); err != nil {
		t.Errorf("closing a stopped reader: %v", err)
	}
	if recs, _, err := filestest.ReadAll(t, "a.pdf", testPDF(t, "p_simple.pdf"), files.Options{}); err != nil || len(recs) != 1 {
		t.Errorf("the next file: %v", err)
	}
}

// nestedPDF is a file of some kilobytes whose page shows a form, which shows another one twice, and so on:
// its text is 2 to the power of so many levels as long as that of the last one.
func nestedPDF(levels int) string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), fmt.Sprintf(format, args...))
	}
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", dict, len(data), data)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</XObject<</X 5 0 R>>>>/Contents 4 0 R>>")
	object("%s", stream("", "/X Do"))
	for i := range levels {
		data := "/X Do /X Do"
		if i == levels-1 {
			data = "BT /F1 12 Tf 72 700 Td (Hello oak leaves) Tj ET"
		}
		object("%s", stream(fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</X %d 0 R>>/Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>", 6+i), data))
	}
	object("<</Title(Nested)>>")
	begin := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, len(at), begin)
	return b.String()
}

// TestPDFMemory: a small file that would take much memory is refused, and takes no more than a machine has.
func TestPDFMemory(t *testing.T) {
	if recs, _, err := filestest.ReadAll(t, "a.pdf", nestedPDF(3), files.Options{}); err != nil || strings.Count(recs[0].Text, "Hello") != 4 {
		t.Fatalf("a small one: %v, %v", recs, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := filestest.ReadAll(t, "a.pdf", nestedPDF(25), files.Options{})
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, files.ErrMalformed) || !strings.Contains(err.Error(), fmt.Sprint(maxMemory>>20, " MiB")) || mib > 200 {
		t.Errorf("%d MiB, %v", mib, err)
	}
}

// TestPDFWithoutInfo: a file that says nothing of itself has a text and no title.
func TestPDFWithoutInfo(t *testing.T) {
	for in, title := range map[string]string{nestedPDF(2): "Nested", regexp.MustCompile(`/Info \d+ 0 R`).ReplaceAllString(nestedPDF(2), ""): ""} {
		recs, _, err := filestest.ReadAll(t, "a.pdf", in, files.Options{Warn: func(w files.Warning) { t.Errorf("warned %+v", w) }})
		if err != nil || len(recs) != 1 || recs[0].Title != title || !strings.Contains(recs[0].Text, "Hello oak leaves") {
			t.Errorf("%+v, %v; want the title %q", recs, err, title)
		}
	}
}

// TestPDFTable: a file whose table of objects is damaged anywhere loses no page: neither one with a plain table, nor one whose
// objects are packed.
func TestPDFTable(t *testing.T) {
	_, plain := filestest.Marked(t, "pdf", 10)
	for _, c := range []struct {
		in, table string
		marks     map[string]int
	}{{plain, "\nxref\n", map[string]int{"walrus": 10}}, {testPDF(t, "p_packed.pdf"), "/XRef", map[string]int{"Heading one": 1, "Second page": 1}}} {
		searched := 0
		for at := strings.Index(c.in, c.table); at < len(c.in)-14; at += 9 {
			put := "\x12\xe5\xca7" // which leaves numbers, so that the table is still believed
			if at%2 == 0 {
				put = strings.Repeat("\xa5", 14)
			}
			in := c.in[:at] + put + c.in[at+len(put):]
			o := files.Options{Warn: func(w files.Warning) {
				if searched++; !strings.Contains(w.Text, "print it to a new PDF") {
					t.Errorf("%s: warned %+v", c.table, w)
				}
			}}
			recs, _, err := filestest.ReadAll(t, "a.pdf", in, o)
			for mark, n := range c.marks {
				if err != nil || strings.Count(recs[0].Text, mark) != n {
					t.Errorf("%s, damaged at %d of %d: %v, %v; want %q %d times", c.table, at, len(in), recs, err, mark, n)
				}
			}
		}
		if searched == 0 {
			t.Errorf("%s: no damage was named", c.table)
		}
	}
}

func FuzzPDF(f *testing.F) {
	filestest.Fuzz(f, "pdf", testPDF(f, "p_simple.pdf"), testPDF(f, "p_scan.pdf"), "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>")
}

// TestPDFCountLies: a file with a page that says that it has a million ends after the first thousand that are not there.
func TestPDFCountLies(t *testing.T) {
	var last string
	n := 0
	o := files.Options{Warn: func(w files.Warning) { last = w.Text; n++ }}
	recs, _, err := filestest.ReadAll(t, "a.pdf", strings.Replace(nestedPDF(1), "[3 0 R]/Count 1>>", "[3 0 R 2 0 R]/Count 1000000>>", 1), o)
	if err != nil || len(recs) != 1 || !strings.Contains(recs[0].Text, "Hello oak leaves") || n != 1 || !strings.HasPrefix(last, "pages 2 to 1000000 cannot be read and are left out: ") {
		t.Errorf("%d documents, %v, %d warnings, the last is %q", len(recs), err, n, last)
	}
}
