package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func TestKindOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.md": "markdown", "A.MARKDOWN": "markdown", "a.mdx": "markdown", "x/y.TXT": "text", `x\y.csv`: "csv", "t.tsv": "tsv",
		"c.jsonl": "jsonl", "c.ndjson": "jsonl", "LICENSE": "text", "docs/README": "text",
		"a.docx": "docx", "a.xyz": "", "a.PNG": "image", "b.jpeg": "image", "": "", ".": "", "a.": "",
		"a": "code", "a.md/b": "code", "pip3.11": "code", "a~": "", "Makefile": "code", "CMakeLists.txt": "code", "go.mod": "code", "Dockerfile.dev": "code", "Dockerfile.md": "markdown", "BUILD": "code",
		".bashrc": "code", "build.gz": "", "BUILD.gz": "code", "a.go.gz": "code", "x.1.gz": "", "Makefile.in": "", "AUTHORS": "text",
	} {
		if got := KindOf(name); got != want {
			t.Errorf("KindOf(%q) is %q, want %q", name, got, want)
		}
	}
	for _, k := range Registered() {
		for _, e := range k.Extensions {
			if got := KindOf("f." + e); got != k.Name {
				t.Errorf("extension %s is of two kinds: %s and %s", e, got, k.Name)
			}
		}
	}
	if !slices.IsSorted(Kinds()) || len(Kinds()) != len(Registered()) {
		t.Errorf("kinds: %v", Kinds())
	}
}

func TestKindErrors(t *testing.T) {
	for name, o := range map[string]Options{"a.xyz": {}, "a.txt": {Kind: "xyz"}} {
		if _, _, err := filestest.ReadAll(t, name, "x", o); !errors.Is(err, ErrKind) || !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "markdown") {
			t.Errorf("%s, %+v: %v", name, o, err)
		}
	}
	recs, _, err := filestest.ReadAll(t, "a.xyz", "x", Options{Kind: "text"})
	if err != nil || len(recs) != 1 {
		t.Errorf("a kind that was named: %v, %v", recs, err)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ntext\n":                        "plain\ntext\n",
		"\ufeffplain\r\ntext":                  "plain\ntext",
		"\xff\xfeg\x00r\x00\xfc\x00n\x00":      "grün",
		"\xfe\xff\x00g\x00r\x00\xfc\x00\n":     "grü\n",
		"\n\n  lead\n":                         "\n\n  lead\n",
		"a \u2028 b " + strings.Repeat("x", 9): "a \u2028 b xxxxxxxxx",
	} {
		recs, _, err := filestest.ReadAll(t, "n/a.txt", in, Options{})
		if err != nil || len(recs) != 1 || recs[0].Text != want || recs[0].ID != "n/a.txt" || recs[0].From != 1 || !recs[0].Verbatim {
			t.Errorf("%q: %+v, %v; want the text %q", in, recs, err, want)
		}
	}
	for in, want := range map[string]error{
		"": ErrNoText, " \n\t": ErrNoText, "\ufeff": ErrNoText, "\xff\xfe": ErrNoText, "\x00\x00": ErrNoText,
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR": ErrBinary, "\x7fELF\x02\x01\x01\x00\x00\x00": ErrBinary, "\x1f\x8b\x08\x00\x01\x02\x03": ErrBinary,
	} {
		if recs, _, err := filestest.ReadAll(t, "a.txt", in, Options{MaxBytes: 100}); !errors.Is(err, want) || !errors.Is(err, engine.ErrInvalid) || len(recs) > 0 {
			t.Errorf("%q: %v, %v; want %v", in, recs, err, want)
		}
	}
	if recs, _, err := filestest.ReadAll(t, "a.txt", strings.Repeat("x", 100), Options{MaxBytes: 100, ID: "other"}); err != nil || recs[0].ID != "other" {
		t.Errorf("a text of just MaxBytes: %v", err)
	}
}

