package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// oddQueries are texts as people, clipboards and programs send them.
func oddQueries() []string {
	odd := []string{
		`"`, `""`, `"""`, `"unbalanced`, `unbalanced"`, `"a" "b`, `“curly”`, `“half`, `'single'`, "„low“", "«guillemets»", `"keys`, `keys"`, `"keys" "`, `-"`, `+"`, `-"keys`, `+"keys`,
		"-", "+", "*", ":", "--", "++", "**", "- -", "+ +", "+-*:", `-""`, `+""`, "title:", "title:*", `title:""`, "-title:", "+title:", "title:title:keys", "*keys", "ke*ys", "k*", "+*", "-*", "*:*", "keys:", ":keys",
		"--keys", "++keys", "+-keys", "-+keys", "-keys -doors -bees", "+keys +doors +bees +nothing", `+"" keys`, "keys -", "keys +", "- keys", "+ keys", "keys AND doors", "keys OR doors", "NOT keys", "(keys", "keys)", "((keys) doors)", "keys~2", "keys^3", "/keys/", "[a TO b]", "{!func}keys",
		"🔑", "🔑🚪", "👩🏽\u200d💻", "-🔑 keys", "+🔑", `"🔑"`, "❤\ufe0f", "🇩🇪", "\u200e", "\u200f\u202ekeys\u202c", "\u2066keys\u2069", "\ufeffkeys", "\u200b", "\u00ad", "ke\u00adys", "\u0301", "e\u0301tude", "ke\u0301ys", "\u1100\u1161\u11a8", "각", "물을", "é", "ß", "ς", "İ", "ı", "ŉ", "ﷺ", "ก", "กา", "က", "𝕜𝕖𝕪𝕤", "ＫＥＹＳ", "\U0010ffff", "\ue000",
		"\x00", "keys\x00doors", "\x00\x00", "\x1b[31mkeys", "keys\r\ndoors", "\t", "\v\f", "\u2028keys\u2029", "\u00a0", "\u3000keys", "\xff", "keys\xff", "\xc3", "\xed\xa0\x80", "the", "the the the", "a", "I", "IT", "-the", "+the", "\"the\"", "\"to be or not to be\"", "the*", "title:the",
		"1", "-1", "+1", "1,000", "1,0", ",", "1,000,", "1e999", "0x", "#", "C++", "C#", "F#", ".NET", "a=b", "=the", "=the=who", "=", "==", "=US", "a.b.c.d", "../../etc/passwd", "<script>", "' OR 1=1 --", "%s%n", "${jndi:x}", "\\", "\\\"keys\\\"", "keys?", "why?-keys", "?", "¿", "。", "、",
	}
	for _, s := range []string{"a", "é", "東", "🔑", "-x ", "+keys ", `"`, `"keys" `, "title:", "the ", "1,000,", "a-", "가를", "\u0301", "*", "-", "A.b", "=a"} {
		odd = append(odd, strings.Repeat(s, 60<<10/len(s)))
	}
	return odd
}

// TestOddQueries: no text is an error, unless it has nothing but white space; what it excludes does not come back, and
// what it requires is there; in each mode, with operators and without, and exactly as typed.
func TestOddQueries(t *testing.T) {
	t.Parallel()
	docs := []engine.Document{
		{ID: "keys", Title: "Keys", Text: "Rotate the signing keys. 🔑 The Who play for the US.", Metadata: map[string]any{"n": 1}},
		{ID: "doors", Text: "Doors open with keys, and 물을 1,000 times; étude, Straße, C++.", Metadata: map[string]any{"n": 2}},
		{ID: "bees", Title: "Bees\x00", Text: "Bees fly from flower to flower.", Metadata: map[string]any{"n": 3}},
		{ID: "none", Text: "To be or not to be."},
	}
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, docs)
	queries := oddQueries()
	if len(queries) < 170 {
		t.Fatalf("%d queries", len(queries))
	}
	for _, text := range queries {
		for i, mode := range rankedModes {
			q := engine.Query{Text: text, Mode: mode, Spans: true}
			if i == 0 {
				q.Boost, q.Sort, q.GroupBy = "field(n, 1)", "n desc", "n"
			}
			if testing.Short() && len(text) > 1000 && i > 0 {
				continue
			}
			for range 2 {
				res, err := e.Search(t.Context(), q)
				if err != nil {
					if errors.Is(err, engine.ErrInvalid) && strings.TrimSpace(text) == "" {
						continue
					}
					t.Fatalf("%.40q, %s, plain %t: %v", text, mode, q.Plain, err)
				}
				if q.Plain && len(res.Trace.Required)+len(res.Trace.Excluded) > 0 {
					t.Errorf("%.40q has operators though plain", text)
				}
				for n, h := range res.Hits {
					if n == 0 || len(text) < 1000 { // a long text takes long, whatever the hit
						x, err := e.Explain(t.Context(), q, h.ID)
						if err != nil || x.ID != h.ID {
							t.Fatalf("%.40q, %s: explaining %s: %v", text, mode, h.ID, err)
						}
					}
					for _, w := range res.Trace.Excluded {
						if s := strings.ToLower(h.Title + " " + h.Text); strings.Contains(s, strings.ToLower(strings.Trim(w, `"*`))) && !strings.HasPrefix(w, "title:") {
							t.Errorf("%.40q excludes %s and finds %s", text, w, h.ID)
						}
					}
				}
				q.Plain = true
			}
		}
	}
}

// TestExcludedNeverReturn: whatever else a query has, a document with an excluded word is no hit and no near-duplicate of
// one, in each mode, by any page, boost, group and examples.
func TestExcludedNeverReturn(t *testing.T) {
	t.Parallel()
	var docs []engine.Document
	for i := range 60 {
		docs = append(docs, engine.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprintf("Rotate the signing keys of unit%d for the Wi-Fi%s.", i%7, []string{"", " tomorrow", " today"}[i%3]), Metadata: map[string]any{"n": i, "lang": i % 4}})
	}
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, docs)
	bad := func(i int) bool { return i%3 == 1 || i%7 == 5 }
	for _, text := range []string{"-tomorrow -unit5", "keys -tomorrow -unit5", "the of -tomorrow -unit5", `"signing keys" -tomorrow -unit5`, "kesy -tomorrow -unit5", "sign* -tomorrow -unit5 -\"keys tomorrow\""} {
		for _, mode := range rankedModes {
			for _, q := range []engine.Query{{K: 60}, {K: 60, Boost: "5*field(n, 1)"}, {K: 60, Sort: "n"}, {K: 60, GroupBy: "lang", PerGroup: 9}, {K: 60, Collapse: true}, {K: 20, Offset: 7}, {K: 60, Like: []string{"d0"}}, {K: 60, PerChunk: true}, {K: 60, Exact: true}} {
				q.Text, q.Mode = text, mode
				hits := search(t, e, q).Hits
				if len(hits) == 0 && !(q.Exact && mode == engine.ModeLexical && strings.HasPrefix(text, "kesy")) { // which no document has
					t.Errorf("%+v finds nothing", q)
				}
				for _, h := range hits {
					for _, id := range slices.Concat([]string{h.ID}, h.Duplicates) {
						var i int
						if _, err := fmt.Sscanf(id, "d%d", &i); err != nil || bad(i) {
							t.Errorf("%+v finds %s, %v", q, id, err)
						}
					}
				}
			}
		}
	}
}
