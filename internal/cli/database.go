package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/encoder/provision"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/store"
)

// database is an open engine together with the encoder that was opened for it;
// either may be missing.
type database struct {
	*engine.Engine
	enc encoder.Encoder
	app *app
}

func (d *database) close() error {
	var err error
	if d.Engine != nil {
		err = d.Engine.Close()
	}
	if d.enc != nil {
		err = errors.Join(err, d.app.closeEncoder(d.enc))
	}
	return err
}

// settle waits for the work in the background, and shows it.
func (d *database) settle(ctx context.Context, p *progress) error {
	done := make(chan error, 1)
	go func() { done <- d.Flush(ctx) }()
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		s, err := d.Stats(ctx)
		if err != nil { // so will Flush
			return <-done
		}
		if m := s.Maintenance; m.Task != "" {
			p.update(step{stage: m.Task, done: m.Done, total: m.Total})
		}
	}
}

// openDB opens the database in dir with the encoder that --model names, else
// with the one the database was made with, else with the default one.
func (a *app) openDB(ctx context.Context, dir string, o engine.Options) (*database, error) {
	model := a.model
	if model == "" {
		stored, err := storedModel(ctx, dir)
		if err != nil {
			return nil, err
		}
		model = stored
	}
	if model == "" {
		if o.MustExist {
			return nil, noDatabase(dir)
		}
		model = defaultModel
	}
	o.AcceptModel = a.acceptModel
	if o.Logger == nil {
		o.Logger = a.warnings()
	}
	if model == modelNone {
		e, err := a.openBare(ctx, dir, o)
		return &database{Engine: e}, err
	}
	enc, err := a.openEncoder(ctx, model)
	if err != nil {
		return nil, err
	}
	enc = a.cached(enc, a.keep)
	e, err := open(ctx, dir, enc, o)
	if err != nil {
		return nil, errors.Join(notFound(err, dir), a.closeEncoder(enc))
	}
	return &database{e, enc, a}, nil
}

// openSearch opens the database in dir for searches of one way: without a model
// where the words alone are asked, and with local bridges where these are.
func (a *app) openSearch(ctx context.Context, dir string, w way) (*database, error) {
	o := engine.Options{MustExist: true, ReadOnly: true, Logger: a.warnings(), Local: w.local()}
	if *w.mode == engine.ModeLexical {
		e, err := a.openBare(ctx, dir, o)
		return &database{Engine: e}, err
	}
	db, err := a.openDB(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	// A database that was killed lacks what its maintainer had not made yet.
	if err := db.Flush(ctx); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// warnings is where databases say what they found and mended.
func (a *app) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// openBare opens an existing database without an encoder.
func (a *app) openBare(ctx context.Context, dir string, o engine.Options) (*engine.Engine, error) {
	o.MustExist = true
	e, err := open(ctx, dir, nil, o)
	return e, notFound(err, dir)
}

// open is engine.Open, but for a database that was not closed, as after a
// kill: reading alone cannot recover it, so it is opened for writing.
func open(ctx context.Context, dir string, enc encoder.Encoder, o engine.Options) (*engine.Engine, error) {
	e, err := engine.Open(ctx, dir, enc, o)
	if o.ReadOnly && errors.Is(err, store.ErrUnclean) {
		o.ReadOnly = false
		e, err = engine.Open(ctx, dir, enc, o)
	}
	return e, err
}

func notFound(err error, dir string) error {
	if errors.Is(err, engine.ErrNotFound) {
		return noDatabase(dir)
	}
	return err
}

func noDatabase(dir string) error {
	return hinted(fmt.Errorf("no database in %s: %w", dir, engine.ErrNotFound), "`lexsem index --db DIR PATH…` makes one")
}

// openEncoder brings the model onto this machine if it is not there, and opens
// it.
func (a *app) openEncoder(ctx context.Context, model string) (encoder.Encoder, error) {
	if dim, ok, err := hashModel(model); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return encoder.NewHash(dim), nil
	}
	switch {
	case isSource(model):
		return a.openSource(model)
	case model == modelNone:
		return nil, errVectorsAlone
	}
	p := a.progress()
	defer p.done()
	r := a.request(model, p)
	res, err := a.ensure(ctx, r)
	if err != nil {
		return nil, err
	}
	enc, _, err := a.openModel(ctx, r, res)
	return enc, err
}

// request asks for runtime and model with the global flags of the command.
func (a *app) request(model string, p *progress) wanted {
	file, precision := splitPrecision(model)
	r := wanted{provision.Request{Model: file, Library: a.library, Runtime: a.runtime(), CacheDir: a.cache, Offline: a.offline}, precision}
	if precision == native.Int8 {
		r.Runtime = provision.RuntimeNone
	}
	r.Progress = func(e provision.Event) {
		if e.Done {
			p.done()
			return
		}
		p.update(step{stage: "fetching " + e.Artifact, done: int(e.Bytes >> 10), total: int(e.Total >> 10), unit: "KiB", note: "by " + e.Route})
	}
	if !a.quiet {
		r.Log = func(line string) {
			p.done()
			fmt.Fprintln(a.Stderr, line)
		}
	}
	return r
}

func modelError(err error) error {
	if errors.Is(err, provision.ErrUnknownModel) {
		return &usageError{msg: err.Error(), hint: "`lexsem setup --list` lists the models"}
	}
	return err
}

// hashModel recognises the encoder that needs no model: "hash" is hash-384.
func hashModel(name string) (dim int, ok bool, err error) {
	rest, ok := strings.CutPrefix(name, "hash")
	if !ok || rest != "" && rest[0] != '-' {
		return 0, false, nil
	}
	if rest == "" {
		return 384, true, nil
	}
	dim, err = strconv.Atoi(rest[1:])
	if err != nil || dim < 8 || dim > 4096 {
		return 0, true, usagef("model %q: use hash-8 to hash-4096", name)
	}
	return dim, true, nil
}

// cacheDir is where runtime, models and the demo's database are kept.
func (a *app) cacheDir() (string, error) {
	if a.cache != "" {
		return filepath.Abs(a.cache)
	}
	return provision.CacheDir()
}

// storedModel returns the model that the database in dir was made with, modelNone
// for one of vectors alone, or "" where there is no database yet.
func storedModel(ctx context.Context, dir string) (string, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	e, err := open(ctx, dir, nil, engine.Options{MustExist: true, ReadOnly: true})
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrNoEncoder) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	stats, err := e.Stats(ctx)
	return cmp.Or(modelOf(stats.Encoder), modelNone), errors.Join(err, e.Close())
}
