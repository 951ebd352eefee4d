package share

import (
	"context"
	"time"

	"github.com/lexsem/lexsem/engine"
)

var stats = newCall("Stats", repeats, plain[nothing](), plain[engine.Stats](), alone(engine.Database.Stats))

// Stats is engine.Engine.Stats.
func (j *Joined) Stats(ctx context.Context) (engine.Stats, error) {
	return stats.from(ctx, j, nothing{})
}

var verify = newCall("Verify", repeats, absent[func(engine.Progress)](), plain[engine.VerifyReport](),
	engine.Database.Verify, streams[func(engine.Progress)]{
		func(hear func(engine.Progress), how *asked) { how.progress = hear },
		func(_ context.Context, hear *func(engine.Progress), s *session) error {
			*hear = s.report
			return nil
		},
	})

// Verify is engine.Engine.Verify. From another process, at most 20 reports a second arrive; the newest
// are kept.
func (j *Joined) Verify(ctx context.Context, progress func(engine.Progress)) (engine.VerifyReport, error) {
	return verify.from(ctx, j, progress)
}

var flush = newCall("Flush", repeats, plain[nothing](), plain[nothing](), silent(engine.Database.Flush))

// Flush is engine.Engine.Flush.
func (j *Joined) Flush(ctx context.Context) error {
	_, err := flush.from(ctx, j, nothing{})
	return err
}

var shareCollection = newCall("ShareCollection", repeats, plain[string](), plain[nothing](),
	func(db engine.Database, ctx context.Context, name string) (nothing, error) {
		if s, ok := db.(Sharer); ok {
			return nothing{}, s.ShareCollection(ctx, name)
		}
		return nothing{}, nil
	})

// Sharer is a database with collections: ShareCollection opens one of them and shares it for some time.
type Sharer interface {
	ShareCollection(ctx context.Context, name string) error
}

// ShareCollection asks the process that has the database open to open a collection, so that Join calls that process.
// It does nothing if the database is not a Sharer. Errors: engine.ErrNotFound, and those of opening.
func (j *Joined) ShareCollection(ctx context.Context, name string) error {
	_, err := shareCollection.from(ctx, j, name)
	return err
}

var writable = newCall("Writable", repeats, plain[nothing](), plain[nothing](), silent(engine.Database.Writable))

// Writable is engine.Engine.Writable.
func (j *Joined) Writable(ctx context.Context) error {
	_, err := writable.from(ctx, j, nothing{})
	return err
}

var compact = newCall("Compact", writes|repeats, plain[nothing](), plain[nothing](), silent(engine.Database.Compact))

// Compact is engine.Engine.Compact.
func (j *Joined) Compact(ctx context.Context) error {
	_, err := compact.from(ctx, j, nothing{})
	return err
}

var keepTokenStates = newCall("KeepTokenStates", writes|repeats, plain[nothing](), plain[engine.TokenReport](),
	alone(engine.Database.KeepTokenStates))

// KeepTokenStates is engine.Engine.KeepTokenStates. If the server process ends meanwhile, the work
// continues in the next process.
func (j *Joined) KeepTokenStates(ctx context.Context) (engine.TokenReport, error) {
	return keepTokenStates.from(ctx, j, nothing{})
}

var fit = newCall("Fit", writes|repeats,
	form[engine.FitOptions, fitArgs]{
		func(o engine.FitOptions) (fitArgs, error) {
			return fitArgs{o.Variant, o.Seed, o.QueriesPerPassage, o.MaxQueries, o.Epochs, o.Update}, nil
		},
		func(a fitArgs) (engine.FitOptions, error) {
			return engine.FitOptions{Variant: a.Variant, Seed: a.Seed, QueriesPerPassage: a.QueriesPerPassage, MaxQueries: a.MaxQueries, Epochs: a.Epochs, Update: a.Update}, nil
		},
	},
	plain[engine.FitReport](), engine.Database.Fit, streams[engine.FitOptions]{
		func(o engine.FitOptions, how *asked) { how.progress = o.Progress },
		func(_ context.Context, o *engine.FitOptions, s *session) error {
			o.Progress = s.report
			return nil
		},
	})

// fitArgs are engine.FitOptions without Progress.
type fitArgs struct {
	Variant                               string
	Seed                                  uint64
	QueriesPerPassage, MaxQueries, Epochs int
	Update                                bool
}

// Fit is engine.Engine.Fit. Progress is reported as by Verify. If the server process ends during the fit,
// the fit continues in the next process.
func (j *Joined) Fit(ctx context.Context, o engine.FitOptions) (engine.FitReport, error) {
	return fit.from(ctx, j, o)
}

var byDefault = newCall("Default", repeats, plain[nothing](), plain[string](),
	func(db engine.Database, _ context.Context, _ nothing) (string, error) { return db.Default(), nil })

// defaultWithin is how long Default waits.
const defaultWithin = 5 * time.Second

// Default is engine.Engine.Default. It returns "" if the server process does not answer within 5 s.
func (j *Joined) Default() string {
	ctx, cancel := context.WithTimeout(context.Background(), defaultWithin)
	defer cancel()
	p, err := j.now()
	if err != nil {
		return ""
	}
	v, err := byDefault.at(ctx, p, nothing{})
	if err != nil {
		return ""
	}
	return v
}
