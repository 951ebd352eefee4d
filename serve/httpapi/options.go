package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// Options configure a Server. The zero value selects the default of every field.
type Options struct {
	// Encoder computes the vectors of embeddings and rerank; pass the encoder of the database. nil makes
	// both answer no_encoder. It must be safe for concurrent use. The server does not close it.
	Encoder encoder.Encoder
	// Reranker, if not nil, answers rerank in place of the encoder unless a request names another model;
	// pass engine.Options.Reranker of the database. The server does not close it.
	Reranker engine.Reranker
	// Collections serves /v1/collections; nil means no collections.
	Collections Collections
	// Keys are the keys that clients may use; nil means that no key is required.
	Keys *Keys
	// Hosts are the accepted names of the Host header, without port; "*" accepts any. If it is empty, a
	// server with Keys accepts any name, and a server without Keys accepts only localhost. IP addresses are always
	// accepted, and any name by /healthz and /readyz. The check keeps out pages of other sites that point a host name of their own at this
	// machine.
	Hosts []string
	// Origins are other web origins, such as "https://app.example", whose pages may call the server from a
	// browser. Default: no other origins.
	Origins []string
	// ReadOnly refuses all writes.
	ReadOnly bool

	// MaxBody limits a body after decompression, and one line of NDJSON, in bytes; 0 means 16 MiB. MaxBulk
	// limits a whole NDJSON body, in bytes; 0 means 1 GiB. All bodies together may use 16 times MaxBody,
	// at least 64 MiB, until they are decoded; the decoded values may use the same again.
	MaxBody, MaxBulk int64
	// MaxTexts limits the texts or documents of one request; 0 means 1,024. NDJSON has no such limit.
	MaxTexts int
	// MaxK limits the hits of a search; 0 means 1,000.
	MaxK int
	// MaxRerank limits the hits that a search may have reranked; 0 means 200.
	MaxRerank int
	// Concurrency limits the requests that run at the same time; 0 means four per processor. Queue limits
	// the requests that wait for a slot; 0 means 1,024. QueueTime limits their waiting time; 0 means 5 s.
	// Requests beyond these limits get status 429.
	Concurrency, Queue int
	QueueTime          time.Duration
	// Timeout limits requests that read; 0 means one minute. LoadTimeout limits requests that store, embed
	// or rerank texts, and each batch of NDJSON; 0 means ten minutes.
	Timeout, LoadTimeout time.Duration
	// DrainTime is the time that Serve gives running requests to end after its context is done; 0 means 30
	// s.
	DrainTime time.Duration

	// Logger receives each request at level Info and each failure at level Error; nil means no log. Texts
	// of queries are logged only with LogQueries.
	Logger     *slog.Logger
	LogQueries bool
	// Tracer makes one OpenTelemetry span per request; nil makes none.
	Tracer trace.TracerProvider
	// Page serves the page at / for browsers; nil means no page.
	Page http.Handler
	// MCP makes the handler of /mcp, for example the method Handler of an mcp.Server; nil means no /mcp.
	// Requests need a key that may read. mayWrite says whether a request may also store: its key may
	// write, or no key is required, and the server is not read-only. Requests wait for a slot as others
	// do. The handler limits the time of a call.
	MCP func(mayWrite func(*http.Request) bool) http.Handler
	// Version is the version of the program in the OpenAPI document and the metrics.
	Version string
}

// Collections are named databases in addition to the main one. Get and Drop return engine.ErrNotFound
// for an unknown name, and Create returns engine.ErrExists for a name in use. The metric of Create is
// that of engine.Options; "" means cosine.
type Collections interface {
	List(ctx context.Context) ([]string, error)
	Create(ctx context.Context, name, metric string) error
	Get(ctx context.Context, name string) (engine.Database, error)
	Drop(ctx context.Context, name string) error
	// Opened returns the open collections, for metrics. It opens no collection.
	Opened() map[string]engine.Database
}

// Limits of a server by default.
const (
	defaultBody        = 16 << 20
	defaultBulk        = 1 << 30
	defaultTexts       = 1024
	defaultK           = 1000
	defaultRerank      = 200
	defaultQueue       = 1024
	defaultQueueTime   = 5 * time.Second
	defaultTimeout     = time.Minute
	defaultLoadTimeout = 10 * time.Minute
	defaultDrainTime   = 30 * time.Second
	slotsPerCPU        = 4
	buffersPerLimit    = 16       // times MaxBody is the memory for bodies, and for what they are decoded into
	leastBuffers       = 64 << 20 // bytes of each, whatever MaxBody says
)

// filled is o with its defaults, or an error that names each field out of range.
func (o Options) filled() (Options, error) {
	for _, n := range []struct {
		name string
		v    int64
	}{{"MaxBody", o.MaxBody}, {"MaxBulk", o.MaxBulk}, {"MaxTexts", int64(o.MaxTexts)}, {"MaxK", int64(o.MaxK)}, {"MaxRerank", int64(o.MaxRerank)}, {"Concurrency", int64(o.Concurrency)},
		{"Queue", int64(o.Queue)}, {"QueueTime", int64(o.QueueTime)}, {"Timeout", int64(o.Timeout)}, {"LoadTimeout", int64(o.LoadTimeout)}, {"DrainTime", int64(o.DrainTime)}} {
		if n.v < 0 {
			return o, fmt.Errorf("%w: Options.%s is %d; use a positive number, or 0 for the default", engine.ErrInvalid, n.name, n.v)
		}
	}
	if o.MaxK > engine.MaxK {
		return o, fmt.Errorf("%w: Options.MaxK is %d; use a number up to %d", engine.ErrInvalid, o.MaxK, engine.MaxK)
	}
	if o.MaxRerank > engine.MaxRerank {
		return o, fmt.Errorf("%w: Options.MaxRerank is %d; use a number up to %d", engine.ErrInvalid, o.MaxRerank, engine.MaxRerank)
	}
	for _, h := range o.Hosts {
		if h == "" || strings.ContainsAny(h, "/ ") {
			return o, fmt.Errorf("%w: host %q in Options.Hosts; give names without scheme and port", engine.ErrInvalid, h)
		}
	}
	o.MaxBody, o.MaxBulk = cmp.Or(o.MaxBody, defaultBody), cmp.Or(o.MaxBulk, defaultBulk)
	o.MaxTexts, o.MaxK = cmp.Or(o.MaxTexts, defaultTexts), cmp.Or(o.MaxK, defaultK)
	o.MaxRerank = cmp.Or(o.MaxRerank, defaultRerank)
	o.Concurrency, o.Queue = cmp.Or(o.Concurrency, slotsPerCPU*runtime.GOMAXPROCS(0)), cmp.Or(o.Queue, defaultQueue)
	o.QueueTime, o.DrainTime = cmp.Or(o.QueueTime, defaultQueueTime), cmp.Or(o.DrainTime, defaultDrainTime)
	o.Timeout, o.LoadTimeout = cmp.Or(o.Timeout, defaultTimeout), cmp.Or(o.LoadTimeout, defaultLoadTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider()
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []string{"*"}
		if o.Keys == nil {
			o.Hosts = []string{"localhost", "127.0.0.1", "::1"}
		}
	}
	return o, nil
}

// Loopback reports whether a listener's address is reachable only from this machine.
func Loopback(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
