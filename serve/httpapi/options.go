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

// Options shape a Server. The zero value is the default of every field.
type Options struct {
	// Encoder serves embeddings and rerank: that of the database. nil means that
	// these answer no_encoder. It must be safe for concurrent use, and is not closed.
	Encoder encoder.Encoder
	// Reranker serves rerank in place of the encoder, for requests that name no other
	// model: that of the database (engine.Options.Reranker), if it has one. It is not closed.
	Reranker engine.Reranker
	// Collections serves /v1/collections; nil means that there are none.
	Collections Collections
	// Keys are what clients must show one of; nil means that none is asked for.
	Keys *Keys
	// Hosts are the names that the Host header may have, without a port; "*" allows
	// any. Empty means the names of the loopback interface where no keys are asked
	// for, else any: a page of another site that points its own name at this machine
	// has no key, and the check is what keeps it out where there is none to have.
	Hosts []string
	// Origins are the web pages of other origins, such as "https://app.example", that
	// may call the server from a browser. None by default.
	Origins []string
	// ReadOnly refuses everything that writes.
	ReadOnly bool

	// MaxBody is the most bytes of a body after decompression, and of a line of a
	// bulk; 0 means 16 MiB. MaxBulk is the most bytes of a bulk; 0 means 1 GiB. 16 times
	// MaxBody is the memory for all bodies until they are decoded, and again for all that
	// they are decoded into, but 64 MiB at least.
	MaxBody, MaxBulk int64
	// MaxTexts is the most texts, or documents, of one request; 0 means 1,024. A bulk
	// has no such limit.
	MaxTexts int
	// MaxK is the most hits a search may ask for; 0 means 1,000.
	MaxK int
	// MaxRerank is the most hits that a search may ask to have reranked; 0 means 200.
	MaxRerank int
	// Concurrency is how many requests are worked on at a time; 0 means four a
	// processor. Queue is how many others wait for their turn, QueueTime for how
	// long; then they are answered with 429. 0 means 1,024, and 5 s.
	Concurrency, Queue int
	QueueTime          time.Duration
	// Timeout ends requests that read, LoadTimeout those that store, of a bulk each
	// of its batches; 0 means a minute, and ten.
	Timeout, LoadTimeout time.Duration
	// DrainTime is how long Serve lets running requests end once its context is done;
	// 0 means 30 s.
	DrainTime time.Duration

	// Logger hears of each request at level Info, and of what fails at level Error;
	// nil means neither. Texts of queries are in it only with LogQueries.
	Logger     *slog.Logger
	LogQueries bool
	// Tracer makes OpenTelemetry spans, one a request; nil makes none.
	Tracer trace.TracerProvider
	// Page serves what a browser gets at /; nil means nothing.
	Page http.Handler
	// MCP makes what serves /mcp, such as the method Handler of an mcp.Server; nil means
	// nothing. It takes keys that may read. mayWrite says whether a request may store as
	// well: its key may write, or none is asked for, and the server is not read-only. Its
	// requests wait for their turn; how long a call takes is for the handler to bound.
	MCP func(mayWrite func(*http.Request) bool) http.Handler
	// Version is what the OpenAPI document and the metrics say of this program.
	Version string
}

// Collections are databases beside the server's own, by name. Get and Drop answer
// engine.ErrNotFound for a name that there is not, Create engine.ErrExists for one that
// there is. The metric of Create is as in engine.Options, and "" is cosine.
type Collections interface {
	List(ctx context.Context) ([]string, error)
	Create(ctx context.Context, name, metric string) error
	Get(ctx context.Context, name string) (engine.Database, error)
	Drop(ctx context.Context, name string) error
	// Opened are those that are open, for metrics; it opens none.
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

// filled is o with its defaults, or an error for each field that is out of range.
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

// Loopback says whether a listener's address is reached from this machine alone.
func Loopback(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
