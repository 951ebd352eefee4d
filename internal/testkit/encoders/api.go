// Package encoders has encoders for tests: [API], a server of embeddings that fails on request; [Tiny] and
// [Crosses], models with random weights; [Pixels] and [Towers], encoders of images without a model;
// [Recordings], the tokens that the reference tokenizer makes of difficult strings.
package encoders

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// API is an embedding server for tests. It answers like OpenAI at /v1/embeddings and like Ollama at
// /api/embed, with the vectors of encoder.Hash. Next injects faults.
type API struct {
	URL string
	// Next, if not nil, returns the fault of call n, from 0. It is called by one goroutine at a time.
	// Do not change it during calls.
	Next func(n int, texts []string) Fault
	// Delay is the duration of each call.
	Delay time.Duration

	hash *encoder.Hash

	mu      sync.Mutex
	calls   int
	running int
	most    int
	texts   map[string]int
	bodies  []string
}

// Fault is an error in a response. The zero Fault means no error.
type Fault struct {
	Status int                             // HTTP status, if not 200
	After  string                          // Retry-After header
	Body   string                          // replaces the response
	Cut    bool                            // breaks the connection in the middle of the response
	Spoil  func(v [][]float32) [][]float32 // replaces the vectors
	Edit   func(answer map[string]any)     // changes the response
	Floats bool                            // sends numbers although base64 was requested
}

// NewAPI starts a server with vectors of length dim. It stops at the end of the test.
func NewAPI(t testing.TB, dim int) *API {
	a := &API{hash: encoder.NewHash(dim), texts: map[string]int{}}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.URL = s.URL
	return a
}

// Calls returns the number of calls and the maximum number of concurrent calls.
func (a *API) Calls() (calls, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls, a.most
}

// Served returns how often each text was embedded.
func (a *API) Served() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.texts)
}

// Bodies returns the request bodies of the calls.
func (a *API) Bodies() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.bodies)
}

// ServeHTTP answers one call.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Input    []string `json:"input"`
		Encoding string   `json:"encoding_format"`
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || json.Unmarshal(raw, &in) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	f := a.begin(string(raw), in.Input)
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
	if f.After != "" {
		w.Header().Set("Retry-After", f.After)
	}
	if f.Status != 0 || f.Body != "" {
		w.Header().Set("X-Request-Id", "req-1")
		w.WriteHeader(max(f.Status, http.StatusOK))
		fmt.Fprint(w, f.Body)
		return
	}
	a.answer(w, r, in.Input, in.Encoding == "base64" && !f.Floats, f)
}

// begin counts a call.
func (a *API) begin(body string, texts []string) (f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Next != nil {
		f = a.Next(a.calls, texts)
	}
	a.calls++
	a.running++
	a.most = max(a.most, a.running)
	a.bodies = append(a.bodies, body)
	return f
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, texts []string, packed bool, f Fault) {
	out, err := a.hash.Encode(context.Background(), encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var vectors [][]float32
	tokens := 0
	for _, o := range out {
		vectors = append(vectors, o.Dense)
		tokens += len(o.Tokens.IDs)
	}
	if f.Spoil != nil {
		vectors = f.Spoil(vectors)
	}
	answer := map[string]any{"embeddings": vectors, "model": "m", "prompt_eval_count": tokens}
	if r.URL.Path == "/v1/embeddings" {
		var data []map[string]any
		for i, v := range vectors {
			var e any = v
			if packed {
				e = base64.StdEncoding.EncodeToString(floats(v))
			}
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": e})
		}
		answer = map[string]any{"object": "list", "data": data, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}}
	}
	if f.Edit != nil {
		f.Edit(answer)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("X-Request-Id", "req-1")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if f.Cut {
		w.Write(body[:len(body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	a.mu.Lock()
	for _, t := range texts {
		a.texts[t]++
	}
	a.mu.Unlock()
	w.Write(body)
}

func floats(v []float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}
