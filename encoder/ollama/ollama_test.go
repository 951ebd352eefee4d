package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/encoder/ollama"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

const dim = 24

func opened(t *testing.T, o ollama.Options) encoder.Encoder {
	t.Helper()
	e, err := ollama.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConformance(t *testing.T) {
	encodertest.Run(t, func(t *testing.T) encoder.Encoder {
		return opened(t, ollama.Options{Model: "m", Dim: dim, BaseURL: encoders.NewAPI(t, dim).URL})
	})
}

// TestExchange holds requests and answers to the form that Ollama documents, and
// texts to the prefixes of the model.
func TestExchange(t *testing.T) {
	var path string
	var body map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, body = r.Method+" "+r.URL.Path+r.Header.Get("Authorization"), nil
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		answer := map[string]any{"model": "nomic-embed-text", "total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": 8}
		var vectors [][]float32
		for i := range body["input"].([]any) {
			v := make([]float32, 768)
			v[i], v[700] = 3, 4
			vectors = append(vectors, v)
		}
		answer["embeddings"] = vectors
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	t.Setenv("OLLAMA_HOST", strings.TrimPrefix(s.URL, "http://"))
	e := opened(t, ollama.Options{Model: "nomic-embed-text"})
	for role, prefix := range map[encoder.Role]string{encoder.Passage: "search_document: ", encoder.Query: "search_query: "} {
		out, err := e.Encode(t.Context(), role, encoder.Texts("one", "two"), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"model": "nomic-embed-text", "input": []any{prefix + "one", prefix + "two"}, "truncate": false}
		if path != "POST /api/embed" || !reflect.DeepEqual(body, want) {
			t.Errorf("%s: %s, %v", role, path, body)
		}
		if v := out[1].Dense; math.Abs(float64(v[1])-.6) > 1e-6 || math.Abs(float64(v[700])-.8) > 1e-6 {
			t.Errorf("%v", v)
		}
	}
	if f := e.Fingerprint(); f.Model != "ollama:nomic-embed-text" || f.Dim != 768 || f.MaxTokens != 2048 || f.QueryPrefix != "search_query: " || f.Probed() {
		t.Errorf("%+v", f)
	}
	if f := opened(t, ollama.Options{Model: "nomic-embed-text:v1.5", QueryPrefix: "q: "}).Fingerprint(); f.Dim != 768 || f.QueryPrefix != "q: " || f.PassagePrefix != "" {
		t.Errorf("prefixes of the caller's: %+v", f)
	}
	if f := opened(t, ollama.Options{Model: "snowflake-arctic-embed:xs", Dim: 384}).Fingerprint(); f.Dim != 384 || f.MaxTokens != 0 {
		t.Errorf("another size: %+v", f)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		fault encoders.Fault
		says  string
		is    error
	}{
		"not there": {encoders.Fault{Status: 404, Body: `{"error":"model \"m\" not found, try pulling it first"}`}, `status 404: model "m" not found, try pulling it first`, encoder.ErrSource},
		"too long":  {encoders.Fault{Status: 400, Body: `{"error":"the input length exceeds the context length"}`}, "text 0: ", encoder.ErrSource},
		"html":      {encoders.Fault{Status: 404, Body: `<html>`}, "status 404", encoder.ErrSource},
		"few":       {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { return nil }}, "0 vectors for 1 texts", encoder.ErrContract},
		"dimension": {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { v[0] = append(v[0], 1); return v }}, "a vector of length 25 instead of 24", encoder.ErrContract},
		"zeros":     {encoders.Fault{Spoil: func(v [][]float32) [][]float32 { clear(v[0]); return v }}, "zeros", encoder.ErrContract},
	} {
		api := encoders.NewAPI(t, dim)
		api.Next = func(int, []string) encoders.Fault { return c.fault }
		e := opened(t, ollama.Options{Model: "m", Dim: dim, BaseURL: api.URL})
		_, err := e.Encode(t.Context(), encoder.Passage, encoder.Texts("a"), encoder.NeedDense)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "ollama:m") {
			t.Errorf("%s: %v", name, err)
		}
		if calls, _ := api.Calls(); calls != 1 {
			t.Errorf("%s: %d calls", name, calls)
		}
	}
	e := opened(t, ollama.Options{Model: "m", Dim: 3, BaseURL: "http://127.0.0.1:1"})
	if _, err := e.Encode(context.Background(), encoder.Query, encoder.Texts("a"), encoder.NeedDense); !errors.Is(err, encoder.ErrSource) || !strings.Contains(err.Error(), "ollama serve") {
		t.Errorf("nobody there: %v", err)
	}
	for name, o := range map[string]ollama.Options{
		"no model":          {},
		"unknown dimension": {Model: "other"},
		"other dimension":   {Model: "nomic-embed-text", Dim: 100},
		"concurrency":       {Model: "other", Dim: 3, Concurrency: -1},
		"URL":               {Model: "other", Dim: 3, BaseURL: "ftp://x"},
		"password":          {Model: "other", Dim: 3, BaseURL: "me:secret@localhost"},
	} {
		if _, err := ollama.New(o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
