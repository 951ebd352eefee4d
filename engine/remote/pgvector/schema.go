package pgvector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// layout is the version of the tables' layout.
const layout = 1

const (
	// mostIndexed and mostHalf are up to how many dimensions pgvector indexes vectors of float32, and of
	// half precision.
	mostIndexed = 2000
	mostHalf    = 4000
	// mostVector is how many dimensions a vector has at most.
	mostVector = 16_000
)

// tables are made in this order. Only the server's index passages_near is approximate.
var tables = []string{
	// One row: the description of the tables, and the total counts, which each write changes last.
	`CREATE TABLE {s}.lexsem (one boolean PRIMARY KEY DEFAULT true CHECK (one), layout int NOT NULL, info text NOT NULL, own_schema boolean NOT NULL,
		documents bigint NOT NULL DEFAULT 0, passages bigint NOT NULL DEFAULT 0, terms bigint NOT NULL DEFAULT 0, writes bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20)`,
	// key represents the id, and put the call that wrote the document; exact holds texts that the server does not
	// accept as text.
	`CREATE TABLE {s}.documents (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key uuid NOT NULL UNIQUE, put uuid NOT NULL, chunks int NOT NULL,
		id text NOT NULL, title text NOT NULL, whole text NOT NULL, metadata text NOT NULL, exact bytea)`,
	`CREATE TABLE {s}.passages (document bigint NOT NULL REFERENCES {s}.documents ON DELETE CASCADE, chunk int NOT NULL, start int NOT NULL, line int NOT NULL,
		length int NOT NULL, truncated int NOT NULL, text text NOT NULL, terms text NOT NULL, exact bytea, tokens int[], vector {v}.vector({dim}) NOT NULL, PRIMARY KEY (document, chunk))`,
	// Searches read only the index after a vacuum of the table, which is therefore set to run early.
	`CREATE TABLE {s}.postings (document bigint NOT NULL, chunk int NOT NULL, length int NOT NULL, count int NOT NULL, term bytea NOT NULL,
		PRIMARY KEY (term, document, chunk) INCLUDE (length, count)) WITH (autovacuum_vacuum_insert_scale_factor = 0.02)`,
	`CREATE TABLE {s}.facts (document bigint NOT NULL REFERENCES {s}.documents ON DELETE CASCADE, fact bytea NOT NULL, PRIMARY KEY (fact, document))`,
	`CREATE UNIQUE INDEX facts_of_document ON {s}.facts (document, fact)`,
}

// indexOf is the statement that creates the index of vectors; "" if the dimension allows none.
func indexOf(dim int) string {
	switch {
	case dim <= mostIndexed:
		return `CREATE INDEX passages_near ON {s}.passages USING hnsw (vector {v}.vector_cosine_ops) WITH (m = 16, ef_construction = 128)`
	case dim <= mostHalf:
		return `CREATE INDEX passages_near ON {s}.passages USING hnsw ((vector::{v}.halfvec({dim})) {v}.halfvec_cosine_ops) WITH (m = 16, ef_construction = 128)`
	}
	return ""
}

// found describes the schema on the server.
type found struct {
	Extension, Version string // the schema and the version of pgvector, "" where it is not installed
	Encoding           string
	Schema             bool // there is the schema
	Relations          int  // tables and whatever else of the kind there is in it
	Ours               bool // one of them is named lexsem
}

const look = `SELECT coalesce(e.schema, '') AS extension, coalesce(e.version, '') AS version, current_setting('server_encoding') AS encoding,
	to_regnamespace(quote_ident($1)) IS NOT NULL AS schema,
	(SELECT count(*) FROM pg_catalog.pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident($1))) AS relations,
	EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relname = 'lexsem' AND c.relkind = 'r') AS ours
	FROM (VALUES (1)) one LEFT JOIN (SELECT n.nspname::text, x.extversion::text FROM pg_catalog.pg_extension x
		JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'vector') e(schema, version) ON true`

func (b *Backend) look(ctx context.Context) (f found, err error) {
	all, err := rowsOf(ctx, b, query{text: look, values: []any{b.o.Schema}}, pgx.RowToStructByName[found])
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%s: %w: %d answers about the schema", b.name, ErrServer, len(all))
	}
	if err != nil {
		return f, err
	}
	return all[0], nil
}

// usable returns why this server cannot store documents, or nil.
func (f found) usable() error {
	switch {
	case f.Encoding != "UTF8":
		return fmt.Errorf("%w: a database in the encoding %s; create one with ENCODING 'UTF8'", ErrServer, f.Encoding)
	case f.Version == "":
		return fmt.Errorf("%w: the extension pgvector is not installed in this database; have its owner say CREATE EXTENSION vector", ErrServer)
	case !atLeast(f.Version, 0, 8):
		return fmt.Errorf("%w: pgvector %s; from 0.8 on it searches on where a filter leaves few: upgrade it, then ALTER EXTENSION vector UPDATE", ErrServer, f.Version)
	}
	return nil
}

// atLeast reports whether a version such as 0.8.1 is major.minor or newer.
func atLeast(version string, major, minor int) bool {
	parts := strings.Split(version+".0", ".")
	a, aerr := strconv.Atoi(parts[0])
	b, berr := strconv.Atoi(parts[1])
	return aerr == nil && berr == nil && (a > major || a == major && b >= minor)
}

