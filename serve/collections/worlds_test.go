package collections_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/serve/collections"
	"github.com/lexsem/lexsem/serve/httpapi"
)

// world runs programs in one configuration.
type world struct {
	name    string
	o       collections.Options
	states  bool // tokens have states
	first   bool // documents are stored words first
	held    bool // another Set has the collections open
	server  *httpapi.Server
	overWeb bool
	far     *far // the collections are in another search engine

	dir, backups string
	holder, set  *collections.Set // holder is nil where set opens the collections
	main         *engine.Engine   // of the server
	parts        map[string]int   // of backups, by collection
}

// worlds are the configurations, each with no collections.
func worlds(t *testing.T) []*world {
	t.Helper()
	var all []*world
	for _, c := range []struct {
		index  string
		states bool
		how    string
	}{
		{"flat", false, ""}, {"flat-int8", false, "held"}, {"hnsw", false, "http"}, {"hnsw-int8", false, "one open"}, {"hnsw-compact", false, ""}, {"hnsw-fast", false, "held"},
		{"flat", true, ""}, {"flat-int8", true, "http"}, {"hnsw-int8", true, "held"}, {"hnsw", true, "one open"},
		// Words first with token states is another database: of a document that was replaced before its vectors were made, no token is
		// encoded, so the states begin later and have another basis. TestWordsFirstTokenStates is about them.
		{"flat-int8", false, "words first"}, {"hnsw-int8", false, "held, words first"},
	} {
		w := &world{name: fmt.Sprintf("%s, token states %t, %s", c.index, c.states, c.how), states: c.states, held: strings.HasPrefix(c.how, "held"), first: strings.HasSuffix(c.how, "words first"), overWeb: c.how == "http",
			dir: t.TempDir(), backups: t.TempDir(), parts: map[string]int{}}
		w.o.Engine = engine.Options{NoSync: true, MemoryMiB: 16, Index: c.index, TokenStates: engine.TokenStatesOff}
		if c.states {
			w.o.Engine.TokenStates = engine.TokenStatesOn
		}
		if c.how == "one open" {
			w.o.MaxOpen = 1
		}
		w.begin(t)
		all = append(all, w)
	}
	all = append(all, &world{name: "in front of a Backend", far: inMemory()})
	if postgres != "" {
		all = append(all, &world{name: "in front of pgvector", far: inPostgres(postgres)})
	}
	return all
}

var programEncoder = encoder.NewHash(16)

