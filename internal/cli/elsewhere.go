package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/elastic"
)

// keyVariable names the key of an engine elsewhere.
const keyVariable = "LEXSEM_ELASTICSEARCH_KEY"

// elsewhere says that a database is named by the URL of another engine.
func elsewhere(db string) bool { return strings.Contains(db, "://") }

// openBackend opens the engine that a URL names; it calls nobody.
func (a *app) openBackend(where string) (engine.Backend, error) {
	o, err := elastic.Parse(where)
	if err != nil {
		return nil, &usageError{msg: err.Error()}
	}
	o.Key = a.Getenv(keyVariable)
	b, err := elastic.Open(o)
	if err != nil {
		return nil, &usageError{msg: err.Error()}
	}
	return b, nil
}

// openOver opens the query side of the engine that a URL names, with the encoder that its
// vectors come from, or the one that --model names.
func (a *app) openOver(ctx context.Context, where string, o engine.OverOptions) (_ *engine.Remote, enc encoder.Encoder, err error) {
	b, err := a.openBackend(where)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	info, err := b.Info(ctx)
	if err != nil {
		return nil, nil, hinted(err, "`lexsem migrate --db DIR --to URL` fills it")
	}
	if model := cmp.Or(a.model, modelOf(info.Encoder)); model != "" && model != modelNone {
		if enc, err = a.openEncoder(ctx, model); err != nil {
			return nil, nil, err
		}
	}
	r, err := engine.Over(ctx, b, enc, o)
	if err != nil && enc != nil {
		err = errors.Join(err, a.closeEncoder(enc))
	}
	return r, enc, err
}
