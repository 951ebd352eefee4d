package files_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func TestCSV(t *testing.T) {
	in := "\ufeffID,Title,Body,year,zip,draft,note\r\n" +
		"a,\"T, one\",\"line one\r\nline \"\"two\"\"\",2024,01234,false,\r\n" +
		"\r\n" +
		"b,,text,-1.50e3,1e400,True,x\r\n" +
		"a,,again,1,2,3,4"
	recs, bad, err := filestest.ReadAll(t, "a.csv", in, Options{})
	if err != nil || len(bad) > 0 || len(recs) != 3 {
		t.Fatalf("%+v, %q, %v", recs, bad, err)
	}
	a, b := recs[0], recs[1]
	if a.ID != "a" || a.Title != "T, one" || a.Text != "line one\nline \"two\"" || a.From != 2 || a.To != 3 || a.Verbatim {
		t.Errorf("first row: %+v", a)
	}
	if want := map[string]any{"year": json.Number("2024"), "zip": "01234", "draft": "false"}; fmt.Sprint(a.Metadata) != fmt.Sprint(want) || a.Metadata["draft"] != any("false") || a.Metadata["zip"] != any("01234") {
		t.Errorf("metadata of the first row: %#v", a.Metadata)
	}
	if b.From != 5 || b.To != 5 || b.Metadata["year"] != json.Number("-1.50e3") || b.Metadata["zip"] != any("1e400") || b.Metadata["draft"] != any("True") {
		t.Errorf("second row: %+v", b)
	}
	if recs[2].ID != "a" || recs[2].From != 6 {
		t.Errorf("an id that is there twice is the caller's to judge: %+v", recs[2])
	}
}

// TestTableRows: with Options.Rows all columns are metadata, also those of an id and a text, and a row needs neither.
func TestTableRows(t *testing.T) {
	var got []string
	for rec, err := range ReadStream(t.Context(), strings.NewReader("_id,text,score\na,,1\n,y,2\n"), "a.csv", Options{Rows: true}) {
		if err != nil || rec.ID+rec.Text != "" {
			t.Errorf("%+v, %v", rec, err)
		}
		got = append(got, fmt.Sprint(rec.Metadata))
	}
	if want := []string{"map[_id:a score:1]", "map[score:2 text:y]"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

func TestTableColumns(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        Options
		id, text string
	}{
		{"a.csv", "text\nx\n", Options{ID: "a.csv"}, "a.csv#1", "x"},
		{"a.csv", "a;b;text\n1,5;2;x\n", Options{ID: "f"}, "f#1", "x"},
		{"a.csv", "_id\ttext\n1\tx,\n", Options{}, "1", "x,"},
		{"a.tsv", "id\ttext\n1\t\"x\ty\"\n", Options{}, "1", "x\ty"},
		{"a.csv", "key,words,text\nk,w,t\n", Options{Columns: Columns{ID: "key", Text: "words"}}, "k", "w"},
		{"a.csv", ",page_content\n0,w\n", Options{ID: "f"}, "f#1", "w"},
		{"a.csv", "id,name\n1,Bob\n", Options{}, "1", ""},
		{"a.csv", "id,embedding\n1,\"[1, 2.5]\"\n", Options{}, "1", ""},
	} {
		recs, bad, err := filestest.ReadAll(t, c.name, c.in, c.o)
		if err != nil || len(bad) > 0 || len(recs) != 1 || recs[0].ID != c.id || recs[0].Text != c.text {
			t.Errorf("%q: %+v, %q, %v; want id %q, text %q", c.in, recs, bad, err, c.id, c.text)
		}
	}
	recs, _, err := filestest.ReadAll(t, "a.csv", "id,text,vector\n1,x,[1 -2.5e0]\n2,x,\n3,x,mosquito\n", Options{})
	if err != nil || !slices.Equal(recs[0].Vector, []float32{1, -2.5}) || recs[1].Vector != nil || recs[2].Metadata["vector"] != "mosquito" {
		t.Errorf("vectors: %+v, %v", recs, err)
	}
}

func TestBadTables(t *testing.T) {
	for in, want := range map[string]string{
		"":              "no text",
		"\n\n":          "no text",
		"a,b\n1,2\n":    "name the text column, one of a, b",
		"te\xffxt,b\n":  "name the text column",
		"\"text,b\n1,2": "the header",
		"text\n\"" + strings.Repeat("x\n", 1<<17): "row 1 is longer than 100 bytes",
	} {
		if recs, _, err := filestest.ReadAll(t, "a.csv", in, Options{ID: "f", MaxBytes: 100}); err == nil || !strings.Contains(err.Error(), want) || len(recs) > 0 {
			t.Errorf("%.40q: %v, %v; want %q", in, recs, err, want)
		}
	}
	for in, want := range map[string]string{
		"1,x,3":                          "2: the row has 3 fields and the header 2",
		"1," + strings.Repeat("x", 5000): "2: the record is longer than 4096 bytes",
		"1,\"x\ny":                       "2: line 3, column",
		",x":                             "2: column \"id\" is empty",
		"1, ":                            "2: no text",
	} {
		recs, bad, err := filestest.ReadAll(t, "a.csv", "id,text\n"+in+"\n", Options{MaxBytes: 4096})
		if err != nil || len(bad) != 1 || !strings.HasPrefix(bad[0], want) || len(recs) > 0 {
			t.Errorf("%q: %v, %q, %v; want %q", in, recs, bad, err, want)
		}
	}
	recs, bad, err := filestest.ReadAll(t, "a.csv", "id,text\n1,\"x\ny\" z\n2,ok\n3\n4,ok\n", Options{})
	if err != nil || len(recs) != 2 || len(bad) != 2 {
		t.Errorf("rows behind bad ones: %+v, %q, %v", recs, bad, err)
	}
	var warned []Warning
	recs, bad, err = filestest.ReadAll(t, "a.csv", "text,id,n\none,1\ntwo,2,2\nthree,3\n", Options{Warn: func(w Warning) { warned = append(warned, w) }})
	if err != nil || len(recs) != 3 || len(bad) > 0 || recs[0].ID != "1" || len(recs[2].Metadata) > 0 || len(warned) != 1 || warned[0].Line != 2 || !strings.HasPrefix(warned[0].Text, "2 rows") {
		t.Errorf("short rows: %+v, %q, %v, %v", recs, bad, warned, err)
	}
	if _, bad, _ := filestest.ReadAll(t, "a.csv", "id,text,vector\n1,x,[1 1e40]\n2,x,[1\n", Options{}); len(bad) != 2 || !strings.Contains(bad[0], "1e40") {
		t.Errorf("bad vectors: %q", bad)
	}
	_, _, err = filestest.ReadAll(t, "a.csv", "id,text\n1,x\n", Options{Columns: Columns{Text: "words"}})
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "the columns are id, text") {
		t.Errorf("a column that is not there: %v", err)
	}
}

