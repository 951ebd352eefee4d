// Package pgvector keeps the documents of a database in one schema of PostgreSQL, with the extension pgvector
// from 0.8 on. Start with [Open] (or [Parse] for a URL), which makes no call to a server; package
// engine/remote makes a database of the Backend. It is tested against PostgreSQL 16 and 18.
//
// Vectors are stored as float32, so cosines are exact. Their HNSW index has half precision from 2,001 to
// 4,000 dimensions; beyond there is no index, and a search reads all vectors. The server computes BM25 from a
// table of terms. Metadata are stored unchanged and searched by a table of their facts (package filter).
//
// A Backend is safe for concurrent use. Each write is one transaction. If no server answers a call, it is
// tried again for Options.Patience. Errors wrap ErrServer.
package pgvector

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/secret"
)

// ErrServer means that the server failed or could not be reached. Every such error wraps it.
var ErrServer = fmt.Errorf("%w: postgres", engine.ErrBackend)

// Options name a schema of a database and its servers. URL and Schema are required.
type Options struct {
	// URL names servers and database as in libpq, without a password:
	// postgres://[USER@]HOST[:PORT][,HOST[:PORT]…]/DATABASE[?SETTINGS].
	//
	// Settings are those of libpq and of pgx (pool_max_conns, default_query_exec_mode). Missing ones come from libpq's
	// variables and files (PGPASSWORD, PGPASSFILE, PGSSLMODE). Of several hosts the one that takes writes is used,
	// unless target_session_attrs says otherwise.
	URL string
	// Schema is the name of this database's schema, 1 to 63 bytes.
	Schema string
	// Password of the user; "" means the one that libpq finds.
	Password string
	// Patience is how long a call is retried while no server answers; 0 means 20 s.
	Patience time.Duration
}

// Backend is one schema. It is safe for concurrent use.
//
// Limits with PostgreSQL:
//   - The database must use UTF-8. Its user needs the right to CREATE EXTENSION vector, unless the extension exists. A
//     schema with other tables is refused.
//   - A lexical query whose terms have more than half a million entries ignores its most frequent terms.
//   - If a filter keeps few passages and the graph names too few of them, all matching passages are compared.
//   - A filter with < or > at a path of more than 500 bytes is an error.
//   - A write is a transaction for each 256 documents; each call of Put is one. A write is on disk even if
//     synchronous_commit is off. It survives the loss of the machine if synchronous_standby_names names a standby.
//   - Ids and texts that PostgreSQL does not accept as text are stored in the column exact.
//   - Lexical searches are fastest after a vacuum of postings. autovacuum runs it after 2 % of new rows.
//   - Each written vector enters the index at once. To load millions, DROP INDEX SCHEMA.passages_near, migrate, and
//     create the index again; pg_indexes has its definition.
type Backend struct {
	o    Options
	pool *pgxpool.Pool
	name string
	// made is how statements are written for the schema, nil until Info was called.
	made atomic.Pointer[dialect]
}

var _ remote.Backend = (*Backend)(nil)

const (
	// connections is the maximum number of connections of a Backend if the URL does not set it.
	connections = 16
	// toConnect is the maximum time for connecting if the URL does not set it.
	toConnect = 10 * time.Second
	// longestName is how many bytes PostgreSQL keeps of a name.
	longestName = 63
)