func (w *world) begin(t *testing.T) {
	t.Helper()
	var err error
	if w.held {
		if w.holder, err = collections.Open(w.dir, programEncoder, w.o); err != nil {
			t.Fatal(err)
		}
	}
	if w.set, err = collections.Open(w.dir, programEncoder, w.o); err != nil {
		t.Fatal(err)
	}
	if !w.overWeb {
		return
	}
	if w.main, err = engine.Open(t.Context(), "", nil, engine.Options{InMemory: true, Dim: 2}); err != nil {
		t.Fatal(err)
	}
	if w.server, err = httpapi.New(w.main, httpapi.Options{Collections: w.set, Encoder: programEncoder}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) end(t *testing.T) {
	t.Helper()
	if w.far != nil {
		if err := w.far.end(); err != nil {
			t.Fatal(err)
		}
		return
	}
	err := w.set.Close()
	if w.holder != nil {
		err = errors.Join(err, w.holder.Close())
	}
	if w.main != nil {
		err = errors.Join(err, w.main.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// failed is the reply for an error: its kind, as HTTP names it.
func failed(err error) reply {
	for _, k := range []struct {
		err  error
		code string
	}{{engine.ErrNotFound, "not_found"}, {engine.ErrExists, "exists"}, {engine.ErrInvalid, "invalid"}} {
		if errors.Is(err, k.err) {
			return reply{text: k.code}
		}
	}
	return reply{text: err.Error()}
}

func said(v any, err error) reply {
	if err == nil {
		var b []byte
		if b, err = json.Marshal(v); err == nil {
			return reply{text: string(b)}
		}
	}
	return failed(err)
}

func (d doc) document() engine.Document {
	return engine.Document{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata}
}

func sortByID(docs []doc) {
	slices.SortFunc(docs, func(a, b doc) int { return strings.Compare(a.ID, b.ID) })
}

// docOf is what of a document all worlds answer.
func docOf(d engine.Document) doc {
	return doc{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata}
}

// counts are what of a report all worlds answer.
func counts(r engine.AddResult) []int { return []int{r.Added, r.Replaced, r.Unchanged} }

// run makes one step.
func (w *world) run(t *testing.T, o op) reply {
	t.Helper()
	ctx := t.Context()
	if w.far != nil {
		if r, ok := w.far.run(t, o); ok {
			return r
		}
		return w.inDatabase(t, w.far.all[o.In], o)
	}
	switch o.Do {
	case "reopen":
		w.end(t)
		w.begin(t)
		return reply{}
	case "create":
		if w.holder != nil {
			return said("", w.holder.Create(ctx, o.In, ""))
		}
		if w.overWeb {
			return w.ask(t, "PUT", o.In, "", nil, nil)
		}
		return said("", w.set.Create(ctx, o.In, ""))
	case "drop":
		if w.holder != nil {
			return said("", w.holder.Drop(ctx, o.In))
		}
		if w.overWeb {
			return w.ask(t, "DELETE", o.In, "", nil, nil)
		}
		return said("", w.set.Drop(ctx, o.In))
	case "names":
		return said(w.set.List(ctx))
	case "restore":
		return w.restore(t, o.In)
	}
	if w.holder != nil { // it opens the collection first
		if err := w.holder.Share(ctx, o.In); err != nil {
			return failed(err)
		}
	}
	db, err := w.set.Get(ctx, o.In)
	if err != nil {
		return failed(err)
	}
	return w.inDatabase(t, db, o)
}

// inDatabase makes a step in a database.
func (w *world) inDatabase(t *testing.T, db engine.Database, o op) reply {
	t.Helper()
	ctx, f := t.Context(), engine.Filter{}
	var err error
	if o.Filter != "" {
		if f, err = filter.Parse(o.Filter); err != nil {
			return failed(err)
		}
	}
	if o.Do == "search" {
		if err := db.Flush(ctx); err != nil { // texts whose words came first have their vectors now
			return failed(err)
		}
		if w.states { // texts get none before 1,024 tokens were encoded since the opening
			if _, err := db.KeepTokenStates(ctx); err != nil {
				return failed(err)
			}
			if err := db.Flush(ctx); err != nil {
				return failed(err)
			}
		}
	}
	if w.overWeb {
		if r, ok := w.byWeb(t, o); ok {
			return r
		}
	}
	docs := make([]engine.Document, len(o.Docs))
	for i, d := range o.Docs {
		docs[i] = d.document()
		docs[i].WordsFirst = w.first
	}
	switch o.Do {
	case "upsert":
		r, err := db.Upsert(ctx, docs)
		return said(counts(r), err)
	case "add":
		r, err := db.Add(ctx, docs)
		return said(counts(r), err)
	case "patch":
		return said(db.Patch(ctx, []engine.Patch{{ID: o.IDs[0], Metadata: o.Patch}}))
	case "delete":
		return said(db.Delete(ctx, o.IDs))
	case "delete where":
		return said(db.DeleteWhere(ctx, f))
	case "get":
		d, err := db.Get(ctx, o.IDs[0])
		return said(docOf(d), err)
	case "list":
		listed := []doc{}
		for d, err := range db.List(ctx, f, o.After) {
			if err != nil {
				return failed(err)
			}
			listed = append(listed, docOf(d))
		}
		if w.far != nil {
			sortByID(listed)
		}
		return said(listed, nil)
	case "count":
		return said(db.Count(ctx, f))
	case "search":
		res, err := db.Search(ctx, engine.Query{Text: o.Query, Mode: o.Mode, Filter: f, K: 100, Variant: o.Variant, Exact: o.Variant != ""})
		if err != nil {
			return failed(err)
		}
		r := reply{text: res.Trace.Mode}
		for _, h := range res.Hits {
			r.hits = append(r.hits, hit{h.ID, float64(h.Score)})
		}
		return r
	case "export":
		var b bytes.Buffer
		n, err := db.Export(ctx, &b, archive.ExportOptions{})
		if err != nil {
			return failed(err)
		}
		exported := make([]doc, n)
		for i, d := 0, json.NewDecoder(&b); i < n; i++ {
			var line struct {
				ID string `json:"_id"`
				doc
			}
			if err := d.Decode(&line); err != nil {
				return failed(err)
			}
			exported[i] = line.doc
			exported[i].ID = line.ID
		}
		// Documents get new places when they get token states.
		sortByID(exported)
		return said(exported, nil)
	case "compact":
		return said("", db.Compact(ctx))
	case "backup":
		r, err := db.Backup(ctx, filepath.Join(w.backups, o.In))
		return said(r.Documents, err)
	}
	t.Fatalf("unknown step %q", o.Do)
	return reply{}
}

// restore has the last backup of a collection take its place.
func (w *world) restore(t *testing.T, name string) reply {
	t.Helper()
	f, err := os.Open(filepath.Join(w.backups, name))
	if errors.Is(err, os.ErrNotExist) {
		return reply{text: "no backup"}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	by := w.set
	if w.holder != nil {
		by = w.holder
	}
	if err := by.Drop(t.Context(), name); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return failed(err)
	}
	r, err := archive.Restore(t.Context(), filepath.Join(w.dir, name), f, archive.RestoreOptions{})
	if err == nil { // it is another history
		err = os.Remove(f.Name())
	}
	return said(r.Documents, err)
}

// byWeb makes a step over HTTP, where there is a route for it.
func (w *world) byWeb(t *testing.T, o op) (reply, bool) {
	t.Helper()
	switch o.Do {
	case "upsert":
		var r struct{ Added, Replaced, Unchanged int }
		return w.ask(t, "POST", o.In+"/documents", "", map[string]any{"documents": o.Docs}, func(body []byte) (any, error) {
			err := json.Unmarshal(body, &r)
			return []int{r.Added, r.Replaced, r.Unchanged}, err
		}), true
	case "patch":
		return w.ask(t, "PATCH", o.In+"/documents/"+url.PathEscape(o.IDs[0]), "", map[string]any{"metadata": o.Patch}, number("patched")), true
	case "delete":
		return w.ask(t, "DELETE", o.In+"/documents", url.Values{"id": o.IDs}.Encode(), nil, number("deleted")), true
	case "delete where":
		return w.ask(t, "DELETE", o.In+"/documents", url.Values{"filter": {o.Filter}}.Encode(), nil, number("deleted")), true
	case "get":
		var d doc
		return w.ask(t, "GET", o.In+"/documents/"+url.PathEscape(o.IDs[0]), "", nil, func(body []byte) (any, error) {
			err := json.Unmarshal(body, &d)
			return d, err
		}), true
	case "list":
		var r struct{ Documents []doc }
		return w.ask(t, "GET", o.In+"/documents", url.Values{"filter": {o.Filter}, "after": {o.After}, "limit": {"1000"}}.Encode(), nil, func(body []byte) (any, error) {
			err := json.Unmarshal(body, &r)
			return r.Documents, err
		}), true
	case "search":
		r := reply{}
		got := w.ask(t, "POST", o.In+"/search", "", map[string]any{"query": o.Query, "mode": o.Mode, "filter": o.Filter, "k": 100, "variant": o.Variant, "exact": o.Variant != ""}, func(body []byte) (any, error) {
			var s struct {
				Mode string
				Hits []struct {
					ID    string
					Score float64
				}
			}
			err := json.Unmarshal(body, &s)
			r.text = s.Mode
			for _, h := range s.Hits {
				r.hits = append(r.hits, hit{h.ID, h.Score})
			}
			return nil, err
		})
		if r.text == "" {
			return got, true
		}
		return r, true
	}
	return reply{}, false
}

// number reads a field of an answer.
func number(field string) func([]byte) (any, error) {
	return func(body []byte) (any, error) {
		var r map[string]any
		err := json.Unmarshal(body, &r)
		return r[field], err
	}
}

// ask makes a request of a collection. read, if not nil, reads what is answered.
func (w *world) ask(t *testing.T, method, path, query string, body any, read func([]byte) (any, error)) reply {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost/v1/collections/"+path+"?"+query, bytes.NewReader(raw))
	if body == nil {
		r.Body = http.NoBody
		r.ContentLength = 0
	}
	r.Header.Set("Content-Type", "application/json")
	a := httptest.NewRecorder()
	w.server.ServeHTTP(a, r)
	if a.Code >= 300 {
		var e struct{ Error struct{ Code string } }
		if err := json.Unmarshal(a.Body.Bytes(), &e); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, a.Code, a.Body)
		}
		if e.Error.Code == "invalid_filter" {
			return reply{text: "invalid"}
		}
		return reply{text: e.Error.Code}
	}
	if read == nil {
		return said("", nil)
	}
	return said(read(a.Body.Bytes()))
}
