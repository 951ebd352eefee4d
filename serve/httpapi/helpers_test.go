package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

var corpus = []engine.Document{
	{ID: "keys", Title: "Keys", Text: "Signing keys are rotated every ninety days.", Metadata: map[string]any{"year": 2024, "tags": []string{"ops"}}},
	{ID: "backup", Text: "Backups are written every night and kept for a year.", Metadata: map[string]any{"year": 2023}},
	{ID: "docs/bees.md", Text: "Bees tell one another where the flowers are."},
}

// database is a new one with the corpus.
func database(t testing.TB, enc encoder.Encoder, o engine.Options) *engine.Engine {
	t.Helper()
	db, err := engine.Open(t.Context(), t.TempDir(), enc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if enc != nil {
		if _, err := db.Upsert(t.Context(), corpus); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// client asks a server, and holds each answer to the description.
type client struct {
	t   testing.TB
	s   *Server
	doc *openapi3.T
	key string
}

func newClient(t testing.TB, o Options) *client {
	t.Helper()
	enc := encoder.NewHash(64)
	db := database(t, enc, engine.Options{})
	if o.Encoder == nil {
		o.Encoder = enc
	}
	return clientOf(t, db, o)
}

func clientOf(t testing.TB, db engine.Database, o Options) *client {
	t.Helper()
	s, err := New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, s: s, doc: described(t)}
}

func described(t testing.TB) *openapi3.T {
	t.Helper()
	raw, err := description("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

type response struct {
	status int
	header http.Header
	raw    string
	body   any
}

// at follows names and numbers into the body.
func (r response) at(t testing.TB, path ...any) any {
	t.Helper()
	v := r.body
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok || m[p] == nil {
				t.Fatalf("no %v in %s", path, r.raw)
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || p >= len(l) {
				t.Fatalf("no %v in %s", path, r.raw)
			}
			v = l[p]
		}
	}
	return v
}

func (r response) code() string {
	m, _ := r.body.(map[string]any)
	e, _ := m["error"].(map[string]any)
	c, _ := e["code"].(string)
	return c
}

func (c *client) request(method, path string, body any) *http.Request {
	var b io.Reader
	kind := kindJSON
	switch body := body.(type) {
	case nil:
	case string:
		b = strings.NewReader(body)
	case lines:
		b, kind = strings.NewReader(string(body)), kindNDJSON
	case io.Reader:
		b = body
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		b = bytes.NewReader(raw)
	}
	r := httptest.NewRequestWithContext(c.t.Context(), method, path, b)
	r.Host = "localhost:7700"
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	return r
}

// lines are the body of a bulk.
type lines string

// ask sends a request and checks the answer's shape.
func (c *client) ask(method, path string, body any) response {
	c.t.Helper()
	return c.send(c.request(method, path, body))
}

func (c *client) send(r *http.Request) response {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	return c.checked(r, w.Result())
}

func (c *client) checked(r *http.Request, got *http.Response) response {
	c.t.Helper()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	out := response{status: got.StatusCode, header: got.Header, raw: string(raw)}
	if got.Header.Get("Content-Type") != kindJSON {
		c.t.Fatalf("%s %s: %d, %q: %s", r.Method, r.URL, got.StatusCode, got.Header.Get("Content-Type"), raw)
	}
	if err := json.Unmarshal(raw, &out.body); err != nil {
		c.t.Fatalf("%s %s: %v: %s", r.Method, r.URL, err, raw)
	}
	item := c.doc.Paths.Value(c.path(r))
	if item == nil {
		item = c.doc.Paths.Value("/v1/search") // an error of no path has the shape of all errors
	}
	op := item.GetOperation(r.Method)
	if op == nil {
		op = item.Post
	}
	if op == nil {
		op = c.doc.Paths.Value("/v1/search").Post
	}
	answer := op.Responses.Status(got.StatusCode)
	if answer == nil {
		if got.StatusCode < 400 {
			c.t.Errorf("%s %s answers %d, which the description does not have", r.Method, r.URL, got.StatusCode)
		}
		answer = op.Responses.Default()
	}
	if err := answer.Value.Content[kindJSON].Schema.Value.VisitJSON(out.body, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse()); err != nil {
		c.t.Errorf("%s %s: the answer is not as described: %v\n%s", r.Method, r.URL, err, raw)
	}
	if got.StatusCode >= 400 && out.code() == "" {
		c.t.Errorf("%s %s: %d without a code: %s", r.Method, r.URL, got.StatusCode, raw)
	}
	return out
}

// path is the path of a request as the description has it.
func (c *client) path(r *http.Request) string {
	for _, e := range c.s.endpoints {
		if _, _, ok := e.match(segmentsOf(r.URL)); ok && e.answers(r.Method) {
			return strings.ReplaceAll(e.path, "...}", "}")
		}
	}
	return ""
}

// want fails unless the answer is as said.
func (c *client) want(r response, status int, code string) {
	c.t.Helper()
	if r.status != status || r.code() != code {
		c.t.Errorf("%d %q, want %d %q: %s", r.status, r.code(), status, code, r.raw)
	}
}

// sets is a set of collections in memory, for tests of the paths.
type sets struct {
	t    testing.TB
	all  map[string]engine.Database
	fail error
}

func (s *sets) List(context.Context) ([]string, error) {
	var names []string
	for n := range s.all {
		names = append(names, n)
	}
	return names, s.fail
}

func (s *sets) Create(_ context.Context, name, metric string) error {
	if s.all[name] != nil {
		return engine.ErrExists
	}
	o := engine.Options{Metric: metric}
	if err := o.Validate(); err != nil {
		return err
	}
	s.all[name] = database(s.t, encoder.NewHash(64), o)
	return nil
}

func (s *sets) Get(_ context.Context, name string) (engine.Database, error) {
	if s.all[name] == nil {
		return nil, engine.ErrNotFound
	}
	return s.all[name], nil
}

func (s *sets) Opened() map[string]engine.Database { return s.all }

func (s *sets) Drop(_ context.Context, name string) error {
	if s.all[name] == nil {
		return engine.ErrNotFound
	}
	delete(s.all, name)
	return nil
}
