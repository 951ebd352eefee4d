package files_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// TestJSONWithComments: comments and commas after last values, anywhere between the parts of JSON, change no text and no line.
func TestJSONWithComments(t *testing.T) {
	parts := []string{"[", "{", `"id"`, ":", `"a"`, ",", `"text"`, ":", `"walrus // \"no\" comment, /* nor this, */ ,]\\"`, "\n}", ",", "{", `"text"`, ":", `"otter"`, "}", "\n]"}
	fill := []string{"", " ", "// a comment, \"quoted\"\n", "/* one, /, * */", "\n", "/***/", "//\n"}
	rng := rand.New(rand.NewPCG(trial.Seed(t), 1))
	for range trial.Rounds(t, 200, 5000) {
		var b strings.Builder
		line := 0
		for _, p := range parts {
			if (p == "\n}" || p == "\n]") && rng.IntN(2) == 0 {
				b.WriteString("," + fill[rng.IntN(len(fill))])
			}
			if p == "{" && strings.Contains(b.String(), "walrus") {
				b.WriteString(fill[rng.IntN(len(fill))])
				line = 1 + strings.Count(b.String(), "\n")
			}
			b.WriteString(p + fill[rng.IntN(len(fill))])
		}
		in := strings.Repeat(" ", (32<<10)-rng.IntN(b.Len())) + b.String() // it is read in parts of 32 KiB
		recs, bad, err := filestest.ReadAll(t, "a.json", in, Options{ID: "f"})
		if err != nil || len(bad) > 0 || len(recs) != 2 || recs[0].Text != `walrus // "no" comment, /* nor this, */ ,]\` || recs[1].Text != "otter" || recs[1].From != line {
			t.Fatalf("%q: %+v, %v, %v; want the second on line %d", b.String(), recs, bad, err, line)
		}
	}
	for in, want := range map[string]error{
		`{"text":"a","n":NaNs}`: ErrMalformed, `{"text":"a","n":+Infinity}`: ErrMalformed, `{"text":"a","n":nan}`: ErrMalformed, `{"text":"a","n":--Infinity}`: ErrMalformed,
		`{"text":"a",,}`: ErrMalformed, `[1,,2]`: ErrMalformed, `{"text":"a"}/`: ErrMalformed, `{"text":/"a"}`: ErrMalformed,
		"// settings\n{\"compilerOptions\": {\"strict\": true,},}": ErrNoText,
	} {
		var got error
		for _, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), "a.json", Options{ID: "f"}) {
			got = errors.Join(got, err)
		}
		if !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

// TestNotNumbers: NaN and Infinity, which Python and pandas write, cost a record nothing but the value. In texts they are words.
func TestNotNumbers(t *testing.T) {
	for _, n := range []string{"NaN", "Infinity", "-Infinity"} {
		record := `{"id":"a","text":"NaN // -Infinity","n":` + n + `,"l":[1,` + n + `,-2e-3,{"x": ` + n + `}],"yes":true}`
		for name, in := range map[string]string{
			"a.jsonl": record + "\n" + `{"id":"b","text":"b","n":` + n + "}", "a.json": "[" + record + `,{"id":"b","text":"b","n":` + n + "\n}]",
		} {
			recs, bad, err := filestest.ReadAll(t, name, in, Options{})
			if err != nil || len(bad) > 0 || len(recs) != 2 || recs[0].Text != "NaN // -Infinity" || fmt.Sprint(recs[0].Metadata) != "map[l:[1 <nil> -2e-3 map[x:<nil>]] n:<nil> yes:true]" {
				t.Errorf("%s: %+v, %q, %v", in, recs, bad, err)
			}
		}
		notebook := `{"nbformat":4,"cells":[{"cell_type":"code","source":["x = NaN"],"outputs":[{"output_type":"display_data","data":{"a/b+json":{"y":[` + n + `,1]}}}]},{"cell_type":"markdown","source":"behind"}],"metadata":{"parameter":` + n + `}}`
		if got, warned := textOf(t, "a.ipynb", notebook); got != "x = NaN\n\nbehind" || len(warned) > 0 {
			t.Errorf("%s: %q, warned %q", notebook, got, warned)
		}
	}
}

// TestJSONLOfSeveralLines: JSON under a name of JSONL is read.
func TestJSONLOfSeveralLines(t *testing.T) {
	for _, in := range []string{`[{"id":"a","text":"one"},{"id":"b","text":"two"}]`, "\n[ {\"id\":\"a\",\"text\":\"one\"}, {\"id\":\"b\",\"text\":\"two\"} ]", "\n{ \n\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"b\",\"text\":\"two\"}", "[\n{\"id\":\"a\",\"text\":\"one\"},\n{\"id\":\"b\",\"text\":\"two\"}\n]", "{\n \"id\": \"a\",\n \"text\": \"one\"\n}\n{\r\n \"id\": \"b\",\n \"text\": \"two\"\n}\n"} {
		recs, bad, err := filestest.ReadAll(t, "a.jsonl", in, Options{})
		if err != nil || len(bad) > 0 || len(recs) != 2 || recs[0].Text != "one" || recs[1].ID != "b" {
			t.Errorf("%s: %+v, %q, %v", in, recs, bad, err)
		}
	}
}
