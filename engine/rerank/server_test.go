package rerank_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/rerank"
	"github.com/lexsem/lexsem/internal/testkit/reranktest"
)

const key = "sk-secret-1234567890"

func server(t *testing.T, o rerank.Options) *rerank.Server {
	t.Helper()
	s, err := rerank.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shapes are the options of either shape for a server at url.
func shapes(url string) map[string]rerank.Options {
	return map[string]rerank.Options{
		"cohere": {URL: url + "/v1/rerank", Model: "m"},
		"tei":    {URL: url},
	}
}

func TestConformance(t *testing.T) {
	for _, shape := range []string{"cohere", "tei"} {
		t.Run(shape, func(t *testing.T) {
			reranktest.Run(t, reranktest.Options{Pointwise: true}, func(t *testing.T) engine.Reranker {
				return server(t, shapes(reranktest.NewAPI(t).URL)[shape])
			})
		})
	}
	t.Run("function", func(t *testing.T) {
		reranktest.Run(t, reranktest.Options{Pointwise: true}, func(t *testing.T) engine.Reranker { return rerank.Func(reranktest.Scores) })
	})
}

// Requests and answers are those that the makers of the APIs document.
func TestExchanges(t *testing.T) {
	raw, err := os.ReadFile("testdata/exchanges.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Of, Model, Shape, Path, Query string
		Texts                         []string
		Request, Answer               json.RawMessage
		Scores                        []float64
	}
	if err := json.Unmarshal(raw, &all); err != nil || len(all) != 3 {
		t.Fatalf("%d exchanges, %v", len(all), err)
	}
	for _, x := range all {
		t.Run(x.Of, func(t *testing.T) {
			t.Setenv(rerank.KeyVariable, key)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				var got, want any
				if err := errors.Join(err, json.Unmarshal(body, &got), json.Unmarshal(x.Request, &want)); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("request %s, want %s; %v", body, x.Request, err)
				}
				if r.Method != http.MethodPost || r.URL.Path != x.Path || r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s with the header %v", r.Method, r.URL, r.Header)
				}
				w.Write(x.Answer)
			}))
			defer s.Close()
			got, err := server(t, rerank.Options{URL: s.URL + x.Path, Model: x.Model, Shape: rerank.Shape(x.Shape)}).Rerank(t.Context(), x.Query, x.Texts)
			if err != nil || !slices.Equal(got, x.Scores) {
				t.Errorf("scores %v, want %v; %v", got, x.Scores, err)
			}
		})
	}
}

// list is a Spoil that works on the results as they are.
func list(f func(r []map[string]any) any) reranktest.Fault { return reranktest.Fault{Spoil: f} }

// Answers that are not what they should be are errors that say why, in either shape, and
// are not asked for again.
func TestWrongAnswers(t *testing.T) {
	texts := []string{"one", "two", "three"}
	for name, c := range map[string]struct {
		fault reranktest.Fault
		says  string
	}{
		"too few":        {list(func(r []map[string]any) any { return r[:2] }), "2 scores for 3 texts"},
		"too many":       {list(func(r []map[string]any) any { return append(r, r[0]) }), "4 scores for 3 texts"},
		"none":           {list(func(r []map[string]any) any { return []int{} }), "0 scores for 3 texts"},
		"null":           {list(func(r []map[string]any) any { return nil }), "0 scores for 3 texts"},
		"doubled":        {list(func(r []map[string]any) any { r[2]["index"] = r[0]["index"]; return r }), "there twice"},
		"beyond":         {list(func(r []map[string]any) any { r[1]["index"] = 3; return r }), "text 3, of 3"},
		"below":          {list(func(r []map[string]any) any { r[1]["index"] = -1; return r }), "text -1, of 3"},
		"no index":       {list(func(r []map[string]any) any { delete(r[1], "index"); return r }), "result 1 of the answer has no index or no score"},
		"no score":       {list(func(r []map[string]any) any { delete(r[2], "score"); delete(r[2], "relevance_score"); return r }), "result 2 of the answer has no index or no score"},
		"null score":     {list(func(r []map[string]any) any { r[2]["score"], r[2]["relevance_score"] = nil, nil; return r }), "no score"},
		"text for score": {list(func(r []map[string]any) any { r[2]["score"], r[2]["relevance_score"] = "high", "high"; return r }), "not what it should be"},
		"half an index":  {list(func(r []map[string]any) any { r[2]["index"] = .5; return r }), "not what it should be"},
		"no list":        {list(func(r []map[string]any) any { return "none" }), "not what it should be"},
		"NaN":            {reranktest.Fault{Body: `{"results":[{"index":0,"relevance_score":NaN}]}`}, "not what it should be"},
		"beyond float64": {reranktest.Fault{Body: `{"results":[{"index":0,"relevance_score":1e999}]}`}, "not what it should be"},
		"no JSON":        {reranktest.Fault{Body: "<html>busy</html>"}, "not what it should be"},
		"cut JSON":       {reranktest.Fault{Body: `{"results":[`}, "not what it should be"},
		"too long":       {reranktest.Fault{Body: `{"pad":"` + strings.Repeat("x", 2<<20) + `"}`}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			api := reranktest.NewAPI(t)
			api.Next = func(int) reranktest.Fault { return c.fault }
			for shape, o := range shapes(api.URL) {
				before, _ := api.Calls()
				_, err := server(t, o).Rerank(t.Context(), "query", texts)
				if !errors.Is(err, rerank.ErrServer) || !strings.Contains(err.Error(), c.says) && (shape == "cohere" || c.fault.Body == "") {
					t.Errorf("%s: %v, want an ErrServer that says %q", shape, err, c.says)
				}
				if err != nil && !strings.Contains(err.Error(), api.URL) {
					t.Errorf("%s: %v does not name the server", shape, err)
				}
				if calls, _ := api.Calls(); len(calls) != len(before)+1 {
					t.Errorf("%s: %d calls", shape, len(calls)-len(before))
				}
			}
		})
	}
}

