package elastic_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/elastic"
)

// busy adds up the time in which some call to the server waits for its answer.
type busy struct {
	http.RoundTripper
	mu      sync.Mutex
	running int
	since   time.Time
	total   time.Duration
}

func (b *busy) change(by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running == 0 {
		b.since = time.Now()
	}
	if b.running += by; b.running == 0 {
		b.total += time.Since(b.since)
	}
}

func (b *busy) RoundTrip(req *http.Request) (*http.Response, error) {
	b.change(1)
	res, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		b.change(-1)
		return nil, err
	}
	res.Body = &busyBody{res.Body, b, false}
	return res, nil
}

// busyBody is an answer that is waited for until its end.
type busyBody struct {
	io.ReadCloser
	b    *busy
	done bool
}

func (r *busyBody) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !r.done {
		r.done = true
		r.b.change(-1)
	}
	return n, err
}

func (r *busyBody) Close() error {
	if !r.done {
		r.done = true
		r.b.change(-1)
	}
	return r.ReadCloser.Close()
}

// BenchmarkOver is a hybrid search of the abstracts of SciFact (LEXSEM_DATA), of which 200 and more candidates
// come to this side. It reports how long the server was waited for, and what this side took
// beside it, encoding included: with a hash encoder that is a part of a millisecond.
func BenchmarkOver(b *testing.B) {
	data := os.Getenv("LEXSEM_DATA")
	url := os.Getenv("LEXSEM_ELASTICSEARCH_URL")
	if data == "" || url == "" {
		b.Skip("LEXSEM_DATA and LEXSEM_ELASTICSEARCH_URL name no judged sets and no server")
	}
	type record struct {
		ID    string `json:"_id"`
		Title string
		Text  string
	}
	read := func(name string, do func(record)) {
		f, err := os.Open(filepath.Join(data, "scifact", name))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
			var r record
			if err := d.Decode(&r); err != nil {
				b.Fatal(err)
			}
			do(r)
		}
	}
	t := &busy{RoundTripper: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	e, err := elastic.Open(elastic.Options{Nodes: strings.Split(url, ","), Index: "bench-over", HTTP: &http.Client{Transport: t}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.Drop(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	if err := e.Drop(b.Context()); err != nil {
		b.Fatal(err)
	}
	r, err := remote.Over(b.Context(), e, encoder.NewHash(384), remote.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	var docs []engine.Document
	read("corpus.jsonl", func(r record) { docs = append(docs, engine.Document{ID: r.ID, Title: r.Title, Text: r.Text}) })
	if _, err := r.Upsert(b.Context(), docs); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "bridge")
	if _, err := r.MakeBridge(b.Context(), file, remote.BridgeOptions{}); err != nil {
		b.Fatal(err)
	}
	if r, err = remote.Over(b.Context(), e, encoder.NewHash(384), remote.Options{Bridge: file}); err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var queries []string
	read("queries.jsonl", func(r record) { queries = append(queries, r.Text) })
	search := func(i int) {
		if _, err := r.Search(b.Context(), engine.Query{Text: queries[i%len(queries)]}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 100 { // the server's own compilers
		search(i)
	}
	t.total = 0
	n := 0
	began := time.Now()
	for b.Loop() {
		search(n)
		n++
	}
	took := time.Since(began)
	b.ReportMetric(t.total.Seconds()*1000/float64(n), "server-ms")
	b.ReportMetric((took-t.total).Seconds()*1000/float64(n), "ours-ms")
}
