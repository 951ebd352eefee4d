package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/serve/collections"
	"github.com/lexsem/lexsem/serve/httpapi"
	"github.com/lexsem/lexsem/serve/httpapi/page"
	"github.com/lexsem/lexsem/serve/mcp"
	"github.com/lexsem/lexsem/store"
)

var cmdServe = command{
	name:    "serve",
	summary: "answer searches, documents and embeddings over HTTP",
	about: `
Serves the database until it is interrupted; makes it if it does not exist. When interrupted, it accepts
no new request, lets the running ones end, and saves. Collections are databases in the folder collections
inside the database. When the server is ready, it prints one line on standard output, "listening on
http://HOST:PORT".

/openapi.json describes all paths: search, explain, documents, embeddings as in OpenAI's API, rerank,
collections and stats. Browsers get a search page at /. Agents use the Model Context Protocol at /mcp (see
lexsem help mcp). /healthz, /readyz and /metrics are for operators.

The answer to a write means that the write is on disk. By default only this machine reaches the server.
Another --addr needs keys or --insecure. The file of keys has one key per line: "read KEY", "write KEY",
or only the key, which allows both. Clients send Authorization: Bearer KEY or x-api-key: KEY.

With --db elasticsearch://HOST:PORT/INDEX, weaviate://HOST:PORT/CLASS or
postgres://HOST:PORT/DATABASE/SCHEMA the server answers queries over another search engine, which lexsem
migrate has filled. It then stores nothing on this machine except the model and the bridge, so any number
of servers can run in parallel. Collections are not available, and calls that need the documents on this
machine are refused.

--rerank names a second stage for /v1/rerank and for all searches. "rerank": -1 in a search switches it
off.

Each request is one line of the log on standard error. The log holds no texts of queries unless
--log-queries is given.`,
	examples: []string{
		"lexsem serve --db elasticsearch://10.0.0.1:9200,10.0.0.2:9200/notes --bridge notes.bridge",
		"lexsem serve --db notes.db --addr 0.0.0.0:7700 --api-key-file keys --tls-cert cert.pem --tls-key key.pem",
	},
	declare: func(f *flags) action {
		o := serveOptions{
			addr:     f.str("addr", "127.0.0.1:7700", "`HOST:PORT`where to listen; port 0 picks a free one"),
			keys:     f.str("api-key-file", "", "`FILE`keys; clients must send one of them; read again when it changes"),
			insecure: f.bool("insecure", "allow other machines without keys"),
			readOnly: f.bool("read-only", "refuse all writes"),
			hosts:    f.str("allow-hosts", "", "`NAMES`host names by which clients may address this server, separated by commas; * for any"),
			origins:  f.str("allow-origins", "", "`ORIGINS`other origins whose web pages may call the server, such as https://app.example, separated by commas"),
			cert:     f.str("tls-cert", "", "`FILE`certificate, for https; read again when it changes"),
			key:      f.str("tls-key", "", "`FILE`private key of the certificate"),
			second:   declareRerank(f),
			bridge:   f.str("bridge", "", "`FILE`with --db URL: bridge file of lexsem bridge, by which queries are modulated; read again when it changes"),
			queries:  f.bool("log-queries", "write the texts of queries into the log"),
			logs:     f.str("log-format", "text", "`FORMAT`format of the log: text or json"),
			most:     memoryFlag(f),
			open:     f.int("collections-memory", 0, "`MIB`about the memory of all open collections together; those used longest ago are closed first; default 512"),
			many:     f.int("concurrency", 0, "most requests at the same time; default four per processor"),
			timeout:  f.str("timeout", "1m", "`TIME`most time of a request that reads; one that stores, embeds or reranks texts has 10m"),
			drain:    f.str("drain", "30s", "`TIME`time for running requests to end when the server stops"),
		}
		return o.run
	},
}

type serveOptions struct {
	addr, keys, hosts, origins, cert, key, logs, timeout, drain, bridge *string
	insecure, readOnly, queries                                         *bool
	many, most, open                                                    *int
	second                                                              rerankFlags
}

