package files_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// warnings reads a file all records of which must be good, and returns its warnings as "line: text".
func warnings(t *testing.T, name, in string, o Options) (recs []Record, warned []string) {
	t.Helper()
	o.Warn = func(w Warning) { warned = append(warned, fmt.Sprintf("%d: %s", w.Line, w.Text)) }
	recs, bad, err := filestest.ReadAll(t, name, in, o)
	if err != nil || len(bad) > 0 {
		t.Errorf("%s, %.60q: %q, %v", name, in, bad, err)
	}
	return recs, warned
}

// TestWarnings: what is wrong besides the text of a record is a warning with its line, and the text is there.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, in string
		o        Options
		ids      string // of the records
		metadata string // of the first, as JSON
		want     string // the beginning of the warning
	}{
		{"a.jsonl", "\n" + `{"_id":["a"],"text":"x"}`, Options{ID: "f"}, "f#1", "null", `2: field "_id" is neither`},
		{"a.jsonl", `{"_id":"a","title":["T"],"text":"x"}`, Options{}, "a", `{"title":["T"]}`, `1: field "title" is not a string`},
		{"a.jsonl", `{"_id":"a","text":"x","n":[{"m":-1e999},1]}`, Options{}, "a", `{"n":[{"m":"-1e999"},1]}`, `1: number -1e999 is out of range`},
		{"a.jsonl", `{"_id":"a","text":"x","k":1,"metadata":{"k":2,"l":3}}`, Options{}, "a", `{"k":1,"l":3}`, `1: field "k" is both in the document and in its metadata`},
		{"a.jsonl", `{"_id":"a","text":"x","vector":[1,1e39]}`, Options{DropVectors: true}, "a", "null", `1: field "vector": number 1e39 is out of range`},
		{"a.json", "[\n" + `{"id":{},"text":"x"}]`, Options{ID: "f"}, "f#1", "null", `2: field "id" is neither`},
		{"a.csv", "id,text\n1,x\n,y\n", Options{ID: "f"}, "1 f#2", "null", `3: column "id" is empty`},
		{"a.csv", "id,text,n,n\n1,x,2,3\n", Options{}, "1", `{"n":2,"n~2":3}`, `1: two columns are named "n"`},
		{"a.csv", "id,text,vector\n1,x,[1 1e40]\n", Options{DropVectors: true}, "1", "null", `2: column "vector"`},
		{"a.csv", "id,text\n1,x\n2,y\n1,z\n", Options{KeepRepeated: true}, "1 2 1~2", "null", `4: the id "1" was there before`},
		{"a.jsonl", strings.Repeat(`{"id":1,"text":"x"}`+"\n", 2) + `{"id":"1~2","text":"x"}`, Options{KeepRepeated: true}, "1 1~2 1~2~2", "null", `2: the id "1" was there before`},
		{"a.csv", "id,text\n1,x\x00\x00y\n", Options{}, "1", "null", `0: NUL bytes were left out (2)`},
	} {
		recs, warned := warnings(t, c.name, c.in, c.o)
		var ids []string
		for _, r := range recs {
			if ids = append(ids, r.ID); r.Text == "" {
				t.Errorf("%q: a record without its text: %+v", c.in, r)
			}
		}
		if strings.Join(ids, " ") != c.ids {
			t.Errorf("%q: ids %q, want %q", c.in, ids, c.ids)
			continue
		}
		if got, err := json.Marshal(recs[0].Metadata); err != nil || string(got) != c.metadata {
			t.Errorf("%q: metadata %s, %v; want %s", c.in, got, err, c.metadata)
		}
		if len(warned) == 0 || !strings.HasPrefix(warned[0], c.want) || len(warned) > 1 && c.ids != "1 1~2 1~2~2" {
			t.Errorf("%q: warned %q, want %q", c.in, warned, c.want)
		}
	}
	if recs, warned := warnings(t, "a.jsonl", `{"id":1,"title":1984,"text":"x"}`, Options{}); len(recs) != 1 || recs[0].Title != "1984" || len(warned) > 0 {
		t.Errorf("a title that is a number: %+v, %q", recs, warned)
	}
	_, warned := warnings(t, "a.csv", "id,text\n"+strings.Repeat("1,x\n", 50), Options{KeepRepeated: true})
	if len(warned) != 21 || warned[20] != "0: 29 more warnings of this file are not listed" {
		t.Errorf("many warnings: %q", warned)
	}
}

