package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExample follows docs/study.md: the program, with the encoder that the page shows.
func TestExample(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var corpus strings.Builder
	for i := range 30 {
		fmt.Fprintf(&corpus, "{\"_id\":\"%d\",\"text\":\"boat number%d lies at quay%d with cargo%d and crew%d before sunset\"}\n", i, i, i%7, i%5, i%3)
	}
	write("corpus.jsonl", corpus.String())
	if err := run(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("an empty folder was measured")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the encoder of docs/study.md is not run")
	}
	page, err := os.ReadFile("../../docs/study.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```python\n")
	model, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/study.md shows no Python")
	}
	module, err := os.ReadFile("../../tools/process/lexsem_encoder.py")
	if err != nil {
		t.Fatal(err)
	}
	write("lexsem_encoder.py", string(module))
	write("model.py", model)
	if err := run(t.Context(), dir, []string{python, filepath.Join(dir, "model.py")}); err != nil {
		t.Errorf("the encoder of docs/study.md: %v", err)
	}
}
