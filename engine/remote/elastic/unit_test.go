package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
)

// answering is a Backend in front of a server that answers with f.
func answering(t *testing.T, f http.HandlerFunc, more ...string) *Backend {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	b, err := Open(Options{Nodes: append(more, s.URL), Index: "i", Key: "s3cret", Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParse(t *testing.T) {
	o, err := Parse("elasticsearch://a:1,b:2/notes?shards=3&replicas=1&copies=2&candidates=50")
	want := Options{Nodes: []string{"http://a:1", "http://b:2"}, Index: "notes", Shards: 3, Replicas: 1, Copies: 2, Candidates: 50}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := Parse("elasticsearch://a/n?tls=true"); err != nil || o.Nodes[0] != "https://a" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"http://a/n", "elasticsearch://u:p@a/n", "elasticsearch://a/n?x=1", "elasticsearch://a/n?shards=many", "elasticsearch://a/n?tls=perhaps", "elasticsearch://a/n?%zz"} {
		if _, err := Parse(bad); !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	node := []string{"http://a"}
	for what, o := range map[string]Options{
		"no node": {Index: "i"}, "no URL": {Nodes: []string{"http://a\x00"}, Index: "i"}, "password": {Nodes: []string{"http://u:p@a"}, Index: "i"}, "no host": {Nodes: []string{"http://"}, Index: "i"},
		"no index": {Nodes: node}, "upper case": {Nodes: node, Index: "I"}, "a star": {Nodes: node, Index: "*"}, "hidden": {Nodes: node, Index: ".i"}, "dots": {Nodes: node, Index: ".."},
		"shards": {Nodes: node, Index: "i", Shards: -1}, "replicas": {Nodes: node, Index: "i", Replicas: 17}, "candidates": {Nodes: node, Index: "i", Candidates: most + 1},
	} {
		if _, err := Open(o); !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestFilters: what a filter asks the server for.
func TestFilters(t *testing.T) {
	for expr, want := range map[string]string{
		"true":                               `{"match_all":{}}`,
		"false":                              `{"match_none":{}}`,
		`a = "x"`:                            `{"terms":{"facts":["a\u0000sx"]}}`,
		`a in ["x", true]`:                   `{"terms":{"facts":["a\u0000sx","a\u0000t"]}}`,
		`a in []`:                            `{"terms":{"facts":[]}}`,
		`a exists`:                           `{"terms":{"facts":["a\u0000e"]}}`,
		`a < "x"`:                            `{"range":{"facts":{"gte":"a\u0000s","lt":"a\u0000sx"}}}`,
		`a > "x"`:                            `{"range":{"facts":{"gt":"a\u0000sx","lt":"a\u0000t"}}}`,
		`a ^= "x"`:                           `{"range":{"facts":{"gte":"a\u0000sx","lt":"a\u0000sy"}}}`,
		`id in ["x", "y"]`:                   `{"terms":{"id":["x","y"]}}`,
		`id != "x"`:                          `{"bool":{"must_not":[{"terms":{"id":["x"]}}]}}`,
		`id ^= "x"`:                          `{"range":{"id":{"gte":"x","lt":"y"}}}`,
		`id > "x"`:                           `{"range":{"id":{"gte":"x\u0000"}}}`,
		`id in []`:                           `{"terms":{"id":[]}}`,
		`id exists`:                          `{"match_all":{}}`,
		`metadata.id = "x"`:                  `{"terms":{"facts":["id\u0000sx"]}}`,
		`not a exists`:                       `{"bool":{"must_not":[{"terms":{"facts":["a\u0000e"]}}]}}`,
		`a = null or b = null or c = null`:   `{"bool":{"minimum_should_match":1,"should":[{"terms":{"facts":["a\u00000"]}},{"terms":{"facts":["b\u00000"]}},{"terms":{"facts":["c\u00000"]}}]}}`,
		`a = null and b = null and c = null`: `{"bool":{"filter":[{"terms":{"facts":["a\u00000"]}},{"terms":{"facts":["b\u00000"]}},{"terms":{"facts":["c\u00000"]}}]}}`,
	} {
		f, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		c, err := filter.Answer(f, algebra{})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(c)
		if err != nil || string(raw) != want {
			t.Errorf("%s: %s, %v\nwant %s", expr, raw, err, want)
		}
	}
	if err := filtered(object{}, filter.Lt("a", strings.Repeat("x", 5000))); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("an order by a long text: %v", err)
	}
}

// TestNodesThatFail: a node that is not there, or says that it is too busy, is followed by
// another one; other errors are told at once, with the server's words and without the key.
func TestNodesThatFail(t *testing.T) {
	var calls atomic.Int32
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "ApiKey s3cret" {
			t.Error("a call without the key")
		}
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":{"type":"search_phase_execution_exception","reason":"disconnected"}}`)
		default:
			io.WriteString(w, `{"hits":{"total":{"value":7}}}`)
		}
	}, "http://127.0.0.1:1")
	if n, err := b.Count(t.Context(), engine.Filter{}); n != 7 || err != nil || calls.Load() != 3 {
		t.Errorf("%d, %v, %d calls", n, err, calls.Load())
	}
	calls.Store(0)
	b = answering(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"type":"parsing_exception","reason":"no\nsuch query","root_cause":[{"reason":"deeper"}]}}`)
	})
	_, err := b.Count(t.Context(), engine.Filter{})
	if !errors.Is(err, ErrServer) || !errors.Is(err, engine.ErrBackend) || calls.Load() != 1 || !strings.Contains(err.Error(), "parsing_exception: no such query: deeper") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := b.Count(t.Context(), engine.Filter{}); err == nil || !strings.Contains(err.Error(), "API key") {
		t.Errorf("without rights: %v", err)
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	})
	if _, err := b.Count(t.Context(), engine.Filter{}); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "302") {
		t.Errorf("a redirection: %v", err)
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"hits": 3}`) })
	if _, err := b.Count(t.Context(), engine.Filter{}); !errors.Is(err, ErrServer) {
		t.Errorf("an answer of another shape: %v", err)
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	if _, err := b.Count(t.Context(), engine.Filter{}); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "gave up after") {
		t.Errorf("a server that is always busy: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Count(ctx, engine.Filter{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline: %v", err)
	}
}