// TestColumnsHaveOneType: a column of a table is of numbers, or of true and false, or of text.
func TestColumnsHaveOneType(t *testing.T) {
	in := "id,text,sha,n,b,mix,gap\na,x,12e8,1,true,1,\nb,x,7f3a,-2.5,false,true,\nc,x,,,,,7\nd,x,a,b,c,d,e,f\n"
	recs, bad, err := filestest.ReadAll(t, "a.csv", in, Options{})
	if err != nil || len(recs) != 3 || len(bad) != 1 {
		t.Fatalf("%+v, %q, %v", recs, bad, err)
	}
	for i, want := range []string{
		`{"b":true,"mix":"1","n":1,"sha":"12e8"}`, `{"b":false,"mix":"true","n":-2.5,"sha":"7f3a"}`, `{"gap":7}`,
	} {
		if got, err := json.Marshal(recs[i].Metadata); err != nil || string(got) != want {
			t.Errorf("row %d: %s, %v; want %s", i+1, got, err, want)
		}
	}
}

// TestEncodings: a text is read in the encoding that it is in. One that is not certain is a warning.
func TestEncodings(t *testing.T) {
	wide := func(s string, order ...int) string { // the bytes of each UTF-16 or UTF-32 unit, by their place in big endian
		var b strings.Builder
		for _, r := range s {
			for _, at := range order {
				b.WriteByte(byte(r >> (8 * (len(order) - 1 - at))))
			}
		}
		return b.String()
	}
	latin := "Le café de la gare est fermé; les élèves déjeunent à l'école. Où sont passés les œufs?"
	cyrillic := "Съешь же ещё этих мягких французских булок, да выпей чаю. Завтра будет хорошая погода."
	japanese := "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
	for _, c := range []struct {
		name, in, want string
		warned         string // "" for no warning
	}{
		{"UTF-16LE", wide(latin, 1, 0), latin, ""},
		{"UTF-16BE", wide(cyrillic, 0, 1), cyrillic, ""},
		{"UTF-16LE of ideographs", wide(japanese+"\n", 1, 0), japanese + "\n", ""},
		{"UTF-32LE", wide(japanese, 3, 2, 1, 0), japanese, ""},
		{"UTF-32BE", wide(latin, 0, 1, 2, 3), latin, ""},
		{"UTF-32LE with a mark", "\xff\xfe\x00\x00" + wide(latin, 3, 2, 1, 0), latin, ""},
		{"UTF-32BE with a mark", "\x00\x00\xfe\xff" + wide(latin, 0, 1, 2, 3), latin, ""},
		{"a NUL in a log", "12:00 walrus started\n\x00\x00\x0012:01 done\n", "12:00 walrus started\n 12:01 done\n", "0: NUL bytes were left out (3)"},
		{"a NUL in a log of Latin-1", "le caf\xe9 \xe9t\xe9 pr\xe8s de la gare\x00\n", "le café été près de la gare \n", "0: "},
		{"a bad byte far into the file", strings.Repeat("größe\n", 20_000) + "\xff\n", strings.Repeat("größe\n", 20_000) + "\ufffd\n", "20001: "},
		{"a byte of UTF-8 that flipped", strings.Replace(cyrillic, "ж", "\xd0\x16", 1), strings.Replace(cyrillic, "ж", "\ufffd\x16", 1), "1: what is not in the encoding"},
		{"the end of UTF-8 is cut", cyrillic[:len(cyrillic)-2], cyrillic[:len(cyrillic)-3] + "\ufffd", "1: what is not in the encoding"},
		{"one word of Latin-1", "caf\xe9", "café", "0: not UTF-8"},
		{"a short text of Latin-1", "# \xc9nu\nLe caf\xe9 est ferm\xe9; walrus.\n", "# Énu\nLe café est fermé; walrus.\n", "0: not UTF-8"},
		{"Windows-1252", "It\x92s \x93walrus\x94 \x96 caf\xe9\n", "It’s “walrus” – café\n", "0: not UTF-8"},
		{"KOI8-R", encoded(t, "koi8-r", cyrillic), cyrillic, "?"},
		{"Windows-1251", encoded(t, "windows-1251", cyrillic), cyrillic, "?"},
		{"Shift JIS", encoded(t, "shift_jis", strings.Repeat(japanese, 4)), strings.Repeat(japanese, 4), "?"},
		{"EUC-JP", encoded(t, "euc-jp", strings.Repeat(japanese, 4)), strings.Repeat(japanese, 4), "?"},
		{"GB 18030", encoded(t, "gb18030", strings.Repeat("今天天气很好，我们去公园散步。", 8)), strings.Repeat("今天天气很好，我们去公园散步。", 8), "?"},
	} {
		for _, name := range []string{"a.txt", "a.md", "a.log", "a.py"} {
			recs, warned := textOf(t, name, c.in)
			if name == "a.py" {
				recs = strings.TrimPrefix(recs, "# a.py\n") // the title of source code
			}
			if recs != c.want {
				t.Errorf("%s in %s: %q, want %q", c.name, name, recs, c.want)
			}
			if c.warned != "?" && (len(warned) > 0) != (c.warned != "") || len(warned) > 0 && c.warned != "?" && !strings.HasPrefix(warned[0], c.warned) {
				t.Errorf("%s in %s: warned %q, want %q", c.name, name, warned, c.warned)
			}
		}
	}
}

