package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/elastic"
	"github.com/lexsem/lexsem/engine/remote/pgvector"
	"github.com/lexsem/lexsem/engine/remote/weaviate"
	"github.com/lexsem/lexsem/internal/secret"
)

// backendKinds are the supported search engines, by the schemes of their URLs.
var backendKinds = []backendKind{
	{"elasticsearch", "elasticsearch://HOST:PORT/INDEX", "LEXSEM_ELASTICSEARCH_KEY", "lexsem-bench-", func(where, key string) (droppable, error) {
		o, err := elastic.Parse(where)
		if err != nil {
			return nil, err
		}
		o.Key = key
		return elastic.Open(o)
	}},
	{"weaviate", "weaviate://HOST:PORT/CLASS", "LEXSEM_WEAVIATE_KEY", "Lexsem_bench_", func(where, key string) (droppable, error) {
		o, err := weaviate.Parse(where)
		if err != nil {
			return nil, err
		}
		o.Key = key
		return weaviate.Open(o)
	}},
	{"postgres", "postgres://HOST:PORT/DATABASE/SCHEMA", "LEXSEM_POSTGRES_PASSWORD", "lexsem_bench_", func(where, key string) (droppable, error) {
		o, err := pgvector.Parse(where)
		if err != nil {
			return nil, err
		}
		o.Password = key
		return pgvector.Open(o)
	}},
}

type backendKind struct {
	scheme, shape string
	key           string // the variable that has its key, or password
	scratch       string // begins the names of what is made for a measurement
	open          func(where, key string) (droppable, error)
}

// droppable is a Backend that can remove everything that it has created.
type droppable interface {
	remote.Backend
	Drop(ctx context.Context) error
}

// backendShapes returns how URLs of engines elsewhere are written, and backendKeys the
// variables that have their keys.
func backendShapes() string {
	return ofBackends(func(k backendKind) string { return k.shape })
}

func backendKeys() string {
	return ofBackends(func(k backendKind) string { return k.key })
}

func ofBackends(of func(backendKind) string) string {
	var s []string
	for _, k := range backendKinds {
		s = append(s, of(k))
	}
	return strings.Join(s, " or ")
}

// elsewhere reports whether db is the URL of another engine.
func elsewhere(db string) bool { return strings.Contains(db, "://") }

// openBackend opens the engine that a URL names; it makes no call to it.
func (a *app) openBackend(where string) (droppable, error) {
	for _, k := range backendKinds {
		if strings.HasPrefix(where, k.scheme+"://") {
			b, err := k.open(where, a.Getenv(k.key))
			if err != nil {
				return nil, &usageError{msg: err.Error()}
			}
			return b, nil
		}
	}
	return nil, usagef("backend %s; use %s", secret.URL(where), backendShapes())
}

// scratch makes a new name on the servers of a URL without a name.
func scratch(servers string) (where string, err error) {
	for _, k := range backendKinds {
		if strings.HasPrefix(servers, k.scheme+"://") {
			servers, settings, set := strings.Cut(servers, "?")
			where = strings.TrimSuffix(servers, "/") + "/" + k.scratch + strings.ToLower(rand.Text())
			if set {
				where += "?" + settings
			}
			return where, nil
		}
	}
	return "", usagef("--elsewhere %q; use %s, without the name after the last /", secret.URL(servers), backendShapes())
}

// openOver opens the query side of the engine that a URL names, with the encoder of its
// vectors or the one that --model names.
func (a *app) openOver(ctx context.Context, where string, o remote.Options) (_ *remote.Database, enc encoder.Encoder, err error) {
	if dense, sparse := encoder.SplitSparse(a.model); sparse != "" {
		return nil, nil, usagef("--model %s: another engine does not keep the weights of words of a second model; use --model %s, or a database in a folder", a.model, cmp.Or(dense, models.Default))
	}
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
	if model := cmp.Or(a.model, models.Of(info.Encoder)); model != "" && model != modelNone {
		if enc, err = a.openEncoder(ctx, model); err != nil {
			return nil, nil, err
		}
	}
	r, err := remote.Over(ctx, b, enc, o)
	if err != nil && enc != nil {
		err = errors.Join(err, a.closeEncoder(enc))
	}
	return r, enc, err
}
