package cli

import (
	"strings"

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
