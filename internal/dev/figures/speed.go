package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// speed compares this tree with a commit (tools/pairs): adding, opening, searches of each kind, backup, space and
// memory, over the first passages of scale-mix and the questions of sure-nq, with made vectors; and commands: encoding,
// a search, and a sync of unchanged files. It fails if one takes more than 10 % more CPU time, space or memory.
func speed(ctx context.Context, commit string) error {
	const passages, limit = 20_000, "1.1"
	if commit == "" {
		return errors.New("name the commit to compare with: .ci/figures speed COMMIT")
	}
	w, err := newWorkshop()
	if err != nil {
		return err
	}
	defer w.close()
	args := []string{"run", "./tools/pairs", "-against", commit, "-limit", limit}
	for _, set := range []struct{ name, file string }{{"documents", "scale-mix/corpus.jsonl"}, {"queries", "sure-nq/queries.jsonl"}} {
		base := filepath.Join(w.tmp, set.name)
		if err := head(filepath.Join(dataDir(), set.file), base+".jsonl", passages); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"index", "--quiet", "--model", "hash-384", "--token-states", "off", "--db", base, base + ".jsonl"},
			{"export", "--db", base, "--vectors", base + "-vectors.jsonl"},
		} {
			c, err := w.lexsem(ctx, args...)
			if err != nil {
				return err
			}
			if err := c.Run(); err != nil {
				return fmt.Errorf("lexsem %s: %w", args[0], err)
			}
		}
		args = append(args, base+"-vectors.jsonl")
	}
	c := command(ctx, "go", args...)
	c.Stdout = os.Stdout
	return c.Run()
}

// head copies the first n lines of a file.
func head(from, to string, n int) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	lines := bufio.NewReader(in)
	for ; n > 0; n-- {
		line, err := lines.ReadBytes('\n')
		if _, werr := out.Write(line); werr != nil {
			return werr
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}
