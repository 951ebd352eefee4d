package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/problems"
)

func TestSearch(t *testing.T) {
	c := newClient(t, Options{})
	got := c.ask("POST", "/v1/search", `{"query": "rotate signing keys", "k": 2}`)
	c.want(got, 200, "")
	want, err := c.s.db.Search(t.Context(), engine.Query{Text: "rotate signing keys", K: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range want.Hits {
		if got.at(t, "hits", i, "id") != h.ID || got.at(t, "hits", i, "rank") != float64(h.Rank) || math.Abs(got.at(t, "hits", i, "score").(float64)-float64(h.Score)) > 1e-6 {
			t.Errorf("hit %d is %v, want %+v", i, got.at(t, "hits", i), h)
		}
		if p := got.at(t, "hits", i, "probability").(float64); p <= 0 || math.Abs(p-float64(h.Probability)) > 1e-6 {
			t.Errorf("hit %d is relevant with a probability of %v, want %v", i, p, h.Probability)
		}
	}
	if got.at(t, "hits", 0, "id") != "keys" || got.at(t, "hits", 0, "metadata", "year") != 2024.0 || got.at(t, "hits", 0, "title") != "Keys" || got.at(t, "mode") != "hybrid" {
		t.Error(got.raw)
	}

	got = c.ask("POST", "/v1/search", `{"query": "a year", "filter": "year < 2024"}`)
	if hits := got.at(t, "hits").([]any); len(hits) != 1 || got.at(t, "hits", 0, "id") != "backup" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search", `{"query": "keys", "offset": 1, "k": 1, "mode": "dense", "variant": "none"}`)
	if got.at(t, "hits", 0, "rank") != 2.0 || got.at(t, "variant") != "none" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search", `{"query": "keys -\"signing keys\" title:keys", "k": 9}`)
	if len(got.at(t, "hits").([]any)) != 0 || got.at(t, "required", 0) != "title:keys" || got.at(t, "excluded", 0) != `"signing keys"` {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search", `{"query": "keys -\"signing keys\"", "k": 9, "plain": true}`)
	if got.at(t, "hits", 0, "id") != "keys" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/explain", `{"query": "rotate -bees", "id": "keys"}`)
	if got.at(t, "excluded", 0) != "bees" {
		t.Error(got.raw)
	}
	got = c.ask("GET", "/v1/facets?field=year&limit=1", "")
	if got.at(t, "facets", 0, "count") != 1.0 || len(got.at(t, "facets").([]any)) != 1 || got.at(t, "field") != "year" {
		t.Error(got.raw)
	}
	got = c.ask("GET", "/v1/facets?field=year&filter=year%20%3E%3D%202024", "")
	if got.at(t, "facets", 0, "value") != 2024.0 || got.at(t, "total") != 1.0 {
		t.Error(got.raw)
	}
	for _, bad := range []string{"", "?field=id", "?field=year&limit=0", "?field=year&x=1", "?field=year&filter=year"} {
		if got = c.ask("GET", "/v1/facets"+bad, ""); got.status != 400 {
			t.Error(bad, got.status, got.raw)
		}
	}
	got = c.ask("POST", "/v1/search", `{"like": ["keys"], "unlike": ["docs/bees.md:1"], "k": 9}`)
	for i := range got.at(t, "hits").([]any) {
		if id := got.at(t, "hits", i, "id"); id == "keys" || id == "docs/bees.md" || i == 0 && id != "backup" {
			t.Errorf("hit %d is %v", i, id)
		}
	}
	if got = c.ask("POST", "/v1/explain", `{"like": ["keys"], "unlike": ["docs/bees.md:1"]}`); got.status != 200 || got.at(t, "rank") != 1.0 || got.at(t, "query") != "" {
		t.Errorf("explain of like: %s", got.raw)
	}
	if got = c.ask("POST", "/v1/search", `{"like": ["nope"]}`); got.status != 404 || !strings.Contains(got.raw, "nope") {
		t.Error(got.status, got.raw)
	}
	got = c.ask("POST", "/v1/search", `{"query": "keys", "sort": "year desc", "k": 9}`)
	if got.at(t, "hits", 0, "id") != "keys" || got.at(t, "hits", 1, "id") != "backup" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search", `{"query": "rotate signing keys", "boost": "100*field(year, 1) - 0.999*field(year, 1e-9)", "k": 9}`)
	if id := got.at(t, "hits", 0, "id"); id != "keys" && id != "backup" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search", `{"query": "keys", "group_by": "nope", "per_group": 2}`)
	if len(got.at(t, "hits").([]any)) != 2 {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/explain", `{"query": "keys", "id": "keys", "boost": "field(year, 2024)"}`)
	if terms := got.at(t, "terms").([]any); got.at(t, "terms", len(terms)-1, "name") != "field(year, 2024)" || got.at(t, "terms", len(terms)-1, "value") != 0.5 {
		t.Error(got.raw)
	}
	for bad, param := range map[string]string{`"boost": "field(year)"`: "boost", `"sort": "year up"`: "sort"} {
		got = c.ask("POST", "/v1/search", `{"query": "keys", `+bad+`}`)
		if c.want(got, 400, "invalid"); got.at(t, "error", "param") != param || !strings.Contains(got.raw, "character ") {
			t.Error(bad, got.raw)
		}
	}
	c.want(c.ask("POST", "/v1/search", `{"query": "keys", "per_group": 2}`), 400, "invalid")
	for _, odd := range []string{`"`, `"keys`, `-"keys`, "-", "+", "*", "title:", "-title:", "- -", "keys:", "🔑", "-🔑 keys", "\u200f\u202ekeys\u202c", "e\u0301tude", "\x00", "keys\x00doors", "the", "IT", "to be or not to be", "=the", "-keys", `-"signing keys"`,
		strings.Repeat("🔑", 15<<10), strings.Repeat("-x ", 20<<10), strings.Repeat("keys", 15<<10), strings.Repeat("\u0301", 30<<10)} {
		for _, mode := range []string{"hybrid", "dense", "lexical"} {
			body, err := json.Marshal(map[string]any{"query": odd, "mode": mode, "spans": true, "k": 9})
			if err != nil {
				t.Fatal(err)
			}
			got = c.ask("POST", "/v1/search", string(body))
			if got.status != 200 || strings.HasPrefix(odd, "-k") && strings.Contains(got.raw, `"id":"keys"`) {
				t.Errorf("%.20q, %s: %d, %.200s", odd, mode, got.status, got.raw)
			}
		}
	}
	got = c.ask("POST", "/v1/search", `{"query": "keys", "min_score": 100}`)
	if len(got.at(t, "hits").([]any)) != 0 {
		t.Error(got.raw)
	}
	d, err := c.s.db.Get(t.Context(), "docs/bees.md")
	if err != nil {
		t.Fatal(err)
	}
	got = c.ask("POST", "/v1/search", map[string]any{"vector": d.Vector, "k": 1})
	if got.at(t, "hits", 0, "id") != "docs/bees.md" {
		t.Error(got.raw)
	}
}

