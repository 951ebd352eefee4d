package collections_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
	"github.com/lexsem/lexsem/engine/remote/pgvector"
)

// far has each collection in another search engine. What those databases refuse is made of their other operations: a
// backup and an export are what they list, and a restored collection is a new one with those documents.
type far struct {
	backend func() (remote.Backend, error) // a new one
	all     map[string]*farCollection
	backups map[string][]engine.Document
}

type farCollection struct {
	*remote.Database
	by remote.Backend
}

// still is a Backend that outlives its Databases.
type still struct{ remote.Backend }

func (still) Close() error { return nil }

// inMemory is a far of the double that tests of Backends use.
func inMemory() *far {
	return farOf(func() (remote.Backend, error) { return &backendtest.Memory{}, nil })
}

// inPostgres is a far of schemas of the PostgreSQL at url.
func inPostgres(url string) *far {
	return farOf(func() (remote.Backend, error) {
		schemas++
		return pgvector.Open(pgvector.Options{URL: url, Schema: fmt.Sprint("alike_", schemas)})
	})
}

var schemas int // that were made; only one world is in PostgreSQL

func farOf(backend func() (remote.Backend, error)) *far {
	return &far{backend, map[string]*farCollection{}, map[string][]engine.Document{}}
}

// open opens a collection with a bridge file, "" for none, and makes one in b if there is none.
func (f *far) open(t *testing.T, name string, b remote.Backend, bridge string) error {
	db, err := remote.Over(t.Context(), still{b}, programEncoder, remote.Options{Create: true, Fresh: -1, Bridge: bridge})
	if err == nil {
		f.all[name] = &farCollection{db, b}
	}
	return err
}

func (f *far) create(t *testing.T, name string) error {
	if f.all[name] != nil {
		return engine.ErrExists
	}
	b, err := f.backend()
	if err != nil {
		return err
	}
	return f.open(t, name, b, "")
}

func (f *far) drop(name string) error {
	c := f.all[name]
	if c == nil {
		return engine.ErrNotFound
	}
	delete(f.all, name)
	return errors.Join(c.Close(), c.by.Close())
}

func (f *far) end() (err error) {
	for name := range f.all {
		err = errors.Join(err, f.drop(name))
	}
	return err
}

// run makes a step of collections, or one that the databases refuse.
func (f *far) run(t *testing.T, o op) (reply, bool) {
	c := f.all[o.In]
	switch o.Do {
	case "reopen":
		for name, c := range f.all {
			if err := errors.Join(c.Close(), f.open(t, name, c.by, "")); err != nil {
				t.Fatal(err)
			}
		}
		return reply{}, true
	case "create":
		return said("", f.create(t, o.In)), true
	case "drop":
		return said("", f.drop(o.In)), true
	case "names":
		return said(slices.Sorted(maps.Keys(f.all)), nil), true
	case "restore":
		docs, ok := f.backups[o.In]
		if !ok {
			return reply{text: "no backup"}, true
		}
		delete(f.backups, o.In)
		if c != nil {
			if err := f.drop(o.In); err != nil {
				return failed(err), true
			}
		}
		err := f.create(t, o.In)
		if err == nil {
			_, err = f.all[o.In].Upsert(t.Context(), docs)
		}
		return said(len(docs), err), true
	}
	if c == nil {
		return failed(engine.ErrNotFound), true
	}
	switch o.Do {
	case "search": // a bridge of all documents takes the place of the statistics that an embedded database keeps
		path := filepath.Join(t.TempDir(), "bridge")
		_, err := c.MakeBridge(t.Context(), path, remote.BridgeOptions{})
		if err == nil {
			err = errors.Join(c.Close(), f.open(t, o.In, c.by, path))
		}
		if err != nil {
			t.Fatal(err)
		}
	case "compact":
		return said("", nil), true
	case "backup", "export":
		docs, exported := []engine.Document{}, []doc{}
		for d, err := range c.List(t.Context(), engine.Filter{}, "") {
			if err != nil {
				return failed(err), true
			}
			docs, exported = append(docs, d), append(exported, docOf(d))
		}
		if o.Do == "export" {
			sortByID(exported)
			return said(exported, nil), true
		}
		f.backups[o.In] = docs
		return said(len(docs), nil), true
	}
	return reply{}, false
}
