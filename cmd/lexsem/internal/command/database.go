package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/secret"
	"github.com/lexsem/lexsem/serve/share"
	"github.com/lexsem/lexsem/store"
)

// indexKinds describes the kinds of vector index to choose from.
const indexKinds = "flat (exact), hnsw (approximate), flat-int8 or hnsw-int8 (with int8 codes), hnsw-compact (codes of half the size, vectors on disk), hnsw-fast (hnsw-compact with more links: fastest, longest to build) or auto (by size); default the database's own, auto for a new one"

// database is the database of a command with the encoder that was opened for it. Either
// may be missing, and another process may have the database open.
type database struct {
	*share.Joined
	app  *app
	lent encoder.Encoder // one that was not opened for the database
	then func() error    // what to do once it is closed, or nil

	mu  sync.Mutex
	own *own // nil while another process has the database open
}

// opened records that this process has opened the database: at once, or when a later call
// found that the process which had it open has ended.
func (d *database) opened(o *own) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = o
}

// here is the database as this process has opened it, or nil.
func (d *database) here() *own {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.own
}

// encoder is the encoder that this process opened, or nil.
func (d *database) encoder() encoder.Encoder {
	if o := d.here(); o != nil && o.enc != nil {
		return o.enc
	}
	return d.lent
}

func (d *database) close() error {
	var err error
	if d.Joined != nil {
		err = d.Joined.Close() // with what it was opened with
	}
	if d.lent != nil {
		err = errors.Join(err, d.app.closeEncoder(d.lent))
	}
	if d.then != nil {
		err = errors.Join(err, d.then())
	}
	return err
}

// bringEncoder opens an encoder for a database that another process has open.
func (d *database) bringEncoder(ctx context.Context) error {
	if d.encoder() != nil {
		return nil
	}
	s, err := d.Stats(ctx)
	if err != nil {
		return err
	}
	model := cmp.Or(d.app.model, models.Of(s.Encoder))
	if model == "" || model == modelNone {
		return errVectorsAlone
	}
	d.lent, err = d.app.openEncoder(ctx, model)
	return err
}

// settle waits for background work and shows its progress. It does not wait for that of
// another process.
func (d *database) settle(ctx context.Context, p *progress) error {
	if _, other := d.Holder(); other {
		return nil
	}
	defer p.done()
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

// openDB opens the database in dir. Its encoder is the one that --model names, else that
// of the database, else the default one. If another process has the database open, that
// process answers and encodes.
func (a *app) openDB(ctx context.Context, dir string, o engine.Options) (*database, error) {
	return a.join(ctx, dir, o, wants{model: true})
}

// openOwn opens the database in dir in this process.
func (a *app) openOwn(ctx context.Context, dir string, o engine.Options, m *modelOpener) (_ *own, err error) {
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
		if a.collection != "" && dir == a.db { // a new one has the model of the database
			if model, err = a.storedModel(ctx, a.main); err != nil {
				return nil, err
			}
		}
		model = cmp.Or(model, a.defaultModel())
	}
	o.AcceptModel = a.acceptModel
	if model == modelNone {
		return a.openWithout(ctx, dir, o)
	}
	enc, err := m.open(ctx, a, model)
	if err != nil {
		return nil, err
	}
	e, alone, err := open(ctx, dir, enc, o)
	if err != nil {
		return nil, notFound(err, dir)
	}
	m.enc = nil // it is the database's
	return &own{Engine: e, enc: enc, model: enc.Fingerprint().Model, app: a, alone: alone}, nil
}

// openSearch opens the database in dir for searches of one mode: without a model for a
// lexical search, and with local bridges if the mode needs them.
func (a *app) openSearch(ctx context.Context, dir string, w way) (*database, error) {
	o := engine.Options{MustExist: true, ReadOnly: true, Logger: a.warnings(), Local: w.local()}
	if *w.mode == engine.ModeLexical {
		return a.openBare(ctx, dir, o)
	}
	db, err := a.openDB(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	if _, other := db.Holder(); other { // which is at it
		return db, nil
	}
	// A killed database lacks the parts that its maintainer had not yet made. Vectors would take minutes, but words
	// answer at once.
	s, err := db.Stats(ctx)
	if err == nil && s.Waiting == 0 {
		err = db.Flush(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// warnings receives the problems that databases found and repaired.
func (a *app) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// openBare opens an existing database without an encoder, or asks the process that has
// it open.
func (a *app) openBare(ctx context.Context, dir string, o engine.Options) (*database, error) {
	return a.join(ctx, dir, o, wants{})
}

func (a *app) openWithout(ctx context.Context, dir string, o engine.Options) (*own, error) {
	o.MustExist = true
	e, alone, err := open(ctx, dir, nil, o)
	if err != nil {
		return nil, notFound(err, dir)
	}
	return &own{Engine: e, app: a, alone: alone}, nil
}

// open is engine.Open, except for a database that was not closed, for example after a
// kill: it is opened for writing, since a read-only opening cannot recover it. alone
// reports whether it was opened read-only.
func open(ctx context.Context, dir string, enc encoder.Encoder, o engine.Options) (_ *engine.Engine, alone bool, err error) {
	e, err := engine.Open(ctx, dir, enc, o)
	if o.ReadOnly && errors.Is(err, store.ErrUnclean) {
		o.ReadOnly = false
		if e, err = engine.Open(ctx, dir, enc, o); err == nil {
			if err := share.Clear(dir); err != nil && o.Logger != nil {
				o.Logger.Warn("cannot remove the files of a killed process", "error", err)
			}
		}
	}
	return e, o.ReadOnly, err
}

func notFound(err error, dir string) error {
	if errors.Is(err, engine.ErrNotFound) {
		return noDatabase(dir)
	}
	return err
}

func noDatabase(dir string) error {
	return hinted(fmt.Errorf("no database in %s: %w", secret.URL(dir), engine.ErrNotFound), "`lexsem index --db DIR PATH…` makes one")
}

// cacheDir is the folder of runtime, models and the demo's database.
func (a *app) cacheDir() (string, error) {
	if a.cache != "" {
		return filepath.Abs(a.cache)
	}
	return provision.CacheDir()
}

// storedModel returns the model of the database in dir, modelNone for a database with
// only vectors, or "" if there is no database yet.
func storedModel(ctx context.Context, dir string) (string, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if s, err := store.Open(dir, store.Options{ReadOnly: true}); err == nil { // without the derived state
		var fp encoder.Fingerprint
		m := s.Manifest()
		if err = s.Close(); err == nil && len(m.Encoder) > 0 && json.Unmarshal(m.Encoder, &fp) == nil {
			return cmp.Or(models.Of(fp), modelNone), nil
		}
	}
	e, _, err := open(ctx, dir, nil, engine.Options{MustExist: true, ReadOnly: true}) // which mends what it can, and says what is wrong
	return modelStored(ctx, e, err)
}

// storedModel is storedModel for a database that another process may have open.
func (a *app) storedModel(ctx context.Context, dir string) (string, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	db, err := a.openBare(ctx, dir, engine.Options{ReadOnly: true})
	if err != nil {
		return modelStored(ctx, nil, err)
	}
	return modelStored(ctx, db, err)
}

func modelStored(ctx context.Context, db engine.Database, err error) (string, error) {
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrNoEncoder) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	stats, err := db.Stats(ctx)
	return cmp.Or(models.Of(stats.Encoder), modelNone), errors.Join(err, db.Close())
}