// TestTableQuotes: a quote that is not doubled, or closed nowhere, costs no row, neither its own nor those behind it; a text of several
// lines stays one.
func TestTableQuotes(t *testing.T) {
	for text, want := range map[string]string{
		`5" disk`: `5" disk`, `="001"`: `="001"`, `say "hi"`: `say "hi"`, `"say "hi" to, me"`: `say "hi" to, me`, `"x"y`: `"x"y`, `"open`: `"open`, `"`: `"`, `"""`: `"""`, "\"two\n\"\"lines\"\"\"": "two\n\"lines\"",
	} {
		here := func(row int) bool { // two such quotes are a text of many lines
			return row == 7 || row%500 == 7 && strings.Trim(text, `"`) != ""
		}
		for _, x := range []struct{ name, comma string }{{"a.csv", ","}, {"a.csv", ";"}, {"a.csv", "|"}, {"a.csv", "\t"}, {"a.tsv", "\t"}} {
			if x.comma != "," && strings.Contains(text, ",") {
				continue
			}
			for _, end := range []string{"\n", "\r\n", "\r"} {
				var b strings.Builder
				b.WriteString("id" + x.comma + "text" + x.comma + "n" + end)
				for i := range 4 * 500 { // more than the reader reads ahead
					cell := "word"
					if here(i) {
						cell = strings.ReplaceAll(text, "\n", end)
					}
					fmt.Fprintf(&b, "%d%s%s%s%d%s", i, x.comma, cell, x.comma, i, end)
				}
				warned := 0
				recs, bad, err := filestest.ReadAll(t, x.name, b.String(), Options{Warn: func(Warning) { warned++ }})
				if err != nil || len(bad) > 0 || len(recs) != 4*500 {
					t.Errorf("%q with %q in %s, lines end with %q: %d rows, %.200q, %v", text, x.comma, x.name, end, len(recs), bad, err)
					continue
				}
				more := 0 // lines of texts above
				for i, r := range recs {
					w, lines := "word", 0
					if here(i) {
						w, lines = want, strings.Count(want, "\n")
					}
					if r.ID != fmt.Sprint(i) || r.Text != w || r.From != i+2+more || r.To != r.From+lines {
						t.Fatalf("%q with %q in %s, lines end with %q: row %d is %+v", text, x.comma, x.name, end, i, r)
					}
					more += lines
				}
				if sound := strings.Contains(text, "two"); sound != (warned == 0) {
					t.Errorf("%q: %d warnings", text, warned)
				}
			}
		}
	}
	// A column is one of texts by a cell behind such a quote, too.
	recs, _, err := filestest.ReadAll(t, "a.csv", "id,text,n\n1,\"open,7\n2,x,8\n3,y,many\n", Options{})
	if err != nil || len(recs) != 3 || recs[0].Metadata["n"] != "7" || recs[1].Metadata["n"] != "8" || recs[2].Metadata["n"] != "many" {
		t.Errorf("%+v, %v", recs, err)
	}
	// A text of several lines with such a quote is no rows of their own.
	recs, bad, err := filestest.ReadAll(t, "a.csv", "id,text\n1,\"He came in\nand, said \"hello\" to all\"\n2,x\n", Options{})
	if err != nil || len(bad) != 1 || len(recs) != 1 || recs[0].ID != "2" {
		t.Errorf("%+v, %q, %v", recs, bad, err)
	}
	// The quote is closed far behind, where a row may not reach.
	recs, bad, err = filestest.ReadAll(t, "a.csv", "id,text\n1,\"open\n"+strings.Repeat("2,x\n", 1<<14)+"3,\"y\"\n", Options{MaxBytes: 100})
	if err != nil || len(bad) > 0 || len(recs) != 1<<14+2 || recs[0].Text != "open" || recs[1<<14+1].From != 1<<14+3 {
		t.Errorf("%d rows, %q, %v", len(recs), bad, err)
	}
}

