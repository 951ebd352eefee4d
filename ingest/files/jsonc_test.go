package files_test

import (
	"errors"
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
