package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine/remote"
)

// forgetful answers as a server does which stops behind storing what the first batch of passages has, and takes what
// comes again with the same vector for what is in its graph.
type forgetful struct {
	mu      sync.Mutex
	vectors map[string][]float32
	graph   map[string][]float32
	batches int
	queue   int  // vectors that it says are to come
	never   bool // its graph takes none
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in struct {
		Objects []stored
		Query   string
	}
	if r.Method == "POST" {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			panic(err)
		}
	}
	var out any
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/schema/"):
		description, err := json.Marshal(meta{layout, remote.Info{Dim: 2}})
		if err != nil {
			panic(err)
		}
		out = object{"description": mark + string(description)}
	case strings.HasPrefix(r.URL.Path, "/v1/nodes/"):
		out = object{"nodes": []object{{"shards": []object{{"vectorQueueLength": 0}, {"vectorQueueLength": f.queue}}}}}
	case r.URL.Path == "/v1/graphql" && strings.Contains(in.Query, "nearVector"):
		found := []object{}
		for id := range f.graph {
			if strings.Contains(in.Query, id) {
				found = append(found, object{"_additional": object{"id": id}})
			}
		}
		out = object{"data": object{"Get": object{"Test": found}}}
	case r.URL.Path == "/v1/graphql":
		out = object{"data": object{"Get": object{"Test": []object{}}}}
	default:
		var done []object
		for _, o := range in.Objects {
			done = append(done, object{"result": object{"status": "SUCCESS"}})
			if o.Class != "Test" {
				continue
			}
			v := o.Vectors[vectorName]
			if !slices.Equal(f.vectors[o.ID], v) && f.batches > 0 && !f.never {
				f.graph[o.ID] = v
			}
			f.vectors[o.ID] = v
		}
		if len(in.Objects) > 0 && in.Objects[0].Class == "Test" {
			f.batches++
		}
		if f.batches == 1 {
			panic(http.ErrAbortHandler)
		}
		out = done
	}
	json.NewEncoder(w).Encode(out)
}

func open(t *testing.T, f *forgetful, patience time.Duration) *Backend {
	f.vectors, f.graph = map[string][]float32{}, map[string][]float32{}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	b, err := Open(Options{Nodes: []string{s.URL}, Class: "Test", Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func some(n int) (docs [][]remote.Passage) {
	for i := range n {
		docs = append(docs, []remote.Passage{{PassageID: remote.PassageID{ID: fmt.Sprint(i)}, Chunks: 1, Vector: []float32{0, 1}}})
	}
	return docs
}

// TestUnheard: a batch whose answer was lost, behind which the server put no vector into its graph, is there
// whole when Put returns, with its own vectors.
func TestUnheard(t *testing.T) {
	f := &forgetful{}
	b := open(t, f, time.Minute)
	docs := some(page + 1)
	if err := b.Put(t.Context(), docs, true); err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if id := uuidOf(d[0].PassageID); !slices.Equal(f.graph[id], []float32{0, 1}) || !slices.Equal(f.vectors[id], []float32{0, 1}) {
			t.Fatalf("document %s: %v in the graph, %v stored", d[0].ID, f.graph[id], f.vectors[id])
		}
	}
	delete(f.graph, uuidOf(docs[page][0].PassageID))
	ids := []remote.PassageID{{ID: "3"}, {ID: fmt.Sprint(page)}}
	if got, err := b.Unsettled(t.Context(), ids); err != nil || !slices.Equal(got, ids[1:]) {
		t.Errorf("unsettled: %v, %v", got, err)
	}
}

// TestQueue: while the server has vectors to put into its graph, Put does not wait.
func TestQueue(t *testing.T) {
	f := &forgetful{queue: 3}
	b := open(t, f, time.Minute)
	if err := b.Put(t.Context(), some(2), true); err != nil || f.batches != 2 || len(f.graph) != 0 {
		t.Errorf("%v behind %d batches", err, f.batches)
	}
	if got, err := b.Unsettled(t.Context(), []remote.PassageID{{ID: "0"}}); err != nil || len(got) != 0 {
		t.Errorf("unsettled: %v, %v", got, err)
	}
}

// TestNeverSettled: passages that do not come into the graph are an error, within patience or the call's time.
func TestNeverSettled(t *testing.T) {
	b := open(t, &forgetful{never: true}, 300*time.Millisecond)
	if err := b.Put(t.Context(), some(2), true); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), `document "0" is stored, but not in its graph`) {
		t.Error(err)
	}
	b = open(t, &forgetful{never: true}, time.Minute)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if err := b.Put(ctx, some(2), true); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