// What passes is tried again, what does not is not; and the key is in no error.
func TestRetries(t *testing.T) {
	log.SetOutput(io.Discard) // of the server, on connections that it breaks
	defer log.SetOutput(os.Stderr)
	t.Setenv("MY_KEY", key)
	for name, c := range map[string]struct {
		first reranktest.Fault
		calls int
		says  string // of the error, "" for success at the second call
	}{
		"busy":         {reranktest.Fault{Status: 429, After: "0.01", Body: `{"message":"slow down"}`}, 2, ""},
		"down":         {reranktest.Fault{Status: 503}, 2, ""},
		"cut":          {reranktest.Fault{Cut: true}, 2, ""},
		"no key":       {reranktest.Fault{Status: 401, Body: `{"message":"` + key + ` is wrong"}`}, 1, "[key] is wrong; set MY_KEY to a key"},
		"not found":    {reranktest.Fault{Status: 404, Body: `{"detail":"no such model"}`}, 1, "status 404: no such model"},
		"too large":    {reranktest.Fault{Status: 413, Body: `{"error":"batch size","error_type":"Validation"}`}, 1, "status 413: batch size"},
		"as OpenAI":    {reranktest.Fault{Status: 400, Body: `{"error":{"message":"bad query"}}`}, 1, "status 400: bad query"},
		"plain":        {reranktest.Fault{Status: 400, Body: "no"}, 1, "status 400"},
		"redirected":   {reranktest.Fault{Status: 307}, 1, "status 307"},
		"asks to wait": {reranktest.Fault{Status: 429, After: "900"}, 1, "asks to wait 15m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			api := reranktest.NewAPI(t)
			api.Next = func(n int) reranktest.Fault {
				if n == 0 {
					return c.first
				}
				return reranktest.Fault{}
			}
			s := server(t, rerank.Options{URL: api.URL, Model: "m", KeyEnv: "MY_KEY"})
			got, err := s.Rerank(t.Context(), "a", []string{"b", "a"})
			calls, _ := api.Calls()
			if len(calls) != c.calls {
				t.Errorf("%d calls, want %d", len(calls), c.calls)
			}
			if c.says == "" {
				if err != nil || got[1] <= got[0] {
					t.Errorf("scores %v, %v", got, err)
				}
				return
			}
			if !errors.Is(err, rerank.ErrServer) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), key) {
				t.Errorf("%v, want an ErrServer that says %q", err, c.says)
			}
			if c.first.Body != "" && !strings.Contains(err.Error(), "req-1") {
				t.Errorf("%v does not name the request", err)
			}
		})
	}
}

