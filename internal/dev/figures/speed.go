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

// speed compares the speed and the space of this tree with those of a commit (tools/pairs), over the first
// passages of scale-mix and the questions of sure-nq, with made vectors. It fails if one is worse by more than
// 10 %.
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