// TestCut: of a file that is longer than MaxBytes the beginning is read, up to the end of a line or of a character, with a warning.
func TestCut(t *testing.T) {
	for name, of := range map[string]struct {
		in, want string
		to       int
	}{
		"a.txt":       {"one line\ntwo ", "one line\n", 1},
		"b.txt":       {"häääääääääääääääääääääää", "häääääääääääääää", 1},
		"a.go":        {"package a\n\nfunc A() {}\n\nfunc B() {}", "package a\n\nfunc A() {}\n\n", 4},
		"a.md":        {"# T\n\nfirst\nt\n", "first\nt\n", 13},
		"utf16le.txt": {"\xff\xfef\x00i\x00r\x00s\x00t\x00 \x00\xe9\x00 \x00", "first é", 1},
		"a.html":      {"<p>first</p>\n<p>", "first", 1},
		"b.html":      {"\xff\xfe<\x00p\x00>\x00\xe9\x00", "é", 1},
	} {
		in := of.in + strings.Repeat(of.in[len(of.in)-2:], 40)
		recs, warned := warnings(t, name, in, Options{MaxBytes: 32})
		if len(recs) != 1 || !strings.HasPrefix(recs[0].Text, of.want) || len(recs[0].Text) > 32 || recs[0].To != of.to || len(warned) != 1 || !strings.Contains(warned[0], "longer than 32 bytes: its beginning is stored") {
			t.Errorf("%s: %+v, warned %q", name, recs, warned)
		}
	}
	if _, _, err := filestest.ReadAll(t, "a.png", "\x89PNG"+strings.Repeat("x", 32), Options{MaxBytes: 32}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an image: %v", err)
	}
}

func TestStream(t *testing.T) {
	var got []string
	for rec, err := range ReadStream(t.Context(), io.MultiReader(strings.NewReader("{\"id\":1,\"te"), strings.NewReader("xt\":\"x\"}\n")), "stdin", Options{Kind: "jsonl"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec.ID+rec.Text)
	}
	if !slices.Equal(got, []string{"1x"}) {
		t.Errorf("a stream gave %q", got)
	}
}

// TestSlowStream: a record of a stream is there before the next one comes.
func TestSlowStream(t *testing.T) {
	r, w := io.Pipe()
	next := make(chan int)
	go func() {
		for i := range next {
			fmt.Fprintf(w, "{\"id\":%d,\"text\":\"é\"}\n", i)
		}
		w.Close()
	}()
	next <- 0
	n := 0
	for rec, err := range ReadStream(t.Context(), r, "", Options{Kind: "jsonl"}) {
		if err != nil || rec.Text != "é" {
			t.Fatalf("%+v, %v", rec, err)
		}
		if n++; n == 3 {
			break
		}
		next <- n
	}
	close(next)
	if n != 3 {
		t.Errorf("%d records", n)
	}
}

// TestStopAndCancel: a loop may end at any record, and a context ends it.
func TestStopAndCancel(t *testing.T) {
	in := strings.Repeat("{\"text\":\"x\"}\n!\n", 5000)
	for name, in := range map[string]string{"a.jsonl": in, "a.csv": "text,b\n" + strings.Repeat("x,y\n\"z\nx\n", 5000), "a.md": "x"} {
		n := 0
		for range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, Options{ID: "i"}) {
			if n++; n == 2 {
				break
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		n = 0
		for _, err := range Read(ctx, strings.NewReader(in), int64(len(in)), name, Options{ID: "i"}) {
			cancel()
			last = err
			n++
		}
		cancel()
		if name != "a.md" && (n > 2 || !errors.Is(last, context.Canceled)) {
			t.Errorf("%s: %d records behind a cancelled context, the last error is %v", name, n-1, last)
		}
	}
}

// TestReaderErrors: an error of the reader is the last, and its own.
func TestReaderErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, k := range Registered() {
		if k.Seek {
			continue
		}
		begin, special := map[string]string{"json": "[", "chromem": "", "npy": "\x93NUMPY", "fbin": "\x01\x00\x00\x00\x01", "fvecs": "\x01\x00",
			"rtf": `{\rtf1 text\par `, "ipynb": `{"cells":[{"source":"text"},`, "eml": "Subject: a\n\ntext", "mbox": "From a Mon Jan  1 10:00:00 2024\n\ntext"}[k.Name]
		if !special {
			begin = "text\tb,text\n"
		}
		r := io.MultiReader(strings.NewReader(begin), errorReader{boom})
		var last error
		for _, err := range ReadStream(t.Context(), r, "x", Options{Kind: k.Name, ID: "x"}) {
			last = err
		}
		if !errors.Is(last, boom) {
			t.Errorf("%s: %v; want the reader's error", k.Name, last)
		}
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }
