package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

func many(n int) lines {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\": \"d%d\", \"text\": \"number %d\"}\n", i, i)
	}
	return lines(b.String())
}

func (c *client) count() int {
	c.t.Helper()
	n, err := c.s.db.Count(c.t.Context(), engine.Filter{})
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

func TestBulk(t *testing.T) {
	c := newClient(t, Options{MaxTexts: 3})
	got := c.ask("POST", "/v1/documents", "\ufeff"+many(2*bulkDocuments+7)+"\n  \n")
	c.want(got, 200, "")
	if got.at(t, "added") != float64(2*bulkDocuments+7) || got.at(t, "seq").(float64) < 4 || c.count() != len(corpus)+2*bulkDocuments+7 {
		t.Error(got.raw)
	}
	got = c.ask("POST", "/v1/documents", lines("{\"id\":\"d1\",\"text\":\"number 1\"}\r\n{\"id\":\"d2\",\"text\":\"other\"}"))
	if got.at(t, "unchanged") != 1.0 || got.at(t, "replaced") != 1.0 {
		t.Error(got.raw)
	}
	if got = c.ask("POST", "/v1/documents", lines("")); got.at(t, "added") != 0.0 {
		t.Error(got.raw)
	}
	if n := c.s.buffers.taken() + c.s.values.used.Load(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
}

// TestBulkStops has a bad line in every place: what is before it is stored, what is
// behind is not, and the answer names it.
func TestBulkStops(t *testing.T) {
	c, round := newClient(t, Options{}), 0
	for _, x := range []struct{ line, code string }{
		{`{"id": "x"`, "invalid_json"},
		{`nonsense`, "invalid_json"},
		{`{"id": "", "text": "no id"}`, "invalid"},
		{`{"id": "x", "text": "  "}`, "invalid"},
		{`{"id": "x", "text": "x", "vector": [1]}`, "invalid"},
		{`{"id": "x", "text": "x", "metadata": {"a": 1e999}}`, "invalid"},
		{`{"id": "x", "text": "x", "more": 1}`, "invalid"},
		{`[]`, "invalid"},
	} {
		for _, at := range []int{0, 1, 4, 5} {
			before := c.count()
			round++
			good := strings.SplitAfter(strings.ReplaceAll(string(many(5)), `"d`, fmt.Sprintf(`"r%d-`, round)), "\n")[:5]
			body := strings.Join(good[:at], "") + x.line + "\n" + strings.Join(good[at:], "")
			got := c.ask("POST", "/v1/documents", lines(body))
			c.want(got, 400, x.code)
			if got.at(t, "error", "at") != float64(at+1) || !strings.Contains(got.raw, fmt.Sprintf("line %d: ", at+1)) || strings.Contains(got.raw, "document 0") {
				t.Error(got.raw)
			}
			if got.at(t, "error", "stored", "added") != float64(at) || c.count() != before+at {
				t.Errorf("%d stored, want %d: %s", c.count()-before, at, got.raw)
			}
			got = c.ask("POST", "/v1/documents?on_error=skip", lines(body+x.line))
			c.want(got, 200, "")
			if got.at(t, "skipped") != 2.0 || got.at(t, "failed", 0, "line") != float64(at+1) || got.at(t, "failed", 1, "line") != 7.0 || got.at(t, "failed", 0, "code") != x.code || c.count() != before+5 {
				t.Errorf("%d stored: %s", c.count()-before, got.raw)
			}
		}
	}
	c.want(c.ask("POST", "/v1/documents?on_error=wild", many(1)), 400, "invalid")
	c.want(c.ask("POST", "/v1/documents?wild=1", many(1)), 400, "invalid")
	got := c.ask("POST", "/v1/documents?on_error=skip", lines(strings.Repeat("x\n", 300)))
	if got.at(t, "skipped") != 300.0 || len(got.at(t, "failed").([]any)) != failuresTold {
		t.Error(got.raw)
	}
}

func TestBulkLimits(t *testing.T) {
	c := newClient(t, Options{MaxBody: 1000, MaxBulk: 1 << 20})
	long := `{"id": "x", "text": "` + strings.Repeat("x", 1000) + `"}` + "\n"
	got := c.ask("POST", "/v1/documents", many(3)+lines(long)+many(9))
	c.want(got, 413, "too_large")
	if got.at(t, "error", "stored", "added") != 3.0 || c.count() != len(corpus)+3 {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/documents", lines(strings.Repeat(" ", 999)+"\n"+strings.Repeat(strings.Repeat(" ", 500)+"\n", 3000))), 413, "too_large")
	if n := c.s.buffers.taken() + c.s.values.used.Load(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
}

// full is a database whose second commit fails.
type full struct {
	engine.Database
	n *int
}

func (f full) Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error) {
	if *f.n++; *f.n == 2 {
		return engine.AddResult{}, engine.ErrNoSpace
	}
	return f.Database.Upsert(ctx, docs)
}

func TestBulkFailure(t *testing.T) {
	for _, path := range []string{"/v1/documents", "/v1/documents?on_error=skip"} {
		c := newClient(t, Options{})
		n := 0
		c.s.db = full{c.s.db, &n}
		got := c.ask("POST", path, many(3*bulkDocuments))
		c.want(got, 507, "no_space")
		if got.at(t, "error", "stored", "added") != float64(bulkDocuments) || got.at(t, "error", "at") != float64(bulkDocuments+1) || n != 2 {
			t.Errorf("%d commits: %s", n, got.raw)
		}
	}
}

func TestBulkEndsWhenDraining(t *testing.T) {
	c := newClient(t, Options{})
	c.s.Drain()
	got := c.ask("POST", "/v1/documents", many(5))
	c.want(got, 503, "closing")
	if got.at(t, "error", "at") != 2.0 || got.at(t, "error", "stored", "added") != 1.0 || c.count() != len(corpus)+1 {
		t.Error(got.raw)
	}
}

func FuzzBody(f *testing.F) {
	for _, s := range []string{`{"query": "x"}`, `{"documents": [{"id": "a", "text": "b"}]}`, `{"input": ["a"], "model": ""}`, `{"query": "a", "documents": ["b", {"text": "c"}]}`,
		`{"searches": [{"query": "a"}]}`, `{"metadata": {"a": null}}`, "{\"id\":\"a\",\"text\":\"b\"}\n{", `[[[[`, `{"vector": [1e400]}`, `{"k": 0}`, `{"query":"keys","rerank":1}`, `{"` + strings.Repeat("n", 9000) + `": 1}`} {
		f.Add(s)
	}
	c := newClient(f, Options{MaxBody: 1 << 16, MaxTexts: 8})
	f.Fuzz(func(t *testing.T, body string) {
		c.t = t
		for _, rt := range routes() {
			if rt.in == nil || strings.HasPrefix(rt.path, collectionPrefix) {
				continue
			}
			got := c.ask(rt.method, strings.Replace(rt.path, "{id...}", "keys", 1), body)
			if got.status >= 500 && got.status != http.StatusNotImplemented || got.status >= 400 && len(got.raw) > 4096 {
				t.Errorf("%s %s: %d, %.5000s", rt.method, rt.path, got.status, got.raw)
			}
		}
		if got := c.ask("POST", "/v1/documents?on_error=skip", lines(body)); got.status >= 500 {
			t.Error(got.raw)
		}
		if n := c.s.buffers.taken() + c.s.values.used.Load(); n != 0 {
			t.Errorf("%d bytes are still held", n)
		}
	})
}
