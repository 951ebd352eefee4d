package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExample(t *testing.T) {
	var corpus strings.Builder
	for i := range 30 {
		fmt.Fprintf(&corpus, "{\"_id\":\"%d\",\"text\":\"boat number%d lies at quay%d with cargo%d and crew%d before sunset\"}\n", i, i, i%7, i%5, i%3)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "corpus.jsonl"), []byte(corpus.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(dir, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "typos") {
		t.Errorf("no typos in\n%s", out.String())
	}
	if err := run(t.TempDir(), &out); err == nil {
		t.Error("an empty folder was measured")
	}
}