// What was searched for besides what was typed is told by every route.
func TestSearchRepairs(t *testing.T) {
	c := newClient(t, Options{})
	for _, x := range []struct{ body, want string }{
		{`{"query": "rotate sigining keys"}`, "rotate signing keys"},
		{`{"query": "rotate sigining keys", "mode": "lexical"}`, "rotate signing keys"},
		{`{"query": "rotate sigining keys", "mode": "dense"}`, "rotate signing keys"},
		{`{"query": "rotate sigining keys", "exact": true}`, ""},
		{`{"query": "rotate \"sigining\" keys"}`, ""},
		{`{"query": "rotate signing keys"}`, ""},
	} {
		for path, body := range map[string]string{"/v1/search": x.body, "/v1/explain": x.body, "/v1/search/batch": `{"searches": [` + x.body + `]}`} {
			got := c.ask("POST", path, body)
			c.want(got, 200, "")
			if tells := strings.Contains(got.raw, `"for":`); tells != (x.want != "") || tells && !strings.Contains(got.raw, `"for":"`+x.want+`"`) {
				t.Errorf("%s %s was searched for %q: %s", path, x.body, x.want, got.raw)
			}
		}
	}
}

// Words of other scripts, signs and function words are found as they are typed, also in a batch.
func TestSearchWordsAsTyped(t *testing.T) {
	c := newClient(t, Options{})
	c.want(c.ask("POST", "/v1/documents", `{"documents": [{"id": "cat", "text": "猫が寝ている 🚀"}, {"id": "air", "text": "CO₂ rose in the Straße."}, {"id": "band", "text": "The Who played."}]}`), 200, "")
	for query, want := range map[string]string{"猫": "cat", "🚀": "cat", "co2": "air", "strasse": "air", "the who": "band"} {
		body := fmt.Sprintf(`{"query": %q, "mode": "lexical", "k": 1}`, query)
		if got := c.ask("POST", "/v1/search", body); got.at(t, "hits", 0, "id") != want {
			t.Errorf("%s: %s", query, got.raw)
		}
		if got := c.ask("POST", "/v1/search/batch", `{"searches": [`+body+`]}`); got.at(t, "results", 0, "hits", 0, "id") != want {
			t.Errorf("%s in a batch: %s", query, got.raw)
		}
	}
}

// A query for places has all lines with a string, counted in the file where there is one, also in a batch.
func TestSearchPlaces(t *testing.T) {
	c := newClient(t, Options{})
	meta := map[string]any{"path": "src/a.txt", "root": "/", "kind": "text", "line": 11, "time": "2020-01-01T00:00:00Z"}
	c.want(c.ask("POST", "/v1/documents", map[string]any{"documents": []any{
		map[string]any{"id": "src/a.txt", "text": "parseURL(x)\nparseURLs\n parseURL", "metadata": meta}, map[string]any{"id": "b", "text": "none\nparseURL(x)"},
	}}), 200, "")
	for path, body := range map[string]string{"/v1/search": `%s`, "/v1/search/batch": `{"searches": [%s]}`} {
		got := c.ask("POST", path, fmt.Sprintf(body, `{"query": "parseURL", "places": true, "k": 5}`))
		c.want(got, 200, "")
		for _, want := range []string{`"id":"src/a.txt"`, `"places":[{"line":11,"text":"parseURL(x)"},{"line":13,"text":" parseURL"}]`, `"places":[{"line":2,"text":"parseURL(x)"}]`} {
			if !strings.Contains(got.raw, want) {
				t.Errorf("%s: %s has no %s", path, got.raw, want)
			}
		}
	}
	c.want(c.ask("POST", "/v1/search", `{"query": "parseURL", "places": true, "like": ["b"]}`), 400, "invalid")
}

// Spans come where they are asked for: of hits, of those of a batch, and of what is explained.
func TestSearchSpans(t *testing.T) {
	c := newClient(t, Options{})
	text := strings.Repeat("Nothing of that stands here.\n", 12) + "Turquoise lagoons shine.\n" + strings.Repeat("Nor here.\n", 12)
	c.want(c.ask("POST", "/v1/documents", map[string]any{"documents": []any{map[string]any{"id": "lagoon", "text": text}}}), 200, "")
	at := strings.Index(text, "Turquoise")
	want := map[string]any{"start": float64(at), "end": float64(at + len("Turquoise lagoons shine.")), "first_line": 13.0, "last_line": 13.0}
	for path, body := range map[string]string{
		"/v1/search": `{"query": "turquoise lagoons", "k": 1, "spans": true}`, "/v1/search/batch": `{"searches": [{"query": "turquoise lagoons", "k": 1, "spans": true}]}`,
		"/v1/explain": `{"query": "turquoise lagoons", "id": "lagoon", "spans": true}`,
	} {
		got := c.ask("POST", path, body)
		var span any
		switch path {
		case "/v1/search":
			span = got.at(t, "hits", 0, "span")
		case "/v1/explain":
			span = got.at(t, "span")
		default:
			span = got.at(t, "results", 0, "hits", 0, "span")
		}
		if !reflect.DeepEqual(span, want) {
			t.Errorf("%s: %v, want %v", path, span, want)
		}
		if got := c.ask("POST", path, strings.Replace(body, ", \"spans\": true", "", 1)); strings.Contains(got.raw, `"span"`) {
			t.Errorf("%s: a span that was not asked for", path)
		}
	}
	if got := c.ask("POST", "/v1/search", `{"query": "absent", "mode": "dense", "spans": true}`); strings.Contains(got.raw, `"span"`) {
		t.Errorf("a span of nothing: %s", got.raw)
	}
}

