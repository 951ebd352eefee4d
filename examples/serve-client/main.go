// Command serve-client stores two notes in a server and searches them over HTTP, without lexsem's packages.
// client.py and client.mjs in this folder do the same.
//
//	lexsem serve --db notes.db
//	go run ./examples/serve-client -url http://127.0.0.1:7700 "rotate keys"
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:7700", "address that the server printed")
	flag.Parse()
	if err := run(context.Background(), *url, os.Getenv("LEXSEM_KEY"), strings.Join(flag.Args(), " "), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serve-client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, key, query string, out io.Writer) error {
	s := server{url, key}
	notes := map[string]any{"documents": []map[string]any{
		{"id": "keys", "text": "Rotate the signing keys with keyctl rotate.", "metadata": map[string]any{"year": 2024}},
		{"id": "old", "text": "Signing keys were once rotated by hand.", "metadata": map[string]any{"year": 1999}},
	}}
	if err := s.post(ctx, "/v1/documents", notes, nil); err != nil {
		return err
	}
	var found struct {
		Hits []struct {
			ID    string  `json:"id"`
			Score float64 `json:"score"`
			Text  string  `json:"text"`
		} `json:"hits"`
	}
	if err := s.post(ctx, "/v1/search", map[string]any{"query": query, "k": 3, "filter": "year >= 2020"}, &found); err != nil {
		return err
	}
	for _, h := range found.Hits {
		fmt.Fprintf(out, "%.3f %s: %s\n", h.Score, h.ID, h.Text)
	}
	return nil
}

// server is the address of the server, and its key, if it needs one.
type server struct{ url, key string }

// post sends in and reads the answer into out.
func (s server) post(ctx context.Context, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		var refused struct {
			Error struct{ Code, Message string }
		}
		if err := json.NewDecoder(res.Body).Decode(&refused); err != nil {
			return fmt.Errorf("%s: %s", path, res.Status)
		}
		return fmt.Errorf("%s: %s (%s)", path, refused.Error.Message, refused.Error.Code)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}