// TestBulk: operations that the server was too busy for are done again, alone; one that was
// stored by a call whose answer was lost is no conflict, and one that another has stored is.
func TestBulk(t *testing.T) {
	docs := [][]remote.Passage{
		{{PassageID: remote.PassageID{ID: "a"}, Chunks: 1, Vector: []float32{1}}}, {{PassageID: remote.PassageID{ID: "b"}, Chunks: 1, Vector: []float32{1}}},
	}
	var bulks []int
	var stored string // the put that has stored a
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(r.URL.Path, "_bulk"):
			lines := strings.Split(strings.TrimSpace(string(body)), "\n")
			bulks = append(bulks, len(lines)/2)
			var s source
			if err := json.Unmarshal([]byte(lines[1]), &s); err != nil {
				t.Error(err)
			}
			if len(bulks) == 1 {
				stored = s.Put
				io.WriteString(w, `{"errors":true,"items":[{"create":{"status":409,"error":{"type":"version_conflict_engine_exception"}}},{"create":{"status":429,"error":{"type":"es_rejected_execution_exception"}}}]}`)
				return
			}
			io.WriteString(w, `{"errors":false,"items":[{"create":{"status":201}}]}`)
		case strings.Contains(r.URL.Path, "_mget"):
			json.NewEncoder(w).Encode(object{"docs": []object{{"_id": "x", "found": true, "_source": object{"put": stored}}}})
		default:
			io.WriteString(w, `{}`)
		}
	})
	if err := b.Put(t.Context(), docs, true); err != nil || !reflect.DeepEqual(bulks, []int{2, 1}) {
		t.Errorf("%v, bulks of %v", err, bulks)
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "_mget") {
			io.WriteString(w, `{"docs":[{"_id":"x","found":true,"_source":{"put":"another"}}]}`)
			return
		}
		io.WriteString(w, `{"errors":true,"items":[{"create":{"status":409,"error":{"type":"version_conflict_engine_exception"}}},{"create":{"status":201}}]}`)
	})
	if err := b.Put(t.Context(), docs, true); !errors.Is(err, engine.ErrExists) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("stored by another: %v", err)
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"errors":true,"items":[{"create":{"status":400,"error":{"type":"document_parsing_exception","reason":"no"}}},{"create":{"status":201}}]}`)
	})
	if err := b.Put(t.Context(), docs, true); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), `document "a"`) {
		t.Errorf("refused: %v", err)
	}
	b = answering(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"items":[]}`) })
	if err := b.Put(t.Context(), docs, true); !errors.Is(err, ErrServer) {
		t.Errorf("an answer for nothing: %v", err)
	}
	if err := b.Put(t.Context(), [][]remote.Passage{{{PassageID: remote.PassageID{ID: "\xff"}}}}, true); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("an id that is not UTF-8: %v", err)
	}
}

// TestForeignIndex: an index that somebody else has made is left alone.
func TestForeignIndex(t *testing.T) {
	for mapping, want := range map[string]error{
		`{"i":{"mappings":{}}}`:                                                    engine.ErrForeign,
		`{"i":{"mappings":{"_meta":{"lexsem_layout":99}}}}`:                        engine.ErrForeign,
		`{"i":{"mappings":{"_meta":{"lexsem_layout":1,"lexsem_info":{"dim":3}}}}}`: nil,
		`{}`: engine.ErrNoDatabase,
	} {
		b := answering(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, mapping) })
		if i, err := b.Info(t.Context()); !errors.Is(err, want) || err == nil && i.Dim != 3 {
			t.Errorf("%s: %+v, %v", mapping, i, err)
		}
	}
}

// TestTextsThatAreNotUTF8 come back byte for byte.
func TestTextsThatAreNotUTF8(t *testing.T) {
	p := remote.Passage{PassageID: remote.PassageID{ID: "a"}, Chunks: 2, Title: "\xfe", Text: "b\xff", Whole: "b\xff c", Line: 1, Terms: "b"}
	s, err := sourceOf(p, "put")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again source
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	if got, err := again.passage(); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
	again.Bytes = []byte("{")
	if _, err := again.passage(); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
}

func TestKeys(t *testing.T) {
	long := strings.Repeat("x", engine.MaxID)
	for _, id := range []string{"", "a", long, long[:1023] + "y"} {
		if k := keyOf(remote.PassageID{ID: id, Chunk: 1_000_000}); len(k) > 512 || k == keyOf(remote.PassageID{ID: id}) || strings.ContainsAny(k, "/ ") {
			t.Errorf("%.10q: key %q", id, k)
		}
		if p := partOf(id); p < 0 || p >= partCount {
			t.Errorf("%.10q: part %d", id, p)
		}
	}
}
