package elastic_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/servers"
)

var (
	one     sync.Once
	single  servers.Cluster
	files   string // of it
	singles error
)

// server is the URL of a server with one node, the same for all tests of the package; TestMain
// ends it. The test is skipped where there is no distribution.
func server(t *testing.T) string {
	t.Helper()
	dist := distribution(t)
	one.Do(func() {
		if files, singles = os.MkdirTemp("", "lexsem-elastic"); singles == nil {
			single, singles = servers.Elasticsearch(context.Background(), dist, files, 1)
		}
	})
	if singles != nil {
		t.Fatal(singles)
	}
	return single[0].URL
}

// distribution is a folder of an Elasticsearch, which .ci/elastic fetches.
func distribution(t *testing.T) string {
	t.Helper()
	dist := os.Getenv("LEXSEM_ELASTICSEARCH")
	if dist == "" {
		t.Skip("LEXSEM_ELASTICSEARCH names no folder of an Elasticsearch; .ci/elastic fetches one")
	}
	return dist
}

func TestMain(m *testing.M) {
	code := m.Run()
	single.Kill()
	os.RemoveAll(files)
	os.Exit(code)
}

// getJSON reads what a URL answers.
func getJSON(url string, to any) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(to)
}
