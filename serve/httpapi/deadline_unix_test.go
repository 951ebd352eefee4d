//go:build unix

package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/serve/mcp"
)

// TestDeadlines sends requests of 4 MB that are hard to read, to cut, to count or to answer, and ends each after 200 ms:
// the client goes, or the server's own time for a request ends. The handler ends within 50 ms after that, or 150 ms on a
// busy machine. The long form sends all and also ends them after 5 ms; the short form sends some.
func TestDeadlines(t *testing.T) {
	const size, goal = 4 << 20, 50 * time.Millisecond
	most, deadlines := time.Second, []time.Duration{200 * time.Millisecond} // other tests run in this process
	if trial.Long() {
		most, deadlines = 150*time.Millisecond, []time.Duration{5 * time.Millisecond, 200 * time.Millisecond}
	} else {
		t.Parallel()
	}
	enc := encoder.NewHash(64)
	db, err := engine.Open(t.Context(), "", enc, engine.Options{InMemory: true, TokenStates: engine.TokenStatesOn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	texts := trial.HardTexts(size)
	var docs []engine.Document
	for kind, text := range texts {
		if !trial.Long() {
			text = text[:size/64/6*6]
		} else if kind == "of one letter" || kind == "of new lines" || kind == "of ideographs" { // many chunks, which take long to store
			text = text[:size/8/6*6]
		}
		docs = append(docs, engine.Document{ID: kind, Text: text, Metadata: map[string]any{"s": "x"}})
	}
	for i := range 200 {
		docs = append(docs, engine.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprintf("apples and pears number %d w%d", i, i%7), Metadata: map[string]any{"n": i, "s": strings.Repeat("x", 100)}})
	}
	if _, err := db.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	type request struct {
		method, path, kind string
		body               []byte
	}
	requests := map[string]request{}
	add := func(name, method, path string, body any) {
		r := request{method: method, path: path, kind: kindJSON}
		switch body := body.(type) {
		case nil:
		case lines:
			r.kind, r.body = kindNDJSON, []byte(body)
		default:
			raw, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			r.body = raw
		}
		requests[name] = r
	}
	type object = map[string]any
	document := func(i int) object { return object{"id": fmt.Sprint("many", i), "text": "some words of many"} }
	var bulk strings.Builder
	for i := range size / 50 {
		raw, err := json.Marshal(document(i))
		if err != nil {
			t.Fatal(err)
		}
		bulk.Write(append(raw, '\n'))
	}
	some := func(make func(i int) any) (all []any) {
		for i := range defaultTexts {
			all = append(all, make(i))
		}
		return all
	}
	values := make([]any, size/25)
	fields := object{}
	var in strings.Builder
	for i := range values {
		values[i] = fmt.Sprintf("value of number %d", i)
		fields[fmt.Sprint("f", i)] = i
		fmt.Fprintf(&in, "%q, ", values[i])
	}
	expr := `s in [` + strings.TrimSuffix(in.String(), ", ") + `]`
	long := strings.Repeat("w77 apples a ", engine.MaxQuery/13)
	add("many documents", "POST", "/v1/documents", object{"documents": some(func(i int) any { return document(i) })})
	add("lines", "POST", "/v1/documents", lines(bulk.String()))
	add("much metadata", "PUT", "/v1/documents/x", object{"text": "x", "metadata": object{"list": values}})
	add("many fields", "PUT", "/v1/documents/x", object{"text": "x", "metadata": fields})
	add("patch of many fields", "PATCH", "/v1/documents/d1", object{"metadata": fields})
	add("many values", "POST", "/v1/search", object{"query": "apples", "filter": expr})
	add("not a filter", "POST", "/v1/search", object{"query": "apples", "filter": strings.Repeat("(", size)})
	add("ors", "POST", "/v1/search", object{"query": "apples", "filter": strings.Repeat(`s = "y" or `, size/11) + `n = 1`})
	add("unknown field", "POST", "/v1/search", object{"query": "apples", "more": texts["of quotes"]})
	add("image", "POST", "/v1/search", object{"image": make([]byte, size/4*3)})
	add("vector", "POST", "/v1/search", object{"vector": make([]int, 1<<16)})
	add("like", "POST", "/v1/search", object{"like": []string{"of distinct words", "of quotes"}})
	add("all", "POST", "/v1/search", object{"query": "a apples w7 x q", "k": 1000, "spans": true})
	add("places", "POST", "/v1/search", object{"query": "a", "places": true, "k": 1000})
	add("batch of long queries", "POST", "/v1/search/batch", object{"searches": some(func(i int) any { return object{"query": long[:size/defaultTexts], "k": 1} })})
	add("batch", "POST", "/v1/search/batch", object{"searches": some(func(i int) any { return object{"query": "a apples w7 x q", "spans": true, "k": 9} })})
	add("get", "GET", "/v1/documents/of%20distinct%20words?vector=true", nil)
	add("list", "GET", "/v1/documents?limit=1000", nil)
	add("list in the middle", "GET", "/v1/documents?limit=1000&offset=150", nil)
	add("facets", "GET", "/v1/facets?field=s&limit=100", nil)
	add("delete", "DELETE", "/v1/documents?filter="+url.QueryEscape(expr[:32<<10]+`"]`), nil)
	add("stats", "GET", "/v1/stats", nil)
	add("metrics", "GET", "/metrics", nil)
	tool := func(name, tool string, args object) {
		add("mcp: "+name, "POST", "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": tool, "arguments": args}})
	}
	tool("many documents", "index", object{"documents": some(func(i int) any { return document(i) })})
	tool("much metadata", "index", object{"documents": []any{object{"id": "x", "text": "x", "metadata": object{"list": values}}}})
	tool("many fields", "index", object{"documents": []any{object{"id": "x", "text": "x", "metadata": fields}}})
	tool("many values", "search", object{"query": "apples", "filter": expr})
	tool("unknown", "search", object{"query": "apples", "more": values})
	tool("like", "search", object{"like": []string{"of distinct words", "of quotes"}})
	tool("all", "search", object{"query": "a apples w7 x q", "k": 100, "budget": 100000})
	tool("places", "search", object{"query": "a", "places": true, "k": 100, "budget": 100000})
	tool("get", "get", object{"id": "of new lines", "line": 100000, "limit": 200000})
	tool("list", "list", object{"filter": expr})
	tool("long query", "search", object{"query": long})
	add("mcp: batch", "POST", "/mcp", some(func(i int) any { return object{"jsonrpc": "2.0", "id": i, "method": "tools/list"} })[:agentBatch])
	for kind, text := range texts {
		add("document "+kind, "PUT", "/v1/documents/"+url.PathEscape(kind), object{"text": text})
		add("line "+kind, "POST", "/v1/documents", lines(requestBody(t, object{"id": kind, "text": text})))
		add("query "+kind, "POST", "/v1/search", object{"query": text})
		add("long query "+kind, "POST", "/v1/search", object{"query": strings.ToValidUTF8(text[:engine.MaxQuery], ""), "spans": true})
		add("explain "+kind, "POST", "/v1/explain", object{"query": "a x w7 q b", "id": kind})
		add("embeddings "+kind, "POST", "/v1/embeddings", object{"input": text})
		add("many embeddings "+kind, "POST", "/v1/embeddings", object{"input": some(func(i int) any {
			return strings.ToValidUTF8(text[i*size/defaultTexts:min(len(text), (i+1)*size/defaultTexts)]+"a", "")
		})})
		add("rerank "+kind, "POST", "/v1/rerank", object{"query": "a", "documents": []any{text, object{"text": "x"}}, "return_documents": true})
		tool("document "+kind, "index", object{"documents": []any{object{"id": kind, "text": text}}})
		tool("query "+kind, "search", object{"query": text})
		tool("explain "+kind, "explain", object{"query": "a x w7 q b", "id": kind})
	}
	withMCP := func(o Options) Options {
		o.Encoder = enc
		o.MCP = func(mayWrite func(*http.Request) bool) http.Handler {
			return mcp.New(db, mcp.Options{AnyHost: true, Timeout: o.Timeout}).Handler(mayWrite)
		}
		return o
	}
	n := 0
	for name, r := range requests { // in an order of chance
		if n++; n > 8 && !trial.Long() {
			break
		}
		t.Run(name, func(t *testing.T) {
			for _, deadline := range deadlines {
				for way, o := range map[string]Options{"the client went": {MaxBody: 2 * size}, "the time ended": {MaxBody: 2 * size, Timeout: deadline, LoadTimeout: deadline}} {
					if name == "lines" && o.Timeout > 0 { // which limits each batch
						continue
					}
					s, err := New(db, withMCP(o))
					if err != nil {
						t.Fatal(err)
					}
					status := 0
					late, _ := trial.Overrun(t, deadline, goal, func(ctx context.Context) error {
						if o.Timeout > 0 {
							ctx = context.WithoutCancel(ctx)
						}
						q := httptest.NewRequestWithContext(ctx, r.method, r.path, bytes.NewReader(r.body))
						q.Host = "localhost:7700"
						q.Header.Set("Content-Type", r.kind)
						q.Header.Set("Accept", "application/json, text/event-stream")
						w := httptest.NewRecorder()
						s.ServeHTTP(w, q)
						status = w.Code
						return nil
					})
					t.Logf("%v after %s at %v, with %d", late.Round(time.Millisecond), way, deadline, status)
					if late > most {
						t.Error("too late")
					}
				}
			}
		})
	}
}

func requestBody(t *testing.T, v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
