//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// figures are what commands of one tree take with the default model, by name.
type figures struct {
	// Docs is about the Markdown files of docs, indexed with token states and without.
	Docs map[string]*indexed `json:"docs"`
	// Search is about a command that searches a database of 1,000 passages: medians of 20 runs. Sync is about 510 files,
	// none of them changed: medians of 5 runs.
	Search command `json:"search"`
	Sync   command `json:"sync"`
}

type command struct {
	CPU  float64 `json:"cpu_ms"`
	Wall float64 `json:"wall_ms"`
}

type indexed struct {
	KB   float64 `json:"kb_per_cpu_second"` // of text
	Disk float64 `json:"disk_over_text_bytes"`
}

// alone measures the commands of this tree over its docs and the passages of a corpus.
func alone(ctx context.Context, corpus, out string) error {
	const passages, many, searches, syncs = 1000, 510, 20, 5
	dir, err := os.MkdirTemp("", "commands")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	raw, err := os.ReadFile(corpus)
	if err != nil {
		return err
	}
	lines := strings.SplitAfterN(string(raw), "\n", passages+1)
	if len(lines) <= passages {
		return fmt.Errorf("%s has fewer than %d lines; give a larger corpus", corpus, passages)
	}
	first, folder := filepath.Join(dir, "first.jsonl"), filepath.Join(dir, "folder")
	if err := os.WriteFile(first, []byte(strings.Join(lines[:passages], "")), 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for i, line := range lines[:many] {
		var d struct{ Title, Text string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return fmt.Errorf("%s:%d: %w", corpus, i+1, err)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".txt")), []byte(d.Title+"\n\n"+d.Text+"\n"), 0o600); err != nil {
			return err
		}
	}
	c := &commands{dir: dir}
	if err := c.build(ctx, "."); err != nil {
		return err
	}
	r := figures{Docs: map[string]*indexed{}}
	docs, text := filepath.Join(dir, "docs"), 0.0
	if err := os.Mkdir(docs, 0o700); err != nil {
		return err
	}
	if err := filepath.WalkDir("docs", func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text += float64(len(raw))
		return os.WriteFile(filepath.Join(docs, strings.ReplaceAll(path, string(filepath.Separator), "-")), raw, 0o600)
	}); err != nil {
		return err
	}
	for name, states := range map[string]string{"with token states": "auto", "without": "off"} {
		db := filepath.Join(dir, "docs-"+states)
		t, _, err := c.time(ctx, 0, "index", "--quiet", "--vector-cache", "0", "--state-cache", "0", "--token-states", states, "--db", db, docs)
		if err != nil {
			return err
		}
		n, err := size(db)
		if err != nil {
			return err
		}
		r.Docs[name] = &indexed{text / 1000 / t.CPU, n / text}
	}
	repeat := func(n int, args ...string) (command, error) {
		var cpu, wall []float64
		for i := range n + 1 {
			t, _, err := c.time(ctx, 0, args...)
			if err != nil {
				return command{}, err
			}
			if i > 0 { // the first fills the caches
				cpu, wall = append(cpu, 1000*t.CPU), append(wall, 1000*t.Wall)
			}
		}
		return command{median(cpu), median(wall)}, nil
	}
	db := filepath.Join(dir, "first")
	if _, _, err := c.time(ctx, 0, "index", "--quiet", "--db", db, first); err != nil {
		return err
	}
	if r.Search, err = repeat(searches, "search", "--db", db, "what is the first of all"); err != nil {
		return err
	}
	if r.Sync, err = repeat(syncs, "index", "--quiet", "--db", filepath.Join(dir, "folder.db"), folder); err != nil {
		return err
	}
	return save(r, out)
}

// save writes figures to the file out, or prints them if that is "".
func save(r any, out string) error {
	raw, err := json.MarshalIndent(map[string]any{"commands": r}, "", " ")
	if err != nil || out == "" {
		fmt.Println(string(raw))
		return err
	}
	return os.WriteFile(out, raw, 0o600)
}
