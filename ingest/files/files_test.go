package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// readAll reads a file of text and returns its records, and the errors of single
// records as "line: reason". It checks what holds for every kind.
func readAll(t testing.TB, name, in string, o Options) (recs []Record, bad []string, last error) {
	t.Helper()
	for rec, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, o) {
		if last != nil {
			t.Fatalf("%s: something comes behind the error %v", name, last)
		}
		var re *RecordError
		switch {
		case errors.As(err, &re):
			bad = append(bad, fmt.Sprintf("%d: %v", re.Line, re.Err))
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s: %v is not engine.ErrInvalid", name, err)
			}
		case err != nil:
			last = err
		default:
			lawful(t, name, in, rec)
			recs = append(recs, rec)
		}
	}
	return recs, bad, last
}

// lawful holds a record to what its type promises.
func lawful(t testing.TB, name, in string, r Record) {
	t.Helper()
	if r.ID == "" || blank(r.Title) && blank(r.Text) && r.Vector == nil {
		t.Errorf("%s: a record without id or text: %+v", name, r)
	}
	before := 0
	for _, b := range r.Breaks {
		if b <= before || b >= len(r.Text) || r.Text[b]&0xc0 == 0x80 {
			t.Errorf("%s: breaks %v of a text of %d bytes", name, r.Breaks, len(r.Text))
			break
		}
		before = b
	}
	if r.From > r.To || r.From < 0 {
		t.Errorf("%s: lines %d to %d", name, r.From, r.To)
	}
	if !r.Verbatim || strings.HasPrefix(in, "\xff\xfe") || strings.HasPrefix(in, "\xfe\xff") {
		return
	}
	file := strings.Split(strings.TrimPrefix(in, "\ufeff"), "\n")
	lines := strings.Split(strings.TrimSuffix(r.Text, "\n"), "\n")
	if r.From+len(lines)-1 != r.To || r.To > len(file) {
		t.Errorf("%s: lines %d to %d for a text of %d lines", name, r.From, r.To, len(lines))
		return
	}
	for i, l := range lines {
		if want := strings.TrimSuffix(file[r.From+i-1], "\r"); l != want && l != file[r.From+i-1] && strings.TrimLeft(want, " \t") != l {
			t.Errorf("%s: line %d of the text is %q, of the file %q", name, i+1, l, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.md": "markdown", "A.MARKDOWN": "markdown", "x/y.TXT": "text", `x\y.csv`: "csv", "t.tsv": "tsv",
		"c.jsonl": "jsonl", "c.ndjson": "jsonl", "LICENSE": "text", "docs/README": "text",
		"a.docx": "", "a.PNG": "image", "b.jpeg": "image", "a": "", "": "", ".": "", "a.": "", "a.md/b": "",
	} {
		if got := KindOf(name); got != want {
			t.Errorf("KindOf(%q) is %q, want %q", name, got, want)
		}
	}
	for _, k := range kinds {
		for _, e := range k.ext {
			if got := KindOf("f." + e); got != k.name {
				t.Errorf("extension %s is of two kinds: %s and %s", e, got, k.name)
			}
		}
	}
	if !slices.IsSorted(Kinds()) || len(Kinds()) != len(byName) {
		t.Errorf("kinds: %v", Kinds())
	}
}

func TestKindErrors(t *testing.T) {
	for name, o := range map[string]Options{"a.docx": {}, "a.txt": {Kind: "docx"}} {
		if _, _, err := readAll(t, name, "x", o); !errors.Is(err, ErrKind) || !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "markdown") {
			t.Errorf("%s, %+v: %v", name, o, err)
		}
	}
	recs, _, err := readAll(t, "a.docx", "x", Options{Kind: "text"})
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
		recs, _, err := readAll(t, "n/a.txt", in, Options{})
		if err != nil || len(recs) != 1 || recs[0].Text != want || recs[0].ID != "n/a.txt" || recs[0].From != 1 || !recs[0].Verbatim {
			t.Errorf("%q: %+v, %v; want the text %q", in, recs, err, want)
		}
	}
	for in, want := range map[string]error{
		"": ErrNoText, " \n\t": ErrNoText, "\ufeff": ErrNoText, "\xff\xfe": ErrNoText,
		"a\x00b": ErrBinary, "caf\xe9": ErrBinary, "\xff\xfe\x00\x00x\x00\x00\x00": ErrBinary,
		strings.Repeat("x", 101): ErrTooLarge,
	} {
		if recs, _, err := readAll(t, "a.txt", in, Options{MaxBytes: 100}); !errors.Is(err, want) || !errors.Is(err, engine.ErrInvalid) || len(recs) > 0 {
			t.Errorf("%q: %v, %v; want %v", in, recs, err, want)
		}
	}
	if recs, _, err := readAll(t, "a.txt", strings.Repeat("x", 100), Options{MaxBytes: 100, ID: "other"}); err != nil || recs[0].ID != "other" {
		t.Errorf("a text of just MaxBytes: %v", err)
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
	for _, k := range kinds {
		if k.seek {
			continue
		}
		begin, special := map[string]string{"json": "[", "chromem": "", "npy": npyMagic, "fbin": "\x01\x00\x00\x00\x01", "fvecs": "\x01\x00"}[k.name]
		if !special {
			begin = "text\tb,text\n"
		}
		r := io.MultiReader(strings.NewReader(begin), errorReader{boom})
		var last error
		for _, err := range ReadStream(t.Context(), r, "x", Options{Kind: k.name, ID: "x"}) {
			last = err
		}
		if !errors.Is(last, boom) {
			t.Errorf("%s: %v; want the reader's error", k.name, last)
		}
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

// fuzz holds whatever a parser makes of any bytes to what records promise.
func fuzz(f *testing.F, kind string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		o := Options{Kind: kind, ID: "f", MaxBytes: 1 << 16}
		records, size := 0, 0
		for rec, err := range Read(t.Context(), strings.NewReader(string(in)), int64(len(in)), "f", o) {
			if records++; records > len(in)+1 {
				t.Fatalf("%d bytes give more than %d records", len(in), records)
			}
			if err != nil {
				if !errors.Is(err, engine.ErrInvalid) {
					t.Fatalf("%v is not engine.ErrInvalid", err)
				}
				continue
			}
			lawful(t, kind, string(in), rec)
			if size += len(rec.Text); len(rec.Text) > 1<<16 {
				t.Fatalf("a text of %d bytes", len(rec.Text))
			}
			encodable(t, rec)
		}
	})
}
