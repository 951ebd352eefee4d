package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/serve/share"
)

// own is a database that this process has open, and its encoder, which is closed with it.
type own struct {
	*engine.Engine
	enc   encoder.Encoder
	model string
	app   *app
	alone bool // open for reading: others can do so, too
}

// Close closes both.
func (o *own) Close() error {
	err := o.Engine.Close()
	if o.enc != nil {
		err = errors.Join(err, o.app.closeEncoder(o.enc))
	}
	return err
}

// ShareCollection implements share.Sharer.
func (o *own) ShareCollection(ctx context.Context, name string) error {
	set := o.app.served.Load()
	if set == nil {
		return nil
	}
	return set.Share(ctx, name)
}

// askToShare asks the process that serves the database to open the collection of this command. Otherwise, while a
// command has a collection open without a model or read-only, the server could not answer searches of it. Whether
// this succeeds or not, the command then opens or joins the collection itself.
func (a *app) askToShare(ctx context.Context) error {
	j, err := share.Open(ctx, a.main)
	if err != nil {
		return ctx.Err() // nobody shares it
	}
	err = j.ShareCollection(ctx, a.collection)
	if err == nil || ctx.Err() == nil {
		err = ctx.Err()
	}
	return errors.Join(err, j.Close())
}

// wants describes how a command needs to use a database.
type wants struct {
	model bool // an encoder
	self  bool // another process that has it open will not do
	open  func(context.Context) (*own, error)
}

// join opens the database in dir and shares it with other processes, or connects to the process that has it
// open.
func (a *app) join(ctx context.Context, dir string, o engine.Options, w wants) (*database, error) {
	if o.Logger == nil {
		o.Logger = a.warnings()
	}
	if a.collection != "" && dir == a.db && !w.self {
		if err := a.askToShare(ctx); err != nil {
			return nil, err
		}
	}
	d := &database{app: a}
	m := &modelOpener{}
	open := func(ctx context.Context) (share.Opened, error) {
		var db *own
		var err error
		switch {
		case w.open != nil:
			db, err = w.open(ctx)
		case w.model:
			db, err = a.openOwn(ctx, dir, o, m)
		default:
			db, err = a.openWithout(ctx, dir, o)
		}
		if err != nil {
			return share.Opened{}, err
		}
		d.opened(db)
		return share.Opened{Database: db, Model: db.model, Alone: db.alone}, nil
	}
	j, err := share.Join(ctx, dir, open, share.JoinOptions{
		Options:  share.Options{Command: "lexsem " + a.name, Drain: drainFor, Logger: o.Logger},
		Accept:   func(ctx context.Context, j *share.Joined) error { return a.accept(ctx, dir, j, o, w) },
		Progress: o.Progress,
		Warn: func(err error) {
			o.Logger.Warn("other processes cannot use the database while this one has it open", "error", err)
		},
	})
	if err != nil {
		return nil, errors.Join(err, m.close(a))
	}
	d.Joined = j
	return d, nil
}

// drainFor is how long a finished command continues to answer the pending calls of other processes.
const drainFor = 5 * time.Second

// modelOpener keeps an encoder open while its database cannot be opened yet.
type modelOpener struct{ enc encoder.Encoder }

func (m *modelOpener) open(ctx context.Context, a *app, model string) (encoder.Encoder, error) {
	if m.enc == nil {
		enc, err := a.openEncoder(ctx, model)
		if err != nil {
			return nil, err
		}
		m.enc = a.cached(enc, a.keep)
	}
	return m.enc, nil
}

func (m *modelOpener) close(a *app) error {
	if m.enc == nil {
		return nil
	}
	return a.closeEncoder(m.enc)
}

// accept checks whether the process that has the database open can do what the command needs.
func (a *app) accept(ctx context.Context, dir string, j *share.Joined, o engine.Options, w wants) error {
	h, _ := j.Holder()
	held := func(format string, args ...any) error {
		return &heldError{dir, h, fmt.Sprintf(format, args...)}
	}
	switch {
	case w.self:
		return held("this command needs exclusive use")
	case o.ChunkTokens != 0 || o.ChunkOverlap != 0:
		return held("that process cuts the texts; leave out --chunk-tokens and --chunk-overlap")
	case o.Index != "":
		return held("that process sets the index; leave out --index")
	}
	if !w.model {
		return nil
	}
	s, err := j.Stats(ctx)
	if err != nil {
		return err
	}
	switch {
	case o.Metric != "" && o.Metric != s.Metric:
		return fmt.Errorf("database %s is in use by %v with metric %s, not %s: %w", dir, h, s.Metric, o.Metric, engine.ErrInvalid)
	case s.Encoder.Model == "" && a.model == modelNone, s.Encoder.Model == "" && a.model == "":
		return nil // vectors alone
	case h.Model == "":
		return held("it is open there without a model, which this command needs")
	case a.model == "":
		return nil
	}
	if want := a.model; !sameModel(want, models.Of(s.Encoder)) {
		return fmt.Errorf("database %s is in use by %v with model %s: %w: this command uses %s", dir, h, h.Model, encoder.ErrMismatch, want)
	}
	return nil
}

// sameModel reports whether --model names the model of a database, as far as names can tell: a folder is
// compared by its last element, and a remote model may omit its dimension.
func sameModel(given, stored string) bool {
	if dense, sparse := encoder.SplitSparse(given); sparse != "" {
		other, words := encoder.SplitSparse(stored)
		return (dense == "" || sameModel(dense, other)) && sameModel(sparse, words)
	}
	if dim, ok, err := modelname.Hash(given); ok && err == nil {
		given = fmt.Sprintf("hash-%d", dim)
	}
	if modelname.Remote(given) {
		if !strings.Contains(given, "@") {
			stored, _, _ = strings.Cut(stored, "@")
		}
		return given == stored
	}
	if _, ok := modelname.Static(given); ok {
		return strings.EqualFold(modelname.StaticName(given), stored)
	}
	return strings.EqualFold(filepath.Base(given), stored)
}

// heldError says which process has a database open, and why it cannot do what is asked.
type heldError struct {
	dir    string
	holder share.Holder
	why    string
}

func (e *heldError) Error() string {
	return fmt.Sprintf("database %s is in use by %v: %s", e.dir, e.holder, e.why)
}

func (e *heldError) Unwrap() error { return engine.ErrLocked }

// idle returns an error if another process has the database open and shares it, since the command needs
// exclusive use.
func (a *app) idle(ctx context.Context, dir string) error {
	for until := time.Now().Add(time.Second); ; {
		j, err := share.Open(ctx, dir)
		var other *share.ProtocolError
		switch {
		case errors.As(err, &other):
			return err
		case err != nil: // whoever opens it finds out
			return ctx.Err()
		}
		h, _ := j.Holder()
		err = errors.Join(&heldError{dir, h, "this command needs exclusive use"}, j.Close())
		if !time.Now().Before(until) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