// Info implements remote.Backend.
func (b *Backend) Info(ctx context.Context) (i remote.Info, err error) {
	f, err := b.look(ctx)
	switch {
	case err != nil:
		return i, err
	case f.Relations == 0:
		return i, fmt.Errorf("%s: %w", b.name, engine.ErrNoDatabase)
	case !f.Ours:
		return i, b.foreign("has tables that lexsem did not make")
	}
	type row struct {
		Layout int
		Info   string
	}
	rows, err := rowsOf(ctx, b, query{text: "SELECT layout, info FROM " + pgx.Identifier{b.o.Schema, "lexsem"}.Sanitize()}, pgx.RowToStructByName[row])
	switch {
	case codeOf(err) == "42703": // no such column
		return i, b.foreign("has a table lexsem that lexsem did not make")
	case err != nil:
		return i, err
	case len(rows) != 1:
		return i, b.foreign(fmt.Sprintf("has a table lexsem of %d rows, where there is one", len(rows)))
	case rows[0].Layout != layout:
		return i, fmt.Errorf("%w: schema %s has layout %d, this program knows %d; use a newer one", engine.ErrForeign, b.name, rows[0].Layout, layout)
	}
	if err := json.Unmarshal([]byte(rows[0].Info), &i); err != nil {
		return i, fmt.Errorf("%s: %w: what its tables were made for: %v", b.name, engine.ErrCorrupt, err)
	}
	if err := f.usable(); err != nil {
		return remote.Info{}, fmt.Errorf("%s: %w", b.name, err)
	}
	b.made.Store(b.dialectOf(f.Extension, i.Dim))
	return i, nil
}

func (b *Backend) foreign(what string) error {
	return fmt.Errorf("%w: schema %s %s; name another", engine.ErrForeign, b.name, what)
}

// Create implements remote.Backend in one transaction. It also makes the schema and installs the extension if they are
// missing.
func (b *Backend) Create(ctx context.Context, i remote.Info) error {
	if i.Dim < 1 || i.Dim > mostVector {
		return fmt.Errorf("%w: vectors of %d dimensions, where pgvector keeps 1 to %d", engine.ErrInvalid, i.Dim, mostVector)
	}
	info, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
		return cmp.Or(err, fmt.Errorf("%s: %w", b.name, engine.ErrExists))
	}
	err = b.retry(ctx, oneRead, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return b.create(ctx, tx, i.Dim, string(info)) })
	})
	if err != nil {
		return err
	}
	now, err := b.Info(ctx)
	if err == nil && !reflect.DeepEqual(now, i) {
		err = fmt.Errorf("%s: %w", b.name, engine.ErrExists) // another was first
	}
	return err
}

func (b *Backend) create(ctx context.Context, tx pgx.Tx, dim int, info string) error {
	// Other calls of Create wait here.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('lexsem ' || $1, 0))`, b.o.Schema); err != nil {
		return err
	}
	f, err := lookIn(ctx, tx, b.o.Schema)
	if err != nil || f.Ours { // another was first
		return err
	}
	if f.Version == "" {
		if _, err := tx.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS vector"); err != nil {
			return fmt.Errorf("the extension pgvector is not installed in this database, and cannot be by this user; have its owner say CREATE EXTENSION vector: %w", err)
		}
		if f, err = lookIn(ctx, tx, b.o.Schema); err != nil {
			return err
		}
	}
	if err := f.usable(); err != nil {
		return err
	}
	statements := append([]string(nil), tables...)
	if s := indexOf(dim); s != "" {
		statements = append(statements, s)
	}
	if !f.Schema {
		statements = append([]string{"CREATE SCHEMA {s}"}, statements...)
	}
	write := b.dialectOf(f.Extension, dim).replace
	for _, s := range statements {
		if _, err := tx.Exec(ctx, strings.ReplaceAll(write.Replace(s), "{dim}", strconv.Itoa(dim))); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, write.Replace(`INSERT INTO {s}.lexsem (layout, info, own_schema) VALUES ($1, $2, $3)`), layout, info, !f.Schema)
	return err
}

func lookIn(ctx context.Context, tx pgx.Tx, schema string) (f found, err error) {
	rows, err := tx.Query(ctx, look, schema)
	if err != nil {
		return f, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[found])
}

// Drop removes the tables with all their data, and the schema if Create made it and it is otherwise empty. Missing
// tables are not an error. It keeps tables that it did not make.
func (b *Backend) Drop(ctx context.Context) error {
	if _, err := b.Info(ctx); err != nil {
		if errors.Is(err, engine.ErrNoDatabase) {
			return nil
		}
		return err
	}
	write := b.made.Load().replace
	return b.retry(ctx, oneWrite, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			var own bool
			if err := tx.QueryRow(ctx, write.Replace(`SELECT own_schema FROM {s}.lexsem FOR UPDATE`)).Scan(&own); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, write.Replace(`DROP TABLE {s}.facts, {s}.postings, {s}.passages, {s}.documents, {s}.lexsem`)); err != nil || !own {
				return err
			}
			f, err := lookIn(ctx, tx, b.o.Schema)
			if err != nil || f.Relations > 0 {
				return err
			}
			_, err = tx.Exec(ctx, write.Replace(`DROP SCHEMA {s}`))
			return err
		})
	})
}