// Open returns a Backend without connecting. Errors: engine.ErrInvalid.
func Open(o Options) (*Backend, error) {
	bad := func(format string, args ...any) (*Backend, error) {
		return nil, fmt.Errorf("%w: postgres: %s", engine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if err := noSecret(o.URL); err != nil {
		return bad("%v", err)
	}
	switch s := o.Schema; {
	case s == "" || len(s) > longestName || !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return bad("schema %q; use a name of 1 to %d bytes", s, longestName)
	case strings.HasPrefix(s, "pg_") || s == "information_schema":
		return bad("schema %q is PostgreSQL's own; use another name", s)
	}
	c, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return bad("%s", secret.Hide(err.Error()))
	}
	given := func(setting string) bool { return strings.Contains(o.URL, setting+"=") }
	if o.Password != "" {
		c.ConnConfig.Password = o.Password
	}
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "lexsem"
	}
	if len(c.ConnConfig.Fallbacks) > 0 && c.ConnConfig.ValidateConnect == nil && !given("target_session_attrs") {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if !given("pool_max_conns") {
		c.MaxConns = connections
	}
	if c.HealthCheckPeriod <= 0 || max(c.MinConns, c.MinIdleConns) > c.MaxConns { // the pool would panic, or take that much memory
		return bad("a pool checked each %v, of %d and %d to %d connections; use a pool_health_check_period above 0, and at most pool_max_conns for pool_min_conns and pool_min_idle_conns", c.HealthCheckPeriod, c.MinConns, c.MinIdleConns, c.MaxConns)
	}
	if !given("connect_timeout") {
		c.ConnConfig.ConnectTimeout = toConnect
	}
	// A call that is cancelled ends on the server, too.
	c.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Second}
	}
	o.Password = c.ConnConfig.Password // also one that libpq finds, for no error to hold it
	b := &Backend{o: o, name: fmt.Sprintf("postgres %s:%d/%s/%s", c.ConnConfig.Host, c.ConnConfig.Port, c.ConnConfig.Database, o.Schema)}
	b.o.Patience = cmp.Or(o.Patience, 20*time.Second)
	if b.pool, err = pgxpool.NewWithConfig(background, c); err != nil {
		return bad("%v", err)
	}
	return b, nil
}

// noSecret refuses a URL with a password, or one from which a possible password cannot be removed for
// display.
func noSecret(s string) error {
	const remedy = "give it by PGPASSWORD, a passfile, or LEXSEM_POSTGRES_PASSWORD"
	rest, query, _ := strings.Cut(s, "?")
	rest, ok := strings.CutPrefix(rest, "postgres://")
	if !ok {
		return fmt.Errorf("a URL that does not begin with postgres://; use postgres://HOST:PORT/DATABASE")
	}
	// A password may hold any character, so all in front of the last @ is the user's.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && strings.ContainsRune(rest[:at], ':') {
		return fmt.Errorf("a URL with a password; %s", remedy)
	}
	hosts, _, _ := strings.Cut(rest[strings.LastIndexByte(rest, '@')+1:], "/")
	for h := range strings.SplitSeq(hosts, ",") {
		_, port, err := net.SplitHostPort(h)
		if _, e := strconv.ParseUint(port, 10, 16); err == nil && e != nil {
			return fmt.Errorf("a URL with a port that is none; use postgres://HOST:PORT/DATABASE")
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil || strings.Contains(query, "@") {
		return fmt.Errorf("settings of a URL that cannot be read; write ?NAME=VALUE&NAME=VALUE, and %%40 for an @")
	}
	for name := range values {
		if strings.HasSuffix(strings.ToLower(name), "password") {
			return fmt.Errorf("a URL with a password; %s", remedy)
		}
	}
	return nil
}

// Parse reads Options from a URL: postgres://[USER@]HOST:PORT[,HOST:PORT…]/DATABASE/SCHEMA[?SETTINGS]. Errors:
// engine.ErrInvalid.
func Parse(s string) (o Options, err error) {
	if err := noSecret(s); err != nil {
		return o, fmt.Errorf("%w: backend: %v", engine.ErrInvalid, err)
	}
	where, settings, set := strings.Cut(s, "?")
	database, schema, _ := cutLast(where, '/')
	_, path, _ := strings.Cut(strings.TrimPrefix(where, "postgres://"), "/")
	if strings.Count(path, "/") != 1 || strings.HasPrefix(path, "/") {
		if strings.Contains(s, "@") { // what is in front of it may be a password that broke the URL
			s = "postgres://…"
		}
		return o, fmt.Errorf("%w: backend %q; use postgres://HOST:PORT/DATABASE/SCHEMA", engine.ErrInvalid, s)
	}
	if o.Schema, err = url.PathUnescape(schema); err != nil {
		return o, fmt.Errorf("%w: schema %q of a backend: %v", engine.ErrInvalid, schema, err)
	}
	o.URL = database
	if set {
		o.URL += "?" + settings
	}
	return o, nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// Name implements remote.Backend.
func (b *Backend) Name() string { return b.name }

// Close implements remote.Backend.
func (b *Backend) Close() error {
	b.pool.Close()
	return nil
}
