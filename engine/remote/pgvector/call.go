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

// background is the context of the pool; Close ends the pool.
var background = context.Background()

// Bounds of one try of a call.
const (
	oneRead  = time.Minute
	oneWrite = 10 * time.Minute
)

// dialect adapts statements to a schema: {s} is the schema, {v} that of the extension, {near} the
// distance between p.vector and $1 that the index is ordered by.
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

// here returns the dialect of the existing schema.
func (b *Backend) here(ctx context.Context) (*dialect, error) {
	if d := b.made.Load(); d != nil {
		return d, nil
	}
	_, err := b.Info(ctx)
	return b.made.Load(), err
}

// settings apply to the statements that are sent with them. Plans depend on the actual values;
// queries are not compiled, which takes longer than it saves; and a graph search continues while a
// filter leaves too few hits.
const settings = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
	set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', $1, true)`

// query is a statement with its values.
type query struct {
	text    string
	values  []any
	breadth int // of the search of a graph, in candidates; 0 for the statements that search none
}

// ask sends a query about the schema, and reads each row of the answer.
func ask[T any](ctx context.Context, b *Backend, q query, read pgx.RowToFunc[T]) (all []T, err error) {
	d, err := b.here(ctx)
	if err != nil {
		return nil, err
	}
	q.text = d.replace.Replace(q.text)
	return rowsOf(ctx, b, q, read)
}

// rowsOf sends a complete query. If the server is unreachable, it tries again for at most Options.Patience.
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

// retry calls do until it succeeds or fails permanently, for at most Options.Patience. each limits one call.
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

// own are errors whose messages need no addition.
var own = []error{engine.ErrExists, engine.ErrInvalid, engine.ErrForeign, engine.ErrNoDatabase, engine.ErrCorrupt}

// failed adds to an error where it came from.
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

// codeOf is the server's code of an error, or "" for other errors.
func codeOf(err error) string {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return said.Code
	}
	return ""
}

// passingCodes are those of a server that stops, starts, is no longer the primary or has too many
// connections, and of conflicting transactions: 23505 means that another call has stored the key
// since it was looked up.
var passingCodes = []string{"57P01", "57P02", "57P03", "25006", "53300", "40001", "40P01", "23505"}

// passing reports whether a failed call may succeed when it is repeated.
func passing(err error) bool {
	if code := codeOf(err); code != "" {
		return strings.HasPrefix(code, "08") || slices.Contains(passingCodes, code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed)
}
