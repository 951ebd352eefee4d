package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// TestWholeNumbers: an integer may be written as a float, as JSON Schema allows and as clients do whose numbers are all floats.
func TestWholeNumbers(t *testing.T) {
	type body struct {
		K    int              `json:"k"`
		List []int64          `json:"list"`
		In   struct{ N uint } `json:"in"`
	}
	for in, want := range map[string]string{
		`{"k":5.0}`: "{5 [] {0}}", `{"k":1e1,"list":[2.0, 3,-4.00],"in":{"n":5.0E0}}`: "{10 [2 3 -4] {5}}", `{"k":-0.0}`: "{0 [] {0}}",
		`{"k":5.5}`: "number 5.5 instead of an integer", `{"k":1e300}`: "number 1e300 instead of", `{"in":{"n":-2.0}}`: "number -2 instead of", `{"k":"5.0"}`: "string instead of an integer",
		`{"list":[` + strings.Repeat("1.0,", mostFloats) + `1.0]}`: "number 1.0 instead of",
	} {
		var got body
		err := decode([]byte(in), &got)
		if text := fmt.Sprint(got); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want %s", in, text, err, want)
		}
	}
}

// TestValuesOfPython: every route that takes a body says what to send in place of what Python's clients send: NaN and Infinity,
// which json.dumps writes, an object as a filter, and the token ids of LangChain's OpenAIEmbeddings.
func TestValuesOfPython(t *testing.T) {
	c := newClient(t, Options{Collections: &sets{t: t, all: map[string]engine.Database{}}})
	c.want(c.ask("PUT", "/v1/collections/notes", nil), 201, "")
	refused := func(remedy, method, path string, body any) {
		t.Helper()
		got := c.ask(method, path, body)
		if message, _ := got.at(t, "error", "message").(string); got.status != 400 || !strings.Contains(message, remedy) {
			t.Errorf("%s %s %v: %d %s, want %s", method, path, body, got.status, got.raw, remedy)
		}
	}
	for _, rt := range routes() {
		path := strings.NewReplacer("{name}", "notes", "{id...}", "a").Replace(rt.path)
		if rt.in == nil {
			continue
		}
		for _, number := range []string{"NaN", "Infinity", "-Infinity"} {
			field := map[bool]string{true: "metadata", false: "vector"}[rt.scope == ScopeWrite]
			body := `{"` + field + `": [1, ` + number + `]}`
			switch {
			case rt.lines != nil:
				body = `{"documents": [` + body + `]}`
			case strings.HasSuffix(path, "batch"):
				body = `{"searches": [` + body + `]}`
			case rt.encodes:
				body = `{"model": ` + number + `}`
			}
			refused("send null", rt.method, path, body)
			if rt.lines != nil {
				refused("send null", rt.method, path, lines(`{"id": "a", "text": "b", "metadata": {"n": `+number+`}}`))
			}
		}
	}
	for _, input := range []string{`[1, 2]`, `[[1, 2], [3]]`} {
		refused("check_embedding_ctx_length=False", "POST", "/v1/embeddings", `{"input": `+input+`}`)
	}
	refused("invalid character 'N'", "POST", "/v1/search", `{"query": Nothing}`)
	for path, body := range map[string]string{"search": `{"filter": {"a": 1}}`, "explain": `{"filter": []}`, "search/batch": `{"searches": [{"filter": {"a": 1}}]}`} {
		for _, prefix := range []string{"/v1/", "/v1/collections/notes/"} {
			refused(`a filter is a text such as lang = "go"`, "POST", prefix+path, body)
		}
	}
}