// TestNoiseIsNotUTF16: one NUL byte among other damage does not make UTF-16 of the words before.
func TestNoiseIsNotUTF16(t *testing.T) {
	in := "<html><body><h1>Part</h1><p>mark0008z of the walrus that sleep\x99s\x89>o,0\xa07N\xe0z\xd2\xb7\x07!o\xc3Q\xc9\xc5\x1eR,\xc6\x88\xcb5\xe2\x00"
	for _, name := range []string{"a.txt", "a.html", "a.md", "a.log"} {
		if text, _ := textOf(t, name, in); !strings.Contains(text, "mark0008z of the walrus that sleep") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// textOf is the text of a file of one document, with the warnings.
func textOf(t *testing.T, name, in string) (text string, warned []string) {
	t.Helper()
	o := Options{Warn: func(w Warning) { warned = append(warned, fmt.Sprintf("%d: %s", w.Line, w.Text)) }}
	for rec, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), name, o) {
		if err != nil {
			t.Errorf("%s, %.40q: %v", name, in, err)
		}
		if text = rec.Text; rec.Title != "" {
			text = "# " + rec.Title + "\n" + text
		}
	}
	return text, warned
}

func encoded(t *testing.T, label, text string) string {
	t.Helper()
	e, err := htmlindex.Get(label)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEncodingsOfRecords: tables, JSON and pages are read in the encoding that they are in, far into the file, too.
func TestEncodingsOfRecords(t *testing.T) {
	far := strings.Repeat("the walrus sleeps on the ice. ", 5000)
	for name, in := range map[string]string{
		"a.csv":   "id,text\n1," + far + "\n2,le caf\xe9 de la gare\n",
		"a.jsonl": `{"id":1,"text":"` + far + `"}` + "\n" + `{"id":2,"text":"le caf` + "\xe9" + ` de la gare"}`,
		"a.json":  `[{"id":1,"text":"` + far + `"},{"id":2,"text":"le caf` + "\xe9" + ` de la gare"}]`,
		"a.html":  "<p>" + far + "</p><p>le caf\xe9 de la gare</p>",
		"b.html":  "<meta charset=utf-8><p>" + far + "</p><p>le caf\xe9 de la gare</p>",
		"c.html":  "<p>" + encoded(t, "windows-1251", "Вчера вечером мы долго гуляли по берегу реки, потом пошёл дождь. ") + "le cafe de la gare",
	} {
		recs, warned := warnings(t, name, in, Options{})
		if name == "c.html" {
			if len(recs) != 1 || !strings.Contains(recs[0].Text, "по берегу реки") || len(warned) > 1 {
				t.Errorf("%s: %+v, warned %q", name, recs, warned)
			}
			continue
		}
		if len(recs) == 0 || !strings.Contains(recs[len(recs)-1].Text, "le café de la gare") || len(warned) > 0 {
			t.Errorf("%s: %d records, warned %q", name, len(recs), warned)
		}
	}
}

// TestDamage: whatever happens to some bytes of a text, what stands before is read, and the damage is named or harmless.
func TestDamage(t *testing.T) {
	words := "Walruses rest on the ice. Größe und Straße, naïve façade. Слова на другом языке.\n"
	for _, kind := range []struct{ name, before, after string }{
		{"a.txt", "", ""}, {"a.md", "---\ntitle: T\n---\n\n", ""}, {"a.py", "# ", ""},
		{"a.html", "<meta charset=utf-8><p>", "</p>"}, {"a.csv", "id,text\n1,\"", "\"\n"}, {"a.jsonl", `{"id":1,"text":"`, "\"}"},
	} {
		good := kind.before + strings.Repeat(strings.ReplaceAll(words, "\n", map[bool]string{true: " ", false: "\n"}[kind.name == "a.jsonl"]), 20) + kind.after
		first := len(kind.before) + len("Walruses rest on the ice.")
		for at := first; at < len(good)-len(kind.after); at += 97 {
			for _, b := range []byte{0, 0xff, 0x80, good[at] ^ 1} {
				if b == '"' || b == '\\' || b == '<' || b < ' ' && kind.name == "a.jsonl" && b != 0 {
					continue // other texts
				}
				in := []byte(good)
				in[at] = b
				found, bad := false, 0
				o := Options{ID: "f", Warn: func(Warning) {}}
				for rec, err := range Read(t.Context(), strings.NewReader(string(in)), int64(len(in)), kind.name, o) {
					if err != nil {
						bad++
					}
					found = found || strings.Contains(rec.Text, "Walruses rest on the ice.")
				}
				if !found || bad > 0 {
					t.Fatalf("%s: byte %d became %#x: the text before it is found: %v; %d errors", kind.name, at, b, found, bad)
				}
			}
		}
	}
}
