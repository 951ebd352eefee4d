package pgvector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/rest"
	"github.com/lexsem/lexsem/internal/secret"
)

// background is the context of the pool, which Close ends.
var background = context.Background()

// Bounds of one try of a call.
const (
	oneRead  = time.Minute
	oneWrite = 10 * time.Minute
)

// dialect is how statements are written for a schema: {s} is the schema, {v} that of the
// extension, {near} the distance of p.vector from the vector $1 by which the index is ordered.
type dialect struct {
	schema  string
	replace *strings.Replacer
}

func (b *Backend) dialectOf(extension string, dim int) *dialect {
	s, v := pgx.Identifier{b.o.Schema}.Sanitize(), pgx.Identifier{extension}.Sanitize()
	kind, column := v+".vector", "p.vector"
	if dim > mostIndexed && dim <= mostHalf {
		kind = fmt.Sprintf("%s.halfvec(%d)", v, dim)
		column += "::" + kind
	}
	near := fmt.Sprintf("(%s) OPERATOR(%s.<=>) $1::real[]::%s", column, v, kind)
	return &dialect{b.o.Schema, strings.NewReplacer("{s}", s, "{v}", v, "{near}", near)}
}

// here is the dialect of the schema that was made.
func (b *Backend) here(ctx context.Context) (*dialect, error) {
	if d := b.made.Load(); d != nil {
		return d, nil
	}
	_, err := b.Info(ctx)
	return b.made.Load(), err
}

// settings hold for the statements that go to the server with them. Plans follow the values
// that are asked for; compiling a query takes longer than it saves; the graph is searched further
// while a filter leaves fewer than are asked for.
const settings = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
	set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1, true)`

// query is a statement with its values.
type query struct {
	text    string
	values  []any
	breadth int // of the search of a graph, in candidates; 0 for the statements that search none
}

// ask asks a query of the schema, and reads each row of the answer.
func ask[T any](ctx context.Context, b *Backend, q query, read pgx.RowToFunc[T]) (all []T, err error) {
	d, err := b.here(ctx)
	if err != nil {
		return nil, err
	}
	q.text = d.replace.Replace(q.text)
	return rowsOf(ctx, b, q, read)
}

// rowsOf asks a query that is written out. A server that is away is asked again until patience ends.
func rowsOf[T any](ctx context.Context, b *Backend, q query, read pgx.RowToFunc[T]) (all []T, err error) {
	breadth := strconv.Itoa(min(max(q.breadth, leastBreadth), mostBreadth))
	err = b.retry(ctx, oneRead, func(ctx context.Context) (err error) {
		var batch pgx.Batch // one way there and back, and one transaction
		batch.Queue(settings, breadth)
		batch.Queue(q.text, q.values...)
		res := b.pool.SendBatch(ctx, &batch)
		defer func() { err = errors.Join(err, res.Close()) }()
		if _, err := res.Exec(); err != nil {
			return err
		}
		rows, err := res.Query()
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, read)
		return err
	})
	return all, err
}

// retry calls do until it succeeds, fails for good, or patience ends; a try has some time.
func (b *Backend) retry(ctx context.Context, each time.Duration, do func(ctx context.Context) error) error {
	return rest.Retry(ctx, b.o.Patience, func(int) (again bool, err error) {
		within, cancel := context.WithTimeoutCause(ctx, each, fmt.Errorf("no answer within %s", each))
		defer cancel()
		err = do(within)
		if err == nil {
			return false, nil
		}
		return passing(err), secret.Error(b.failed(err), b.o.Password)
	})
}

// own are errors that say all by themselves.
var own = []error{engine.ErrExists, engine.ErrInvalid, engine.ErrForeign, engine.ErrNoDatabase, engine.ErrCorrupt}

// failed says where an error came from.
func (b *Backend) failed(err error) error {
	if slices.ContainsFunc(own, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	switch codeOf(err) {
	case "42P01", "3F000": // no such table, no such schema
		return fmt.Errorf("%s: %w: %v", b.name, engine.ErrNoDatabase, err)
	}
	return fmt.Errorf("%s: %w: %w", b.name, ErrServer, err)
}

// codeOf is the server's code of an error, "" for one that is not the server's.
func codeOf(err error) string {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return said.Code
	}
	return ""
}

// passingCodes are those of a server that ends, begins, is not the primary any more or has too many
// connections, and of transactions that were in each other's way: 23505 is of a key that another has
// stored since it was looked for.
var passingCodes = []string{"57P01", "57P02", "57P03", "25006", "53300", "40001", "40P01", "23505"}

// passing says whether a call that failed may succeed when it is made again.
func passing(err error) bool {
	if code := codeOf(err); code != "" {
		return strings.HasPrefix(code, "08") || slices.Contains(passingCodes, code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed)
}