// server returns the options of the server from the flags.
func (o serveOptions) server(a *app) (h httpapi.Options, err error) {
	h = httpapi.Options{
		ReadOnly: *o.readOnly, Hosts: listed(*o.hosts), Origins: listed(*o.origins), Concurrency: *o.many,
		LogQueries: *o.queries, Version: versions().Version,
	}
	for _, t := range []struct {
		name, value string
		to          *time.Duration
	}{{"--timeout", *o.timeout, &h.Timeout}, {"--drain", *o.drain, &h.DrainTime}} {
		if *t.to, err = time.ParseDuration(t.value); err != nil || *t.to <= 0 {
			return h, usagef("%s %s: use a time such as 30s or 5m", t.name, t.value)
		}
	}
	if *o.open < 0 {
		return h, usagef("--collections-memory %d: use a positive number of MiB", *o.open)
	}
	level := slog.LevelInfo
	if a.quiet {
		level = slog.LevelWarn
	}
	switch *o.logs {
	case "text":
		h.Logger = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level}))
	case "json":
		h.Logger = slog.New(slog.NewJSONHandler(a.Stderr, &slog.HandlerOptions{Level: level}))
	default:
		return h, usagef("--log-format %s: use text or json", *o.logs)
	}
	if *o.many < 0 {
		return h, usagef("--concurrency %d: use a positive number", *o.many)
	}
	if *o.keys != "" {
		if h.Keys, err = httpapi.ReadKeys(*o.keys); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (o serveOptions) run(ctx context.Context, a *app, _ []string) (err error) {
	if err := (engine.Options{MaxMemoryMiB: *o.most}).Validate(); err != nil {
		return &usageError{msg: err.Error()}
	}
	h, err := o.server(a)
	if err != nil {
		return err
	}
	go freeAtRest(ctx, restAfter)
	moreCollections()
	over := elsewhere(a.db)
	if !over {
		if _, err := a.needDB(); err != nil {
			return err
		}
	}
	if *o.bridge != "" && !over {
		return usagef("--bridge goes with --db URL; a database in a folder keeps its own bridges")
	}
	tlsConfig, err := o.tls(h.Logger)
	if err != nil {
		return err
	}
	second, closeSecond, err := a.reranker(ctx, o.second)
	if err != nil {
		return err
	}
	closing := func(f func() error) {
		if !errors.Is(err, httpapi.ErrRunning) { // what runs has it in use; the process ends, and all that was acknowledged is on disk
			err = errors.Join(err, f())
		}
	}
	defer closing(closeSecond)
	h.Reranker = second
	l, err := o.listen(ctx, h)
	if err != nil {
		return err
	}
	defer func() {
		if e := l.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}()
	open := o.openFolder
	if over {
		open = o.openOver
	}
	db, end, err := open(ctx, a, &h, second)
	if err != nil {
		return err
	}
	defer closing(end)
	h.Page = page.Handler()
	searched := engine.WithReranker(db, second, *o.second.depth)
	h.MCP = mcp.New(searched, mcp.Options{ReadOnly: *o.readOnly, Place: location.Of, AnyHost: true, Timeout: h.Timeout, Logger: h.Logger, Version: h.Version}).Handler
	s, err := httpapi.New(searched, h)
	if errors.Is(err, engine.ErrInvalid) {
		return usagef("%v", err)
	}
	if err != nil {
		return err
	}
	scheme := "http"
	if tlsConfig != nil {
		scheme, l = "https", tls.NewListener(l, tlsConfig)
	}
	if _, err := fmt.Fprintf(raw(a.Stdout), "listening on %s://%s\n", scheme, l.Addr()); err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// openFolder opens the database in a folder, and the collections next to it.
func (o serveOptions) openFolder(ctx context.Context, a *app, h *httpapi.Options, second engine.Reranker) (_ engine.Database, end func() error, err error) {
	db, err := a.openDB(ctx, a.db, engine.Options{MustExist: *o.readOnly, ReadOnly: *o.readOnly, MaxMemoryMiB: *o.most, Logger: h.Logger})
	if err != nil {
		return nil, nil, err
	}
	end = db.close
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	if _, other := db.Holder(); other { // it encodes for the database; embeddings are made here
		if err := db.bringEncoder(ctx); err != nil && !errors.Is(err, errVectorsAlone) {
			return nil, nil, err
		}
	}
	h.Encoder = db.encoder()
	each := engine.Options{ReadOnly: *o.readOnly, MemoryMiB: collectionMiB, MaxMemoryMiB: *o.most, AcceptModel: a.acceptModel, Logger: h.Logger, Reranker: second}
	if second != nil {
		each.RerankDepth = *o.second.depth
	}
	if h.Encoder == nil {
		st, err := db.Stats(ctx)
		if err != nil {
			return nil, nil, err
		}
		each.Dim = st.Dim
	}
	if a.collection != "" { // it has none of its own
		return db, end, nil
	}
	set, err := collections.Open(store.Folder(a.db).Collections(), h.Encoder, collections.Options{Engine: each, Command: "lexsem " + a.name, OpenMiB: *o.open})
	if err != nil {
		return nil, nil, err
	}
	h.Collections = set
	a.served.Store(set)
	return db, func() error { return errors.Join(set.Close(), db.close()) }, nil
}

// collectionMiB is the memory budget of the store of a collection: the minimum, as many may be open.
const collectionMiB = 32

// openOver opens the query side of another engine. It keeps nothing on this machine.
func (o serveOptions) openOver(ctx context.Context, a *app, h *httpapi.Options, _ engine.Reranker) (engine.Database, func() error, error) {
	r, enc, err := a.openOver(ctx, a.db, remote.Options{ReadOnly: *o.readOnly, Bridge: *o.bridge, Logger: h.Logger})
	if err != nil {
		return nil, nil, err
	}
	if enc == nil {
		return r, r.Close, nil
	}
	h.Encoder = enc
	return r, func() error { return errors.Join(r.Close(), a.closeEncoder(enc)) }, nil
}

// listen opens the address before the slow steps begin. Other machines need a key, unless
// --insecure is set.
func (o serveOptions) listen(ctx context.Context, h httpapi.Options) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(*o.addr); err != nil {
		return nil, hinted(usagef("--addr %s: %v", *o.addr, err), "write it as 127.0.0.1:7700")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *o.addr)
	if err != nil {
		return nil, hinted(fmt.Errorf("listening on %s: %w", *o.addr, err), "choose another --addr; port 0 picks a free port")
	}
	if h.Keys == nil && !*o.insecure && !httpapi.Loopback(l.Addr()) {
		return nil, errors.Join(hinted(usagef("--addr %s allows other machines, and no keys are given", *o.addr),
			"name a file of keys with --api-key-file, or use --insecure"), l.Close())
	}
	return l, nil
}

func (o serveOptions) tls(log *slog.Logger) (*tls.Config, error) {
	if *o.cert == "" && *o.key == "" {
		return nil, nil
	}
	if *o.cert == "" || *o.key == "" {
		return nil, usagef("--tls-cert and --tls-key go together")
	}
	c := &certificate{files: [2]string{*o.cert, *o.key}, log: log}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// listed splits a list at its commas.
func listed(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}
