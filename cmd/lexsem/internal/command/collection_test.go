package command

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCollectionOfAServer runs each command that takes a database on a collection, while a server has the collection
// open, while a second one is there, and when both have ended.
func TestCollectionOfAServer(t *testing.T) {
	work := t.TempDir()
	db := filepath.Join(work, "db")
	at := func(name string) string { return filepath.Join(work, name) }
	if err := os.WriteFile(at("more.jsonl"), []byte(`{"_id": "m", "text": "more pears"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, first := served(t, "--db", db)
	put := func(url, collection string) {
		t.Helper()
		if code, body := call(t, "PUT", url+"/v1/collections/"+collection, ""); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		if code, body := call(t, "PUT", url+"/v1/collections/"+collection+"/documents/a", `{"text": "an apple of `+collection+`"}`); code != http.StatusOK {
			t.Fatal(code, body)
		}
	}
	found := func(url, collection, query, id string) {
		t.Helper()
		code, body := call(t, "POST", url+"/v1/collections/"+collection+"/search", `{"query": "`+query+`", "k": 1}`)
		if code != http.StatusOK || !strings.Contains(body, `"id":"`+id+`"`) {
			t.Fatal(code, body)
		}
	}
	run := func(want string, args ...string) {
		t.Helper()
		code, said := ran(t.Context(), nil, append(args, "--db", db, "--collection", "acme", "--quiet")...)
		if code != exitOK || !strings.Contains(said, want) {
			t.Errorf("%q: %d, %s", args, code, said)
		}
	}
	every := func(round string) {
		t.Helper()
		run(`"id":"a"`, "search", "--json", "apple")
		run("acme", "stats")
		run("1\n", "count")
		run("an apple of acme", "get", "a")
		run("a", "list")
		run("", "explain", "--id", "a", "apple")
		run("", "embed", "--variant", "rlr", "--role", "query", at("more.jsonl"))
		run("1 document", "backup", at(round+".backup"))
		run("1 document", "export", at(round+".jsonl"))
		run("", "compact")
		run("", "tokens")
		run("", "doctor")
		run("", "index", at("more.jsonl"))
		run("2\n", "count")
		run("", "import", at(round+".jsonl"))
		run("", "delete", "m")
	}
	put(url, "acme")
	every("held")

	second, other := served(t, "--db", db)
	found(second, "acme", "apple", "a")
	put(second, "bolt")
	found(url, "bolt", "apple", "a")
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Fatal(err, first.said)
	}
	found(second, "acme", "apple", "a")
	if err := other.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err != nil {
		t.Fatal(err, other.said)
	}
	every("free")

	// A new one, with the model of the database.
	if code, said := ran(t.Context(), nil, "index", "--db", db, "--collection", "new", "--quiet", at("more.jsonl")); code != exitOK {
		t.Fatal(code, said)
	}
	if code, said := ran(t.Context(), nil, "stats", "--db", db, "--collection", "new"); code != exitOK || !strings.Contains(said, "hash-64") {
		t.Error(code, said)
	}
	// A collection is served as a database is.
	alone, _ := served(t, "--db", db, "--collection", "acme")
	if code, body := call(t, "GET", alone+"/v1/documents/a", ""); code != http.StatusOK || !strings.Contains(body, "an apple of acme") {
		t.Error(code, body)
	}
	if code, body := call(t, "PUT", alone+"/v1/collections/x", ""); code != http.StatusNotFound || !strings.Contains(body, "no_collections") {
		t.Error(code, body)
	}
}

// TestCollectionOpenedByTheServer: a command asks the server to open the collection, so that the server goes on
// answering searches of texts while a command without a model is at work.
func TestCollectionOpenedByTheServer(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	if code, said := ran(t.Context(), nil, "index", "--db", db, "--collection", "acme", "--model", "hash-64", "--quiet", "../../../../README.md"); code != exitOK {
		t.Fatal(code, said)
	}
	url, _ := served(t, "--db", db)
	code, said := ran(t.Context(), nil, "stats", "--db", db, "--collection", "acme")
	if code != exitOK || !strings.Contains(said, "open in") || !strings.Contains(said, "lexsem serve") {
		t.Error(code, said)
	}
	if code, body := call(t, "POST", url+"/v1/collections/acme/search", `{"query": "what is lexsem"}`); code != http.StatusOK {
		t.Error(code, body)
	}
}