// A server that is always busy is given up, one that is slow is not waited for, and the
// context ends all of it.
func TestGivesUp(t *testing.T) {
	api := reranktest.NewAPI(t)
	api.Next = func(int) reranktest.Fault { return reranktest.Fault{Status: 500, After: "0.001"} }
	_, err := server(t, rerank.Options{URL: api.URL, Retries: 2}).Rerank(t.Context(), "a", []string{"b"})
	if calls, _ := api.Calls(); !errors.Is(err, rerank.ErrServer) || len(calls) != 3 || !strings.Contains(err.Error(), "3 tries") {
		t.Errorf("%d calls, %v", len(calls), err)
	}
	slow := reranktest.NewAPI(t)
	slow.Delay = 10 * time.Second
	start := time.Now()
	_, err = server(t, rerank.Options{URL: slow.URL, Retries: -1, Timeout: 20 * time.Millisecond}).Rerank(t.Context(), "a", []string{"b"})
	if !errors.Is(err, rerank.ErrServer) || !strings.Contains(err.Error(), "no answer within 20ms") || time.Since(start) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = server(t, rerank.Options{URL: slow.URL}).Rerank(ctx, "a", []string{"b"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	_, err = server(t, rerank.Options{URL: "http://127.0.0.1:1"}).Rerank(t.Context(), "a", []string{"b"})
	if !errors.Is(err, rerank.ErrServer) || !strings.Contains(err.Error(), "check the address") {
		t.Errorf("nobody there: %v", err)
	}
}

// More texts than a server takes in a call go there in several, some at a time, and their
// scores keep the order; the first that fails ends the others.
func TestBatches(t *testing.T) {
	api := reranktest.NewAPI(t)
	api.Most, api.Delay = 32, 5*time.Millisecond
	texts := make([]string, 500)
	for i := range texts {
		texts[i] = fmt.Sprint("text of the number ", i, strings.Repeat(" more", i%7))
	}
	s := server(t, rerank.Options{URL: api.URL, Concurrency: 3})
	got, err := s.Rerank(t.Context(), "number 7", texts)
	if want, _ := reranktest.Scores(t.Context(), "number 7", texts); err != nil || !slices.Equal(got, want) {
		t.Errorf("scores differ from those of single texts: %v", err)
	}
	if calls, most := api.Calls(); len(calls) != 16 || most < 2 || most > 3 {
		t.Errorf("%d calls, %d at a time; want 16, up to 3", len(calls), most)
	}
	failing := reranktest.NewAPI(t)
	failing.Next = func(n int) reranktest.Fault {
		if n == 1 {
			return reranktest.Fault{Status: 400}
		}
		return reranktest.Fault{}
	}
	failing.Delay = 20 * time.Millisecond
	_, err = server(t, rerank.Options{URL: failing.URL, BatchTexts: 1, Concurrency: 2}).Rerank(t.Context(), "a", texts)
	if calls, _ := failing.Calls(); !errors.Is(err, rerank.ErrServer) || len(calls) > 20 {
		t.Errorf("%d calls after the one that failed, %v", len(calls), err)
	}
}

func TestOptions(t *testing.T) {
	t.Setenv("BAD_KEY", "two words")
	for _, c := range []struct {
		o    rerank.Options
		says string
	}{
		{rerank.Options{}, "base URL"},
		{rerank.Options{URL: "ftp://host/rerank"}, "base URL"},
		{rerank.Options{URL: "http://user:secret@host/rerank"}, "password"},
		{rerank.Options{URL: "http://host/rerank?key=secret"}, "base URL"},
		{rerank.Options{URL: "http://host", Shape: "voyage"}, `shape "voyage"; use cohere or tei`},
		{rerank.Options{URL: "http://host", Shape: rerank.TEI, Model: "m"}, "has one model"},
		{rerank.Options{URL: "http://host", BatchTexts: -1}, "positive"},
		{rerank.Options{URL: "http://host", Concurrency: 5000}, "1,024"},
		{rerank.Options{URL: "http://host", Timeout: -1}, "positive"},
		{rerank.Options{URL: "http://host", KeyEnv: "BAD_KEY"}, "BAD_KEY"},
	} {
		if _, err := rerank.New(c.o); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "two words") {
			t.Errorf("%+v: %v, want an error that says %q", c.o, err, c.says)
		}
	}
	for url, path := range map[string]string{"": "/rerank", "/": "/rerank", "/v2/rerank": "/v2/rerank", "/api/rank/": "/api/rank/"} {
		api := reranktest.NewAPI(t)
		if _, err := server(t, rerank.Options{URL: api.URL + url}).Rerank(t.Context(), "q", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		if calls, _ := api.Calls(); calls[0].Path != path || calls[0].Auth != "" {
			t.Errorf("%q is posted to %s, want %s; authorization %q", url, calls[0].Path, path, calls[0].Auth)
		}
	}
	if a, b := server(t, rerank.Options{URL: "http://host"}).Name(), server(t, rerank.Options{URL: "http://host", Model: "m"}).Name(); a != "http://host/rerank" || b != "m" {
		t.Errorf("names %q and %q", a, b)
	}
}

// In a search, the whole of it.
func TestInASearch(t *testing.T) {
	api := reranktest.NewAPI(t)
	var _ engine.Reranker = rerank.Func(nil)
	scores, err := engine.Rerank(t.Context(), server(t, rerank.Options{URL: api.URL, Model: "m"}), "b", []string{"a", "b"})
	if err != nil || scores[1] <= scores[0] {
		t.Errorf("%v, %v", scores, err)
	}
	api.Next = func(int) reranktest.Fault { return reranktest.Fault{Status: 400, Body: `{"message":"no"}`} }
	_, err = engine.Rerank(t.Context(), server(t, rerank.Options{URL: api.URL, Model: "m"}), "b", []string{"a", "b"})
	if !errors.Is(err, engine.ErrReranker) || !errors.Is(err, rerank.ErrServer) || !strings.Contains(err.Error(), "reranker: m: reranking 2 texts: rerank server: POST ") {
		t.Error(err)
	}
}
