package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/serve/httpapi"
	"github.com/lexsem/lexsem/serve/httpapi/page"
)

// A browser searches, compares, explains, uploads and shows errors, as a reader does.
func TestBrowser(t *testing.T) {
	if !trial.Long() || os.Getenv("LEXSEM_PLAYWRIGHT") == "" {
		t.Skip("a long form: LEXSEM_LONG=1, and LEXSEM_PLAYWRIGHT names a folder with node_modules/playwright-core; CHROMIUM names the browser")
	}
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(384), engine.Options{NoSync: true, TokenStates: engine.TokenStatesOn})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	docs := []engine.Document{
		{ID: "keys.md", Title: "Signing keys", Text: "Rotate the signing keys every ninety days. The signing service reads them again by itself.", Metadata: map[string]any{"year": 2024}},
		{ID: "hostile", Title: "<img src=x onerror=alert(1)>", Text: "hostile <script>alert(1)</script> <b>bold</b>", Metadata: map[string]any{"<i>": "<img src=x>"}},
	}
	for i := range 40 {
		docs = append(docs, engine.Document{ID: fmt.Sprintf("lantern-%d", i), Text: fmt.Sprintf("A lantern with the number %d stands in street %d.", i, i%5), Metadata: map[string]any{"n": 100 + i}})
	}
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	if _, err := e.KeepTokenStates(t.Context()); err != nil {
		t.Fatal(err)
	}
	photos, err := engine.Open(t.Context(), t.TempDir(), encoders.NewTowers(12, 24), engine.Options{VisualWords: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer photos.Close()
	var walls []engine.Document
	colours := slices.Sorted(maps.Keys(encoders.Colours))
	for _, a := range colours {
		for _, b := range colours {
			file, err := encoders.Paint(a, b, b) // a and b are no b and a: their vectors differ
			if err != nil {
				t.Fatal(err)
			}
			walls = append(walls, engine.Document{ID: a + " " + b, Data: file})
		}
	}
	if _, err := photos.Add(t.Context(), walls); err != nil {
		t.Fatal(err)
	}
	server, err := httpapi.New(photos, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", server)
	mux.Handle("/", page.Handler())
	images := httptest.NewServer(mux)
	defer images.Close()
	open, keyed := httptest.NewServer(contract{e, ""}), httptest.NewServer(contract{e, "secret"})
	defer open.Close()
	defer keyed.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	args := []string{"browser_test/page.mjs", open.URL + "/", keyed.URL + "/", images.URL + "/"}
	if dir := os.Getenv("LEXSEM_PICTURES"); dir != "" {
		args = append(args, dir)
	}
	out, err := exec.CommandContext(ctx, "node", args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all is well") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if d, err := e.Get(t.Context(), "big"); err != nil || fmt.Sprint(d.Metadata["n"]) != "9007199254740993" {
		t.Errorf("an uploaded number lost digits: %v %v", d.Metadata, err)
	}
}

// contract answers what the page asks of a server, in the server's shapes.
type contract struct {
	db  *engine.Engine
	key string
}

func (c contract) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		page.Handler().ServeHTTP(w, r)
		return
	}
	status, answer := c.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the page may be gone
}

func (c contract) answer(r *http.Request) (int, any) {
	refuse := func(status int, code string, err error) (int, any) {
		return status, map[string]any{"error": map[string]any{"code": code, "message": err.Error()}}
	}
	if c.key != "" && r.Header.Get("Authorization") != "Bearer "+c.key {
		return refuse(http.StatusUnauthorized, "unauthorized", errors.New("no key"))
	}
	var in struct {
		ID, Query, Mode, Variant, Filter string
		K, Offset                        int
		Documents                        []engine.Document
		Exact                            bool
	}
	if r.Method == http.MethodPost {
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&in); err != nil {
			return refuse(http.StatusBadRequest, "invalid", err)
		}
	}
	q := engine.Query{Text: in.Query, Mode: in.Mode, Variant: in.Variant, K: in.K, Offset: in.Offset, Exact: in.Exact}
	if in.Filter != "" {
		f, err := filter.Parse(in.Filter)
		if err != nil {
			return refuse(http.StatusBadRequest, "invalid_filter", err)
		}
		q.Filter = f
	}
	switch r.Method + " " + strings.Replace(r.URL.Path, "/v1/collections/tales/", "/v1/", 1) { // the same documents
	case "POST /v1/search":
		res, err := c.db.Search(r.Context(), q)
		if err != nil {
			return refuse(http.StatusBadRequest, "invalid", err)
		}
		return http.StatusOK, map[string]any{"mode": res.Trace.Mode, "variant": res.Trace.Variant, "took_ms": 1.5, "hits": lowered(res.Hits), "for": res.For}
	case "POST /v1/explain":
		x, err := c.db.Explain(r.Context(), q, in.ID)
		if err != nil {
			return refuse(http.StatusNotFound, "not_found", err)
		}
		out := lowered(x).(map[string]any)
		out["query"], out["mode"], out["variant"], out["token_score"] = in.Query, x.Trace.Mode, x.Trace.Variant, x.TokenScore
		return http.StatusOK, out
	case "POST /v1/documents":
		res, err := c.db.Upsert(r.Context(), in.Documents)
		if err != nil {
			return refuse(http.StatusBadRequest, "invalid", err)
		}
		return http.StatusOK, lowered(res)
	case "GET /v1/stats":
		s, err := c.db.Stats(r.Context())
		if err != nil {
			return refuse(http.StatusInternalServerError, "internal", err)
		}
		return http.StatusOK, map[string]any{"documents": s.Documents, "model": s.Encoder.Model}
	case "GET /v1/collections":
		return http.StatusOK, map[string]any{"collections": []any{map[string]any{"name": "tales"}}}
	}
	return refuse(http.StatusNotFound, "unknown_path", errors.New(r.URL.Path))
}

// lowered is v with the names of its fields in lower case, as they are in answers;
// metadata stay as they are.
func lowered(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		panic(err)
	}
	return lower(out)
}

func lower(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			if name != "Metadata" {
				x = lower(x)
			}
			out[strings.ToLower(name)] = x
		}
		return out
	case []any:
		for i := range v {
			v[i] = lower(v[i])
		}
	}
	return v
}
