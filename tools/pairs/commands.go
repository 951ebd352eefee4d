//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	files    = 500 // text files of the folder that commands index
	starts   = 10  // processes that search
	encoded  = 200 // texts to encode
	textSize = 400 // bytes of each of them, about
	model    = "all-MiniLM-L6-v2-int8"
)

// commands are the programs of two trees, and what they work on.
type commands struct {
	dir      string
	programs []string // that of the other tree, that of this one
	encoder  string   // why encoding is not measured, if it is not
}

// newCommands builds both programs, and a database of the same folder with each.
func newCommands(ctx context.Context, dir string, trees [2]string, documents string) (*commands, error) {
	docs, err := read(documents)
	if err != nil {
		return nil, err
	}
	c := &commands{dir: dir}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	var lines strings.Builder
	for i := range files {
		text := strings.Join(strings.Fields(docs[i%len(docs)].Text), " ")
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".txt")), []byte(text+"\n"), 0o644); err != nil {
			return nil, err
		}
		if i < encoded {
			lines.WriteString(strings.ToValidUTF8(text[:min(len(text), textSize)], "") + "\n")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lines.txt"), []byte(lines.String()), 0o644); err != nil {
		return nil, err
	}
	for i, tree := range trees {
		if err := c.build(ctx, tree); err != nil {
			return nil, err
		}
		if _, _, err := c.time(ctx, i, "index", "--quiet", "--model", "hash-384", "--db", c.db(i), folder); err != nil {
			return nil, err
		}
	}
	if _, err := c.encode(ctx, 1); err != nil {
		c.encoder = err.Error()
	}
	return c, nil
}

// build makes the program of a tree.
func (c *commands) build(ctx context.Context, tree string) error {
	program := filepath.Join(c.dir, fmt.Sprint("lexsem", len(c.programs)))
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, "./cmd/lexsem")
	build.Dir = tree
	c.programs = append(c.programs, program)
	return run(build)
}

func (c *commands) db(i int) string { return filepath.Join(c.dir, fmt.Sprint("db", i)) }

// time runs a command of a program, and returns its times in seconds and the most memory it had in MiB.
func (c *commands) time(ctx context.Context, i int, args ...string) (times, float64, error) {
	cmd := exec.CommandContext(ctx, c.programs[i], args...)
	start := time.Now()
	if err := run(cmd); err != nil {
		return times{}, 0, err
	}
	t := times{CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), Wall: time.Since(start).Seconds()}
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return t, 0, fmt.Errorf("the system tells no usage of %s", cmd.Path)
	}
	return t, float64(u.Maxrss) / 1024, nil
}

func (c *commands) encode(ctx context.Context, i int) (times, error) {
	t, _, err := c.time(ctx, i, "embed", "--quiet", "--offline", "--backend", "native", "--model", model, "--out", filepath.Join(c.dir, "vectors"), filepath.Join(c.dir, "lines.txt"))
	return t, err
}

// measure adds what the commands of a program take to a report.
func (c *commands) measure(ctx context.Context, i int, r *report) error {
	if c.encoder == "" {
		t, err := c.encode(ctx, i)
		if err != nil {
			return err
		}
		r.add(fmt.Sprintf("encoding %d texts", encoded), "%.2f s", t)
	}
	t, _, err := c.time(ctx, i, "index", "--quiet", "--db", c.db(i), filepath.Join(c.dir, "folder"))
	if err != nil {
		return err
	}
	r.add(fmt.Sprintf("a sync of %d unchanged files", files), "%.2f s", t)
	var all times
	least := 0.0
	for range starts {
		t, most, err := c.time(ctx, i, "search", "--db", c.db(i), "what is the first of all")
		if err != nil {
			return err
		}
		all.CPU, all.Wall = all.CPU+1000*t.CPU/starts, all.Wall+1000*t.Wall/starts
		if least == 0 || most < least {
			least = most
		}
	}
	r.add("a command that searches", "%.0f ms", all)
	r.add("memory of a command that searches", "%.0f MiB", times{least, least})
	return nil
}
