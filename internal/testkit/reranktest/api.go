package reranktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// API is a reranking server for tests. It answers requests in the formats of Cohere (documents) and of
// Text Embeddings Inference (texts), with the scores of Score. Next injects faults.
type API struct {
	URL string
	// Next, if not nil, returns the fault of call n, from 0. It is called by one goroutine at a time.
	// Do not change it during calls.
	Next func(n int) Fault
	// Delay is the duration of each call.
	Delay time.Duration
	// Most is the maximum number of texts per call. 0 means no limit.
	Most int

	mu      sync.Mutex
	running int
	most    int
	calls   []Call
}

// Call is one received call.
type Call struct {
	Path, Auth, Body string
}

// Fault is an error in a response. The zero Fault means no error.
type Fault struct {
	Status int                          // HTTP status, if not 200
	After  string                       // Retry-After header
	Body   string                       // replaces the response
	Cut    bool                         // breaks the connection in the middle of the response
	Spoil  func(r []map[string]any) any // replaces the results, which it gets in order
}

// NewAPI starts a server. It stops at the end of the test.
func NewAPI(t testing.TB) *API {
	a := &API{}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.URL = s.URL
	return a
}

// Calls returns the calls so far and the maximum number of concurrent calls.
func (a *API) Calls() (calls []Call, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls), a.most
}

// Score is the share of the query's words that occur in the text, minus a small amount for the text's
// length.
func Score(query, text string) float64 {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return 0
	}
	n := 0
	for _, w := range words {
		if strings.Contains(strings.ToLower(text), w) {
			n++
		}
	}
	return float64(n)/float64(len(words)) - float64(len(text))*1e-7
}

// Scores returns the Score of each text. It can be used as a rerank.Func.
func Scores(_ context.Context, query string, texts []string) ([]float64, error) {
	out := make([]float64, len(texts))
	for i, t := range texts {
		out[i] = Score(query, t)
	}
	return out, nil
}

// ServeHTTP answers one call.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string
		Documents []string
		Texts     []string
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || json.Unmarshal(raw, &in) != nil {
		http.Error(w, `{"message":"no JSON"}`, http.StatusBadRequest)
		return
	}
	tei := in.Texts != nil
	texts := append(in.Documents, in.Texts...)
	f := a.begin(Call{Path: r.URL.Path, Auth: r.Header.Get("Authorization"), Body: string(raw)})
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running--
	}()
	select {
	case <-time.After(a.Delay):
	case <-r.Context().Done():
		return
	}
	if a.Most > 0 && len(texts) > a.Most {
		f = Fault{Status: http.StatusRequestEntityTooLarge, Body: fmt.Sprintf(`{"error":"batch size %d > maximum allowed batch size %d","error_type":"Validation"}`, len(texts), a.Most)}
	}
	w.Header().Set("X-Request-Id", "req-1")
	if f.After != "" {
		w.Header().Set("Retry-After", f.After)
	}
	if f.Status != 0 || f.Body != "" {
		w.WriteHeader(max(f.Status, http.StatusOK))
		fmt.Fprint(w, f.Body)
		return
	}
	body, err := json.Marshal(results(in.Query, texts, tei, f))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if f.Cut {
		w.Write(body[:len(body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Write(body)
}

// begin counts a call.
func (a *API) begin(c Call) (f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Next != nil {
		f = a.Next(len(a.calls))
	}
	a.calls = append(a.calls, c)
	a.running++
	a.most = max(a.most, a.running)
	return f
}

// results returns the answer, best first.
func results(query string, texts []string, tei bool, f Fault) any {
	name := "relevance_score"
	if tei {
		name = "score"
	}
	list := make([]map[string]any, len(texts))
	for i, t := range texts {
		list[i] = map[string]any{"index": i, name: Score(query, t)}
	}
	slices.SortStableFunc(list, func(x, y map[string]any) int {
		switch a, b := x[name].(float64), y[name].(float64); {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	var all any = list
	if f.Spoil != nil {
		all = f.Spoil(list)
	}
	if tei {
		return all
	}
	return map[string]any{"id": "r-1", "model": "m", "results": all, "usage": map[string]int{"total_tokens": 7}}
}
