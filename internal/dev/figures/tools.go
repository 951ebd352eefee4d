package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workshop holds what measurements share: a temporary folder, the program, which is built
// at its first use, and a permanent folder of encodings and fitted bridges:
// LEXSEM_FIGURES_ENCODINGS, or figures in the program's cache folder.
type workshop struct {
	tmp       string
	encodings string
	built     bool
}

func newWorkshop() (*workshop, error) {
	tmp, err := os.MkdirTemp("", "lexsem-figures-")
	if err != nil {
		return nil, err
	}
	w := &workshop{tmp: tmp, encodings: os.Getenv("LEXSEM_FIGURES_ENCODINGS")}
	if w.encodings == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w; set LEXSEM_FIGURES_ENCODINGS to a folder for encodings", err)
		}
		w.encodings = filepath.Join(cache, "lexsem", "figures")
	}
	return w, nil
}

func (w *workshop) close() { os.RemoveAll(w.tmp) }

// lexsem returns a run of the program.
func (w *workshop) lexsem(ctx context.Context, args ...string) (*exec.Cmd, error) {
	bin := filepath.Join(w.tmp, "lexsem")
	if !w.built {
		if err := command(ctx, "go", "build", "-buildvcs=false", "-o", bin, "./cmd/lexsem").Run(); err != nil {
			return nil, fmt.Errorf("go build: %w", err)
		}
		w.built = true
	}
	return command(ctx, bin, args...), nil
}

// report runs a command of the program with --json, and decodes its report.
func (w *workshop) report(ctx context.Context, into any, args ...string) error {
	out := filepath.Join(w.tmp, "report.json")
	c, err := w.lexsem(ctx, append(args, "--json", out)...)
	if err != nil {
		return err
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("lexsem %s: %w", strings.Join(args, " "), err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the report of lexsem %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// command runs a program whose output is only shown if it fails.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

// dataDir is the folder of the judged sets.
func dataDir() string {
	if d := os.Getenv("LEXSEM_DATA"); d != "" {
		return d
	}
	return filepath.Join("..", "shared", "data")
}
