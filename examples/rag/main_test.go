package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// notes makes a database and returns its folder.
func notes(t *testing.T, enc encoder.Encoder) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "notes.db")
	db, err := engine.Open(t.Context(), dir, enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Upsert(t.Context(), []engine.Document{
		{ID: "keys.md", Title: "Keys", Text: "Signing keys are rotated by keyctl rotate, once a quarter."},
		{ID: "copy.md", Title: "Keys", Text: "Signing keys are rotated by keyctl rotate, once a quarter."},
		{ID: "tea.md", Title: "Tea", Text: "Green tea wants water of eighty degrees."},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAnswer: the model gets the passages and the question, the user its answer and
// where it came from.
func TestAnswer(t *testing.T) {
	var got struct {
		Model    string
		Messages []message
	}
	var path, key string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, key = r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"By keyctl rotate [1]."}}]}`)
	}))
	defer server.Close()
	enc := encoder.NewHash(64)
	var out strings.Builder
	if err := answer(t.Context(), notes(t, enc), enc, chat{server.URL + "/v1", "secret", "small"}, "How are signing keys rotated?", 2, &out); err != nil {
		t.Fatal(err)
	}
	if path != "/v1/chat/completions" || key != "Bearer secret" || got.Model != "small" || len(got.Messages) != 2 || got.Messages[0].Role != "system" {
		t.Fatalf("%s %q %+v", path, key, got)
	}
	asked := got.Messages[1].Content
	if !strings.HasPrefix(asked, "[1] Keys\nSigning keys are rotated by keyctl rotate") || !strings.HasSuffix(asked, "Question: How are signing keys rotated?") {
		t.Errorf("prompt:\n%s", asked)
	}
	if strings.Count(asked, "keyctl rotate") != 1 || !strings.Contains(asked, "[2] Tea") {
		t.Errorf("a copy takes the place of another passage:\n%s", asked)
	}
	if s := out.String(); !strings.HasPrefix(s, "By keyctl rotate [1].\n\n[1] ") || !strings.Contains(s, "[2] tea.md") {
		t.Errorf("output:\n%s", s)
	}
}

// TestRefusals: what a server or a user does wrong is said.
func TestRefusals(t *testing.T) {
	enc := encoder.NewHash(64)
	dir := notes(t, enc)
	for _, c := range []struct {
		name, question, body string
		status               int
		want                 string
	}{
		{"no question", " ", "", 200, "no question"},
		{"refused", "keys?", `{"error":{"message":"no such model"}}`, 404, "no such model"},
		{"no JSON", "keys?", `<html>`, 200, "did not answer in JSON"},
		{"no answer", "keys?", `{"choices":[]}`, 200, "no answer"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		err := answer(t.Context(), dir, enc, chat{url: server.URL, model: "small"}, c.question, 1, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		server.Close()
	}
}