// TestTableSeparators: a first line names the separator, as Excel has it.
func TestTableSeparators(t *testing.T) {
	for _, c := range []string{";", ",", "|", "\t", "#"} {
		recs, bad, err := filestest.ReadAll(t, "a.csv", "sep="+c+"\r\nid"+c+"text"+c+"n\r\n1"+c+"x"+c+"7\r\n", Options{})
		if err != nil || len(bad) > 0 || len(recs) != 1 || recs[0].ID != "1" || recs[0].Text != "x" || recs[0].From != 3 || fmt.Sprint(recs[0].Metadata) != "map[n:7]" || recs[0].Metadata["n"] != json.Number("7") {
			t.Errorf("%q: %+v, %q, %v", c, recs, bad, err)
		}
	}
}

// TestTableDialects: what only looks like another separator or line end is none.
func TestTableDialects(t *testing.T) {
	long := "text" + strings.Repeat("x", 4096-1-len("id,text"))
	for in, want := range map[string]string{
		"\n\nsep=;\nid;text\n1;a,b\n":           "5-5 1 a,b",
		"id,name,text,a|b|c|d|e\n1,n,words,x\n": "2-2 1 words",
		"id,text;more;of;it\n1,x\n":             "2-2 1 text;more;of;it: x",
		"id;text\n1;a, b, c\n":                  "2-2 1 a, b, c",
		"id,text;a;b\n":                         "",
		"id," + long + "\r\n1,\"x\r\ny\"\r\n":   "2-3 1 " + long + ": x\ny", // the reader looks at all but the last byte of the first line's end
	} {
		recs, bad, err := filestest.ReadAll(t, "a.csv", in, Options{})
		got := ""
		for _, r := range recs {
			got += fmt.Sprintf("%d-%d %s %s", r.From, r.To, r.ID, r.Text)
		}
		if len(bad) > 0 || err != nil && want != "" || got != want {
			t.Errorf("%.40q: %.80q, %q, %v; want %.80q", in, got, bad, err, want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	filestest.Fuzz(f, "csv", "id,text\n1,\"a\nb\"\n", "a;text\n\"", "text,vector\nx,[1 2]\n", "text,vector\nx,inf\ny,[1 -Infinity]\nz,nan\n", "\xff\xfei\x00d\x00")
}
func FuzzTSV(f *testing.F) { filestest.Fuzz(f, "tsv", "id\ttext\n1\tx\n") }
