package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// TestRun starts the servers that the environment names, and ends them.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		kind, variable string
		nodes          int
		scheme         string
	}{
		{"elasticsearch", "LEXSEM_ELASTICSEARCH", 2, "elasticsearch://127.0.0.1:"},
		{"weaviate", "LEXSEM_WEAVIATE", 3, "weaviate://127.0.0.1:"},
		{"postgres", "LEXSEM_POSTGRES", 1, "postgres://lexsem@127.0.0.1:"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			program := os.Getenv(c.variable)
			if program == "" {
				t.Skip(c.variable, "names no program")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			dir, err := os.MkdirTemp("", "lexsem-cluster") // others may enter it, unlike that of t.TempDir
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			r, w := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				err := run(ctx, []string{"--nodes", fmt.Sprint(c.nodes), "--dir", dir, c.kind, program}, w)
				w.CloseWithError(fmt.Errorf("it ended: %w", err))
				ended <- err
			}()
			line, err := bufio.NewReader(r).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, c.scheme) || strings.Count(line, ",") != c.nodes-1 {
				t.Errorf("%q, %v", line, err)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"": "its program", "elasticsearch": "its program", "--nodes 0 weaviate x": "0 nodes", "--nodes x weaviate x": "nodes", "solr x": `"solr"`,
		"weaviate /none/weaviate": "/none/weaviate", "elasticsearch /none": "/none", "postgres /none": "/none",
	} {
		dir := t.TempDir()
		err := run(t.Context(), append([]string{"--dir", dir}, strings.Fields(args)...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%q leaves %v, %v", args, left, err)
		}
	}
}