// Hits of source code tell the function or type that they lie in; statistics tell what hybrid searches rank for.
func TestSearchSymbol(t *testing.T) {
	c := newClient(t, Options{})
	var files []any
	for i := range 20 {
		metadata := map[string]any{"kind": "code", "language": "go", "path": "x"}
		if i%2 == 0 {
			metadata = map[string]any{"language": "go", "kind": "own", "_file": map[string]any{"kind": "code", "path": "x"}}
		}
		files = append(files, map[string]any{"id": fmt.Sprintf("zoo/feed%d.go", i), "text": "package zoo\n\n// Feed feeds the turquoise walrus.\nfunc (k *Keeper) Feed() {\n\tk.fish--\n}\n", "metadata": metadata})
	}
	if got := c.ask("GET", "/v1/stats", nil).at(t, "kind"); got != "text" {
		t.Errorf("kind %v before", got)
	}
	c.want(c.ask("POST", "/v1/documents", map[string]any{"documents": files}), 200, "")
	if got := c.ask("GET", "/v1/stats", nil).at(t, "kind"); got != "code" {
		t.Errorf("kind %v", got)
	}
	const q = `{"query": "turquoise walrus", "k": 1}`
	for what, got := range map[string]any{
		"search":  c.ask("POST", "/v1/search", q).at(t, "hits", 0, "symbol"),
		"batch":   c.ask("POST", "/v1/search/batch", `{"searches": [`+q+`]}`).at(t, "results", 0, "hits", 0, "symbol"),
		"explain": c.ask("POST", "/v1/explain", `{"query": "turquoise walrus", "id": "zoo/feed3.go"}`).at(t, "symbol"),
	} {
		if got != "Keeper.Feed" {
			t.Errorf("%s: symbol %v", what, got)
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	c := newClient(t, Options{})
	for _, x := range []struct {
		body   string
		status int
		code   string
	}{
		{``, 400, "invalid_json"},
		{`  `, 400, "invalid_json"},
		{`null`, 400, "invalid_json"},
		{`[]`, 400, "invalid"},
		{`{"query": "x"`, 400, "invalid_json"},
		{`{"query": "x"} {}`, 400, "invalid_json"},
		{"{\"query\": \"\xff\"}", 400, "invalid_json"},
		{`{"query": "x", "filter": ` + strings.Repeat("[", 200) + `}`, 400, "invalid_json"},
		{`{"query": "x", "nonsense": 1}`, 400, "invalid"},
		{`{"query": 3}`, 400, "invalid"},
		{`{"query": ""}`, 400, "invalid"},
		{`{"query": "  "}`, 400, "invalid"},
		{`{}`, 400, "invalid"},
		{`{"query": "x", "k": 0}`, 400, "invalid"},
		{`{"query": "x", "k": -1}`, 400, "invalid"},
		{`{"query": "x", "k": 1001}`, 400, "invalid"},
		{`{"query": "x", "k": 1e400}`, 400, "invalid"},
		{`{"query": "x", "k": 1.5}`, 400, "invalid"},
		{`{"query": "x", "offset": -1}`, 400, "invalid"},
		{`{"query": "x", "offset": 1000000000}`, 400, "invalid"},
		{`{"query": "x", "filter": "year >"}`, 400, "invalid_filter"},
		{`{"query": "x", "mode": "wild"}`, 400, "invalid"},
		{`{"query": "x", "variant": "wild"}`, 400, "invalid"},
		{`{"query": "x", "variant": "slr"}`, 409, "not_fitted"},
		{`{"query": "x", "fusion": "wild"}`, 400, "invalid"},
		{`{"query": "x", "min_score": 1e39}`, 400, "invalid"},
		{`{"vector": [1, 2]}`, 400, "invalid"},
		{`{"vector": []}`, 400, "invalid"},
		{`{"vector": [` + strings.TrimSuffix(strings.Repeat("0,", 64), ",") + `]}`, 400, "invalid"},
		{`{"vector": [1e400]}`, 400, "invalid"},
		{`{"vector": ["a"]}`, 400, "invalid"},
	} {
		got := c.ask("POST", "/v1/search", x.body)
		if got.status != x.status || got.code() != x.code {
			t.Errorf("%.80q: %d %s, want %d %s: %s", x.body, got.status, got.code(), x.status, x.code, got.raw)
		}
	}
	got := c.ask("POST", "/v1/search", `{"query": "x", "nonsense": 1}`)
	if got.at(t, "error", "param") != "nonsense" || !strings.Contains(got.raw, "openapi.json") {
		t.Error(got.raw)
	}
}

func TestSearchBatch(t *testing.T) {
	c := newClient(t, Options{})
	got := c.ask("POST", "/v1/search/batch", `{"searches": [{"query": "keys", "k": 1}, {"query": "flowers", "k": 1, "mode": "lexical"}]}`)
	if got.at(t, "results", 0, "hits", 0, "id") != "keys" || got.at(t, "results", 1, "hits", 0, "id") != "docs/bees.md" || got.at(t, "results", 1, "mode") != "lexical" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search/batch", `{"searches": [{"query": "keys"}, {"query": "x", "filter": "("}]}`)
	c.want(got, 400, "invalid_filter")
	if got.at(t, "error", "at") != 1.0 {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/search/batch", `{"searches": [{"query": "keys"}, {"query": ""}]}`)
	c.want(got, 400, "invalid")
	if got.at(t, "error", "at") != 1.0 {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/search/batch", `{"searches": []}`), 400, "invalid")
	c.want(c.ask("POST", "/v1/search/batch", `{"searches": [`+strings.TrimSuffix(strings.Repeat(`{"query":"x","k":1000},`, 11), ",")+`]}`), 400, "invalid")
}

func TestExplain(t *testing.T) {
	c := newClient(t, Options{})
	got := c.ask("POST", "/v1/explain", `{"query": "signing keys", "id": "backup"}`)
	if got.at(t, "id") != "backup" || len(got.at(t, "terms").([]any)) == 0 {
		t.Error(got.raw)
	}
	hit := c.ask("POST", "/v1/search", `{"query": "signing keys", "k": 1}`)
	if got = c.ask("POST", "/v1/explain", `{"query": "signing keys", "id": "keys"}`); got.at(t, "probability") != hit.at(t, "hits", 0, "probability") || got.at(t, "probability") == nil {
		t.Errorf("%s, found with %s", got.raw, hit.raw)
	}
	if got = c.ask("POST", "/v1/explain", `{"query": "signing keys"}`); got.at(t, "id") != "keys" || got.at(t, "rank") != 1.0 {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/explain", `{"query": "keys", "id": "nope"}`), 404, "not_found")
	c.want(c.ask("POST", "/v1/explain", `{"query": "keys", "filter": "year = 1"}`), 404, "not_found")
}

func TestDocuments(t *testing.T) {
	c := newClient(t, Options{})
	got := c.ask("POST", "/v1/documents", `{"documents": [{"id": "a", "text": "an apple", "metadata": {"n": 12345678901234567890, "x": {"y": [1, null]}}}, {"id": "keys", "text": "other keys"}]}`)
	if got.at(t, "added") != 1.0 || got.at(t, "replaced") != 1.0 || got.at(t, "seq") != 2.0 {
		t.Error(got.raw)
	}
	got = c.ask("GET", "/v1/documents/a", nil)
	if !strings.Contains(got.raw, "12345678901234567890") || got.at(t, "text") != "an apple" || strings.Contains(got.raw, `"vector"`) {
		t.Error(got.raw)
	}
	if got = c.ask("GET", "/v1/documents/a?vector=true", nil); len(got.at(t, "vector").([]any)) != 64 {
		t.Error(got.raw)
	}
	for _, path := range []string{"/v1/documents/docs/bees.md", "/v1/documents/docs%2Fbees.md"} {
		if got = c.ask("GET", path, nil); got.at(t, "id") != "docs/bees.md" {
			t.Error(got.raw)
		}
	}
	odd := `../x y?&#%/"é` + "\x01"
	c.want(c.ask("PUT", "/v1/documents/"+url.PathEscape(odd), `{"title": "odd", "metadata": {"a": 1, "b": 2}}`), 200, "")
	c.want(c.ask("PATCH", "/v1/documents/"+url.PathEscape(odd), `{"metadata": {"a": null, "c": {"d": 3}}}`), 200, "")
	d, err := c.s.db.Get(t.Context(), odd)
	if err != nil || fmt.Sprint(d.Metadata) != "map[b:2 c:map[d:3]]" || d.Title != "odd" {
		t.Errorf("%+v, %v", d, err)
	}
	c.want(c.ask("DELETE", "/v1/documents/"+url.PathEscape(odd), nil), 200, "")
	c.want(c.ask("DELETE", "/v1/documents/"+url.PathEscape(odd), nil), 404, "not_found")
	c.want(c.ask("GET", "/v1/documents/"+url.PathEscape(odd), nil), 404, "not_found")
	c.want(c.ask("PATCH", "/v1/documents/nope", `{"metadata": {"a": 1}}`), 404, "not_found")
	c.want(c.ask("PATCH", "/v1/documents/a", `{}`), 400, "invalid")
	c.want(c.ask("PATCH", "/v1/documents/a", `{"text": "x"}`), 400, "invalid")
	for _, method := range []string{"PATCH", "PUT"} {
		if got := c.ask(method, "/v1/documents/a", `{"metadata": {"a": [{"b": 1e999}]}}`); got.code() != "invalid" || !strings.Contains(got.raw, "1e999 is out of range") {
			t.Errorf("%s: %s", method, got.raw)
		}
	}
	c.want(c.ask("GET", "/v1/documents/", nil), 400, "invalid")

	got = c.ask("GET", "/v1/documents?limit=1&offset=1&filter="+url.QueryEscape("year exists or n exists"), nil)
	if got.at(t, "total") != 2.0 || len(got.at(t, "documents").([]any)) != 1 || got.at(t, "documents", 0, "id") != "backup" || strings.Contains(got.raw, `"next_offset":1`) {
		t.Error(got.raw)
	}
	if got = c.ask("GET", "/v1/documents?limit=2", nil); got.at(t, "next_offset") != 2.0 || got.at(t, "total") != 4.0 {
		t.Error(got.raw)
	}
	if got = c.ask("GET", "/v1/documents?limit=2&after="+url.QueryEscape(got.at(t, "next_after").(string)), nil); !strings.Contains(got.raw, `"next_offset":null,"next_after":null`) || len(got.at(t, "documents").([]any)) != 2 {
		t.Error(got.raw)
	}
	if got = c.ask("GET", "/v1/documents?filter="+url.QueryEscape(`id = "a"`), nil); got.at(t, "total") != 1.0 || got.at(t, "documents", 0, "id") != "a" {
		t.Error(got.raw)
	}
	for _, q := range []string{"limit=0", "limit=x", "limit=100000", "offset=-1", "nonsense=1", "after=a&offset=0", "after=%00zz"} {
		c.want(c.ask("GET", "/v1/documents?"+q, nil), 400, "invalid")
	}
	c.want(c.ask("GET", "/v1/documents?filter=(", nil), 400, "invalid_filter")

	if got = c.ask("DELETE", "/v1/documents?id=a&id=nope&id=keys", nil); got.at(t, "deleted") != 2.0 {
		t.Error(got.raw)
	}
	if got = c.ask("DELETE", "/v1/documents?filter="+url.QueryEscape("year = 2023"), nil); got.at(t, "deleted") != 1.0 {
		t.Error(got.raw)
	}
	c.want(c.ask("DELETE", "/v1/documents", nil), 400, "invalid")
	c.want(c.ask("DELETE", "/v1/documents?id=a&filter=x", nil), 400, "invalid")
	if n, err := c.s.db.Count(t.Context(), engine.Filter{}); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// TestSearchPagesEnd: a page beyond the pool of a hybrid search is a fault of the client, with what to ask instead.
func TestSearchPagesEnd(t *testing.T) {
	c := newClient(t, Options{})
	var body strings.Builder
	for i := range 250 {
		fmt.Fprintf(&body, "{\"id\": \"p%d\", \"text\": \"keeper %d\"}\n", i, i)
	}
	c.want(c.ask("POST", "/v1/documents", lines(body.String())), 200, "")
	if got := c.ask("POST", "/v1/search", `{"query": "keeper 3", "k": 10, "offset": 95}`); got.status != 400 || got.code() != "invalid" || !strings.Contains(got.raw, "a larger k") {
		t.Error(got.raw)
	}
	for _, q := range []string{`{"query": "keeper 3", "k": 10, "offset": 90}`, `{"query": "keeper 3", "k": 110}`, `{"query": "keeper 3", "k": 10, "offset": 95, "mode": "lexical"}`} {
		c.want(c.ask("POST", "/v1/search", q), 200, "")
	}
}

// TestListPages reads all documents page by page, by either way to go on, and patches each as it is read: each is on one
// page, also those whose ids JSON cannot hold.
func TestListPages(t *testing.T) {
	c := newClient(t, Options{})
	want := 3
	for i := range 50 {
		c.want(c.ask("PUT", fmt.Sprintf("/v1/documents/d%02d", i), `{"text": "words"}`), 200, "")
		want++
	}
	for _, id := range []string{"d1%FF", "d1%FE", "%00", "z%FF%FF"} {
		c.want(c.ask("PUT", "/v1/documents/"+id, `{"text": "words"}`), 200, "")
		want++
	}
	for _, by := range []string{"after", "offset"} {
		seen := map[string]int{}
		for query, n := "", 0; ; n++ {
			got := c.ask("GET", "/v1/documents?limit=7"+query, nil)
			for _, d := range got.at(t, "documents").([]any) {
				id := d.(map[string]any)["id"].(string)
				seen[id]++
				if !strings.Contains(id, "\ufffd") {
					c.want(c.ask("PATCH", "/v1/documents/"+url.PathEscape(id), fmt.Sprintf(`{"metadata": {"done": "%s"}}`, by)), 200, "")
				}
			}
			if strings.Contains(got.raw, `"next_after":null`) {
				break
			}
			next := got.at(t, "next_"+by)
			if query = fmt.Sprintf("&%s=%s", by, url.QueryEscape(fmt.Sprint(next))); n > 20 {
				t.Fatalf("the list does not end: %s", got.raw)
			}
		}
		all := 0
		for id, n := range seen {
			if all += n; n != 1 && id != "d1\ufffd" {
				t.Errorf("by %s: %q is listed %d times", by, id, n)
			}
		}
		if all != want || seen["d1\ufffd"] != 2 {
			t.Errorf("by %s: %d listed of %d", by, all, want)
		}
	}
}

// TestParameters: of every route, a query string that cannot be read, that names a parameter of no route, or one twice, is refused
// before anything is done. A filter that was lost would concern all documents.
func TestParameters(t *testing.T) {
	c := newClient(t, Options{})
	ask := func(method, path, query string) (int, string) {
		r := httptest.NewRequest(method, "/", strings.NewReader(`{"query":"keys"}`))
		r.URL.Path, r.URL.RawQuery, r.Host = strings.NewReplacer("{name}", "shop", "{id...}", "keys").Replace(path), query, "localhost"
		r.Header.Set("Content-Type", kindJSON)
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, rt := range routes() {
		bad := []string{`filter=share="50%"`, `filter=tag="a;b"`, "filter=%ZZ", "id=keys&id=%", "nonsense=1"}
		for _, name := range rt.params {
			if name != "id" {
				bad = append(bad, name+"=1&"+name+"=1")
			}
		}
		for _, query := range bad {
			status, body := ask(rt.method, rt.path, query)
			if rt.strict && (status != 400 || !strings.Contains(body, `"code":"invalid"`)) {
				t.Errorf("%s %s?%s: %d %s", rt.method, rt.path, query, status, body)
			}
			if !rt.strict && strings.Contains(body, "query string") {
				t.Errorf("%s %s?%s: %d %s", rt.method, rt.path, query, status, body)
			}
		}
	}
	if n, err := c.s.db.Count(t.Context(), engine.Filter{}); n != len(corpus) || err != nil {
		t.Error(n, err)
	}
	for query, want := range map[string]int{"vector=true&data=false": 200, "vector=1": 400, "data=yes": 400} {
		if status, body := ask("GET", "/v1/documents/{id...}", query); status != want {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	if status, body := ask("GET", "/v1/models", "api-version=1"); status != 200 { // as clients of other APIs send it
		t.Errorf("%d %s", status, body)
	}
}

// TestWrongTypes: a value of a wrong type is named by its path in the body, without types of this program.
func TestWrongTypes(t *testing.T) {
	c := newClient(t, Options{})
	for _, x := range []struct{ method, path, body, want string }{
		{"POST", "/v1/search", `{"query":"x","k":"y"}`, "k"},
		{"POST", "/v1/explain", `{"query":"x","id":"y","k":"z"}`, "k"},
		{"POST", "/v1/documents", `{"documents":[{"id":"x","text":5}]}`, "documents.text"},
		{"PUT", "/v1/documents/x", `{"text":5}`, "text"},
	} {
		if got := c.ask(x.method, x.path, json.RawMessage(x.body)); got.at(t, "error", "param") != x.want {
			t.Errorf("%s: %v, want %s", x.body, got, x.want)
		}
	}
}

func TestDocumentsRefuse(t *testing.T) {
	c := newClient(t, Options{MaxTexts: 3})
	for _, x := range []struct {
		body string
		at   float64
		code string
	}{
		{`{"documents": []}`, -1, "invalid"},
		{`{"documents": [{"id":"a","text":"x"},{"id":"b","text":"x"},{"id":"c","text":"x"},{"id":"d","text":"x"}]}`, -1, "invalid"},
		{`{"documents": [{"id":"a","text":"x"},{"id":"","text":"x"}]}`, 1, "invalid"},
		{`{"documents": [{"id":"` + strings.Repeat("x", 1025) + `","text":"x"}]}`, 0, "invalid"},
		{`{"documents": [{"id":"a","text":" "}]}`, 0, "invalid"},
		{`{"documents": [{"id":"a","text":"x","metadata":{"n":1e400}}]}`, 0, "invalid"},
		{`{"documents": [{"id":"a","text":"x","vector":[1]}]}`, 0, "invalid"},
		{`{"documents": [{"id":"a","text":"x","metadata":[]}]}`, -1, "invalid"},
		{`{"documents": [{"_id":"a","text":"x"}]}`, -1, "invalid"},
		{`{"documents": {"id":"a"}}`, -1, "invalid"},
	} {
		got := c.ask("POST", "/v1/documents", x.body)
		if got.status != 400 || got.code() != x.code || x.at >= 0 && got.at(t, "error", "at") != x.at {
			t.Errorf("%.80q: %d %s: %s", x.body, got.status, got.code(), got.raw)
		}
	}
	if n, err := c.s.db.Count(t.Context(), engine.Filter{}); n != len(corpus) || err != nil {
		t.Error(n, err)
	}
}

func TestEmbeddings(t *testing.T) {
	c := newClient(t, Options{})
	enc := c.s.o.Encoder
	name := enc.Fingerprint().Model
	out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts("red apples", "green pears"), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	got := c.ask("POST", "/v1/embeddings", map[string]any{"input": []string{"red apples", "green pears"}, "model": strings.ToUpper(name), "user": "somebody"})
	for i, o := range out {
		for j, x := range o.Dense {
			if float32(got.at(t, "data", i, "embedding", j).(float64)) != x {
				t.Fatalf("number %d of text %d is %v, want %v", j, i, got.at(t, "data", i, "embedding", j), x)
			}
		}
	}
	if n := len(out[0].Tokens.IDs) + len(out[1].Tokens.IDs); got.at(t, "usage", "total_tokens") != float64(n) || n == 0 {
		t.Errorf("%d tokens: %s", n, got.raw)
	}
	if got.at(t, "object") != "list" || got.at(t, "model") != name || got.at(t, "data", 1, "index") != 1.0 {
		t.Error(got.raw)
	}

	got = c.ask("POST", "/v1/embeddings", map[string]any{"input": "red apples", "model": name, "encoding_format": "base64", "dimensions": 64, "input_type": "search_document"})
	raw, err := base64.StdEncoding.DecodeString(got.at(t, "data", 0, "embedding").(string))
	if err != nil || len(raw) != 4*64 {
		t.Fatal(len(raw), err)
	}
	for j, x := range out[0].Dense {
		if math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:])) != x {
			t.Fatalf("number %d is not %v", j, x)
		}
	}

	// A variant modulates queries, and leaves passages as they are.
	want, trace, err := c.s.db.Vector(t.Context(), engine.Query{Text: "signing keys", Variant: "rlr"})
	if err != nil || trace.Turned > 0.9999 {
		t.Fatal(trace.Turned, err)
	}
	got = c.ask("POST", "/v1/embeddings", map[string]any{"input": "signing keys", "model": name + "+RLR"})
	for j, x := range want {
		if math.Abs(got.at(t, "data", 0, "embedding", j).(float64)-float64(x)) > 1e-6 {
			t.Fatalf("number %d is %v, want %v", j, got.at(t, "data", 0, "embedding", j), x)
		}
	}
	if got.at(t, "model") != name+"+rlr" {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/embeddings", map[string]any{"input": "red apples", "model": name + "+rlr", "input_type": "passage"})
	if float32(got.at(t, "data", 0, "embedding", 0).(float64)) != out[0].Dense[0] {
		t.Error(got.raw)
	}

	got = c.ask("POST", "/v1/embeddings", map[string]any{"input": strings.Repeat("word ", 2000), "model": name})
	if got.at(t, "data", 0, "truncated_tokens").(float64) < 1000 {
		t.Errorf("%.300s", got.raw)
	}
	all := c.ask("GET", "/v1/models", nil)
	if all.at(t, "data", 0, "id") != name {
		t.Error(all.raw)
	}
	for i := range all.at(t, "data").([]any) {
		listed := all.at(t, "data", i).(map[string]any)
		if got = c.ask("GET", "/v1/models/"+strings.ToUpper(listed["id"].(string)), nil); !reflect.DeepEqual(got.at(t), any(listed)) {
			t.Errorf("%s, listed as %v", got.raw, listed)
		}
	}
	c.want(c.ask("GET", "/v1/models/"+name+"+slr", nil), 404, "model_not_found") // of no fit
	c.want(c.ask("GET", "/v1/models/org%2Fname", nil), 404, "model_not_found")
}

func TestEmbeddingsRefuse(t *testing.T) {
	c := newClient(t, Options{MaxTexts: 3})
	name := c.s.o.Encoder.Fingerprint().Model
	for body, want := range map[string]string{
		`{"model": "M", "input": [1, 2]}`:                                   "400 invalid input",
		`{"model": "M", "input": [[1, 2]]}`:                                 "400 invalid input",
		`{"model": "M", "input": {"a": 1}}`:                                 "400 invalid input",
		`{"model": "M", "input": null}`:                                     "400 invalid input",
		`{"model": "M"}`:                                                    "400 invalid input",
		`{"model": "M", "input": []}`:                                       "400 invalid input",
		`{"model": "M", "input": ""}`:                                       "400 invalid input[0]",
		`{"model": "M", "input": ["a", " "]}`:                               "400 invalid input[1]",
		`{"model": "M", "input": ["a", "b", "c", "d"]}`:                     "400 invalid input",
		`{"model": "M", "input": ["a", 1]}`:                                 "400 invalid input",
		`{"model": "text-embedding-3-small", "input": "a"}`:                 "404 model_not_found model",
		`{"model": "M-large", "input": "a"}`:                                "404 model_not_found model",
		`{"model": "M+", "input": "a"}`:                                     "404 model_not_found model",
		`{"model": "M+nonsense", "input": "a"}`:                             "400 invalid ",
		`{"model": "M+slr", "input": "a"}`:                                  "409 not_fitted ",
		`{"model": "M", "input": "a", "dimensions": 32}`:                    "400 invalid dimensions",
		`{"model": "M", "input": "a", "encoding_format": "hex"}`:            "400 invalid encoding_format",
		`{"model": "M", "input": "a", "input_type": "classification"}`:      "400 invalid input_type",
		`{"model": "M", "input": "a", "input_type": 3}`:                     "400 invalid input_type",
		`{"model": "M", "input": "a", "dimensions": "all of them, please"}`: "400 invalid dimensions",
	} {
		got := c.ask("POST", "/v1/embeddings", strings.Replace(body, `"M`, `"`+name, 1))
		param, _ := got.at(t, "error").(map[string]any)["param"].(string)
		if s := fmt.Sprintf("%d %s %s", got.status, got.code(), param); s != want {
			t.Errorf("%s: %s, want %s: %s", body, s, want, got.raw)
		}
	}
	got := c.ask("POST", "/v1/embeddings", `{"model": "x", "input": "a"}`)
	if got.at(t, "error", "type") != "not_found_error" {
		t.Error(got.raw)
	}
}

func TestWithoutEncoder(t *testing.T) {
	db := database(t, nil, engine.Options{Dim: 3})
	c := clientOf(t, db, Options{})
	c.want(c.ask("POST", "/v1/embeddings", `{"input": "a", "model": "m"}`), 501, "no_encoder")
	c.want(c.ask("POST", "/v1/rerank", `{"query": "a", "documents": ["b"]}`), 501, "no_encoder")
	c.want(c.ask("POST", "/v1/documents", `{"documents": [{"id": "a", "text": "apples", "vector": [1, 0, 0]}]}`), 200, "")
	if got := c.ask("POST", "/v1/search", `{"vector": [1, 0, 0.1]}`); got.at(t, "hits", 0, "id") != "a" {
		t.Error(got.raw)
	}
	if got := c.ask("POST", "/v1/search", `{"query": "apples", "mode": "lexical"}`); got.at(t, "hits", 0, "id") != "a" {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/search", `{"query": "apples"}`), 400, "invalid")
	if got := c.ask("GET", "/v1/models", nil); len(got.at(t, "data").([]any)) != 0 {
		t.Error(got.raw)
	}
	c.want(c.ask("GET", "/v1/models/m", nil), 501, "no_encoder")
}

func TestRerank(t *testing.T) {
	c := newClient(t, Options{})
	docs := []any{"an unrelated line on bread", map[string]any{"title": "Keys", "text": "rotate the signing keys", "more": 1}, "signing the keys", "rotate the signing keys now"}
	got := c.ask("POST", "/v1/rerank", map[string]any{"query": "rotate the signing keys", "documents": docs, "return_documents": true, "max_chunks_per_doc": 3})
	second := c.ask("POST", "/v2/rerank", map[string]any{"query": "rotate the signing keys", "documents": docs, "max_tokens_per_doc": 4096})
	if len(second.at(t, "results").([]any)) != 4 || second.at(t, "results", 3, "index") != 0.0 || second.at(t, "model") != got.at(t, "model") {
		t.Errorf("%s\n%s", second.raw, got.raw)
	}
	results := got.at(t, "results").([]any)
	if len(results) != 4 || got.at(t, "results", 3, "index") != 0.0 {
		t.Fatal(got.raw)
	}
	enc := c.s.o.Encoder
	query, _, err := c.s.db.Vector(t.Context(), engine.Query{Text: "rotate the signing keys"})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"an unrelated line on bread", "Keys rotate the signing keys", "signing the keys", "rotate the signing keys now"}
	out, err := enc.Encode(t.Context(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	level := 0.0
	for _, n := range c.s.noise.vectors {
		level += metric.Cosine(query, n) / float64(len(noiseTexts))
	}
	last := 2.0
	for i := range results {
		index := int(got.at(t, "results", i, "index").(float64))
		near, score := got.at(t, "results", i, "cosine").(float64), got.at(t, "results", i, "relevance_score").(float64)
		if want := metric.Cosine(query, out[index].Dense); math.Abs(near-want) > 1e-6 || near > last {
			t.Errorf("result %d has the cosine %v, want %v", i, near, want)
		}
		if want := max(0, (near-max(level, 0))/(1-max(level, 0))); math.Abs(score-want) > 1e-6 {
			t.Errorf("result %d has the score %v, want %v", i, score, want)
		}
		last = near
	}
	if got.at(t, "results", 0, "document", "text") == "" || !slices.Contains([]any{1.0, 3.0}, got.at(t, "results", 0, "index")) {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/rerank", map[string]any{"query": "rotate", "documents": docs, "top_n": 2, "model": enc.Fingerprint().Model + "+none"})
	if len(got.at(t, "results").([]any)) != 2 || strings.Contains(got.raw, `"document"`) || got.at(t, "model") != enc.Fingerprint().Model {
		t.Error(got.raw)
	}
	for _, body := range []string{
		`{"query": "", "documents": ["a"]}`, `{"query": "a", "documents": []}`, `{"query": "a"}`, `{"query": "a", "documents": [""]}`, `{"query": "a", "documents": [3]}`,
		`{"query": "a", "documents": ["b"], "top_n": 0}`, `{"query": "a", "documents": [{"text": 3}]}`, `{"query": "a", "documents": "b"}`,
	} {
		c.want(c.ask("POST", "/v1/rerank", body), 400, "invalid")
	}
	c.want(c.ask("POST", "/v1/rerank", `{"query": "a", "documents": ["b"], "model": "rerank-v3"}`), 404, "model_not_found")
}

func TestCollections(t *testing.T) {
	c := newClient(t, Options{Collections: &sets{t: t, all: map[string]engine.Database{}}})
	c.want(c.ask("POST", "/v1/collections/notes/search", `{"query": "keys"}`), 404, "not_found")
	c.want(c.ask("PUT", "/v1/collections/notes", nil), 201, "")
	c.want(c.ask("PUT", "/v1/collections/notes", nil), 409, "exists")
	c.want(c.ask("POST", "/v1/collections/notes/documents", `{"documents": [{"id": "n", "text": "a note"}]}`), 200, "")
	c.want(c.ask("POST", "/v1/collections/notes/documents", lines(`{"id": "m", "text": "a line"}`)), 200, "")
	if got := c.ask("POST", "/v1/collections/notes/search", `{"query": "note", "k": 1}`); got.at(t, "hits", 0, "id") != "n" {
		t.Error(got.raw)
	}
	c.want(c.ask("GET", "/v1/collections/notes/documents/n", nil), 200, "")
	c.want(c.ask("GET", "/v1/documents/n", nil), 404, "not_found")
	c.want(c.ask("GET", "/v1/collections/notes/stats", nil), 200, "")
	if got := c.ask("GET", "/v1/collections", nil); got.at(t, "collections", 0, "name") != "notes" {
		t.Error(got.raw)
	}
	c.want(c.ask("DELETE", "/v1/collections/notes", nil), 200, "")
	c.want(c.ask("DELETE", "/v1/collections/notes", nil), 404, "not_found")

	// One where lengths count.
	c.want(c.ask("PUT", "/v1/collections/products?metric=length", nil), 400, "invalid")
	c.want(c.ask("PUT", "/v1/collections/products?metrics=dot", nil), 400, "invalid")
	c.want(c.ask("PUT", "/v1/collections/products?metric=dot", nil), 201, "")
	if got := c.ask("GET", "/v1/collections/products/stats", nil); got.at(t, "metric") != "dot" || got.at(t, "default_variant") != "none" {
		t.Error(got.raw)
	}
	vector := func(x float64) []float64 { v := make([]float64, 64); v[3] = x; return v }
	c.want(c.ask("POST", "/v1/collections/products/documents", map[string]any{"documents": []any{
		map[string]any{"id": "short", "text": "a note", "vector": vector(2)}, map[string]any{"id": "long", "text": "a line", "vector": vector(30)},
	}}), 200, "")
	got := c.ask("POST", "/v1/collections/products/search", map[string]any{"vector": vector(5), "k": 2})
	if got.at(t, "hits", 0, "id") != "long" || got.at(t, "hits", 0, "score") != 150.0 || got.at(t, "hits", 0, "cosine") != 1.0 || got.at(t, "hits", 1, "score") != 10.0 {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/collections/products/explain", map[string]any{"query": "", "vector": vector(5), "id": "short"})
	if got.at(t, "terms", 0, "name") != "dot" || got.at(t, "terms", 0, "value") != 10.0 || got.at(t, "rank") != 2.0 {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/collections/products/search", `{"query": "note", "variant": "rlr"}`), 400, "invalid")

	c = newClient(t, Options{})
	c.want(c.ask("PUT", "/v1/collections/notes", nil), 404, "no_collections")
	c.want(c.ask("GET", "/v1/collections/notes/stats", nil), 404, "no_collections")
	c.want(c.ask("DELETE", "/v1/collections/notes", nil), 404, "no_collections")
	c.want(c.ask("GET", "/v1/collections", nil), 200, "")
}

func TestStatsAndHealth(t *testing.T) {
	c := newClient(t, Options{})
	got := c.ask("GET", "/v1/stats", nil)
	if got.at(t, "documents") != 3.0 || strings.Contains(got.at(t, "db").(string), "/") {
		t.Error(got.raw)
	}
	if got.at(t, "problems", "failed") != 0.0 || len(got.at(t, "problems", "first").([]any)) > 0 {
		t.Error(got.raw)
	}
	st, err := c.s.db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := problems.LeftOut{Binary: 1, BinaryExample: "b.log", Other: 2, Kinds: []problems.Extension{{Extension: ".docx", Files: 2, Example: "a.docx"}}}
	lacks := []problems.Problem{{State: problems.Failed, Path: "in/a.md", Line: 2, Reason: "why"}, {State: problems.Warned, Path: "b.md", Reason: "why"}, {State: problems.Stale, Path: "c.md", Documents: 1, Reason: "why"}}
	if err := problems.Write(st.Dir, "/home/me/notes", left, lacks); err != nil {
		t.Fatal(err)
	}
	got = c.ask("GET", "/v1/stats", nil)
	c.want(got, 200, "")
	if got.at(t, "problems", "failed") != 1.0 || got.at(t, "problems", "first", 0, "path") != "in/a.md" || got.at(t, "problems", "first", 0, "source") != "notes" ||
		got.at(t, "problems", "left_out", "kinds", 0, "example") != "a.docx" || strings.Contains(got.raw, "/home/me") {
		t.Error(got.raw)
	}
	c.want(c.ask("GET", "/healthz", nil), 200, "")
	c.want(c.ask("GET", "/readyz", nil), 200, "")
	c.s.Drain()
	c.s.Drain()
	got = c.ask("GET", "/readyz", nil)
	c.want(got, 503, "closing")
	if got.header.Get("Retry-After") == "" {
		t.Error(got.header)
	}
	c.want(c.ask("GET", "/healthz", nil), 200, "")
}
