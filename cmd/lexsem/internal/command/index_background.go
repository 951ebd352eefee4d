package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// lexsem index --background ends when words find all documents, and starts `lexsem index --finish` in a process of its own,
// which makes the vectors and ends. That process is like any other that has the database open: it answers the others, stats
// tells how far it is, and if it is killed, the next index, serve or mcp goes on.

// waitForTurn is how long --finish waits for processes that have the database open and do not share it, such as a search.
const waitForTurn = 10 * time.Minute

// startFinish starts a process that makes the vectors of the database in dir, and says so. A command that comes while it
// begins waits for it (share.JoinOptions.Wait).
func (a *app) startFinish(dir string, memory, most int) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "background.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	db, err := filepath.Abs(a.db)
	if a.collection != "" {
		db, err = filepath.Abs(a.main)
	}
	if err != nil {
		return err
	}
	// What the environment says of other flags is not for this run.
	args := []string{"index", "--finish", "--background=false", "--watch=false", "--problems=false", "--quiet", "--db", db}
	for _, f := range [][2]string{{"collection", a.collection}, {"model", a.model}, {"cache", a.cache}, {"library", a.library}, {"accept-model", a.acceptModel}, {"backend", a.backend}} {
		if f[1] != "" {
			args = append(args, "--"+f[0], f[1])
		}
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"token-limit", a.tokenLimit}, {"memory", memory}, {"max-memory", most}} {
		if f.n != 0 {
			args = append(args, "--"+f.name, strconv.Itoa(f.n))
		}
	}
	if a.offline {
		args = append(args, "--offline")
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, detached()
	if err := cmd.Start(); err != nil {
		return hinted(fmt.Errorf("the vectors are not made yet: %w", err), "`lexsem index --finish` makes them")
	}
	if !a.quiet {
		fmt.Fprintf(a.Stderr, "note: process %d makes the vectors; `lexsem stats` tells how far it is, and %s what failed\n", cmd.Process.Pid, log.Name())
	}
	return cmd.Process.Release()
}

// makeVectors makes the vectors that a database lacks, or waits for another process that does.
func (o indexOptions) makeVectors(ctx context.Context, a *app, dir string) (err error) {
	p := a.progress()
	defer p.done()
	db, err := a.openInTurn(ctx, dir, engine.Options{MustExist: true, NoSync: *o.noSync, MemoryMiB: *o.memory, MaxMemoryMiB: *o.most})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	for {
		if err := db.settle(ctx, p); err != nil {
			return err
		}
		s, err := db.Stats(ctx)
		if err != nil {
			return err
		}
		if s.Waiting == 0 {
			p.done()
			fmt.Fprintf(a.Stdout, "%s: %s have vectors\n", dir, count(s.Chunks, "passage", "passages"))
			return nil
		}
		if err := pause(ctx); err != nil { // another process makes them
			return err
		}
	}
}

// openInTurn is openDB once those have ended that have the database open and do not share it.
func (a *app) openInTurn(ctx context.Context, dir string, o engine.Options) (*database, error) {
	for until := time.Now().Add(waitForTurn); ; {
		db, err := a.openDB(ctx, dir, o)
		if err == nil || !errors.Is(err, engine.ErrLocked) || time.Now().After(until) {
			return db, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause waits for a moment.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second / 2):
		return nil
	}
}
