package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// metrics counts the server's work, in its own registry.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	searches *prometheus.CounterVec
	steps    *prometheus.HistogramVec
	texts    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	encoding prometheus.Histogram
}

// buckets range from a search by words to a batch of long texts.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lexsem_http_requests_total", Help: "Answered requests by status; 499 means that the client disconnected."}, []string{"route", "method", "status"}),
		seconds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "lexsem_http_request_seconds", Help: "Time from the header of a request to the end of its answer.", Buckets: buckets}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "lexsem_http_in_flight", Help: "Requests that are not answered yet."}),
		searches: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lexsem_searches_total", Help: "Answered searches."}, []string{"mode", "variant"}),
		steps:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "lexsem_search_step_seconds", Help: "Time of each step of a search.", Buckets: buckets}, []string{"step"}),
		texts:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lexsem_encoder_texts_total", Help: "Texts encoded for embeddings and rerank."}, []string{"role"}),
		tokens:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lexsem_encoder_tokens_total", Help: "Tokens encoded for embeddings and rerank."}, []string{"role"}),
		encoding: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "lexsem_encoder_seconds", Help: "Time of each call of the encoder for embeddings and rerank.", Buckets: buckets}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.inFlight, m.searches, m.steps, m.texts, m.tokens, m.encoding,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "lexsem_http_waiting", Help: "Requests that wait for a free slot."}, func() float64 { return float64(s.slots.waiting.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "lexsem_http_running", Help: "Requests that are being processed."}, func() float64 { return float64(len(s.slots.free)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "lexsem_http_body_bytes", Help: "Memory of request bodies and of the values decoded from them."}, func() float64 { return float64(s.buffers.taken() + s.values.used.Load()) }),
		&databaseCollector{db: s.db}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.o.Collections != nil {
		m.registry.MustRegister(collectionsCollector{s.o.Collections})
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

func (m *metrics) answered(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route, method).Observe(took.Seconds())
}

func (m *metrics) searched(t engine.Trace) {
	m.searches.WithLabelValues(t.Mode, t.Variant).Inc()
	for _, s := range t.Steps {
		m.steps.WithLabelValues(s.Name).Observe(s.Took.Seconds())
	}
}

func (m *metrics) encoded(role encoder.Role, texts, tokens int, took time.Duration) {
	m.texts.WithLabelValues(role.String()).Add(float64(texts))
	m.tokens.WithLabelValues(role.String()).Add(float64(tokens))
	m.encoding.Observe(took.Seconds())
}

// databaseCollector reads the numbers of a database when they are requested. They are
// cached for a while, since counting the bytes on disk walks its files.
type databaseCollector struct {
	db engine.Database

	mu    sync.Mutex // guards what follows, never held while the database is asked
	last  engine.Stats
	since time.Time
}

const (
	statsAge  = 5 * time.Second
	statsTime = 10 * time.Second
)

var (
	gauge = func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	upDesc        = gauge("lexsem_database_up", "1 if the database answers.")
	docsDesc      = gauge("lexsem_documents", "Stored documents.")
	chunksDesc    = gauge("lexsem_chunks", "Chunks that are searched; a document in one piece is one chunk.")
	waitingDesc   = gauge("lexsem_waiting_passages", "Chunks that have no vector yet.")
	truncatedDesc = gauge("lexsem_truncated_documents", "Documents with text beyond the encoder's limit.")
	seqDesc       = gauge("lexsem_commit", "Number of the last commit.")
	indexDesc     = gauge("lexsem_index_info", "Kind of the vector index, and the model.", "index", "model", "dim")
	diskDesc      = gauge("lexsem_disk_bytes", "Bytes of the files of the database.")
	liveDesc      = gauge("lexsem_live_bytes", "Bytes of the records of live documents.")
	reclaimDesc   = gauge("lexsem_reclaimable_bytes", "About how many bytes a compaction frees.")
	memoryDesc    = gauge("lexsem_memory_bytes", "Bytes that the open database keeps in memory.", "part")
	taskDesc      = gauge("lexsem_maintenance_running", "1 for the task that runs in the background.", "task")
	failedDesc    = gauge("lexsem_maintenance_failed", "1 if the last failed task has not succeeded since.")
	staleDesc     = gauge("lexsem_stale_passages", "Passages that RLR's factor does not fully include yet.")
	unindexedDesc = gauge("lexsem_unindexed_chunks", "Chunks that the local bridges lack.")
)

// Describe implements prometheus.Collector.
func (c *databaseCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{upDesc, docsDesc, chunksDesc, waitingDesc, truncatedDesc, seqDesc, indexDesc, diskDesc, liveDesc, reclaimDesc, memoryDesc, taskDesc, failedDesc, staleDesc, unindexedDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *databaseCollector) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	c.mu.Lock()
	st, fresh := c.last, time.Since(c.since) < statsAge
	c.mu.Unlock()
	if !fresh {
		ctx, cancel := context.WithTimeout(context.Background(), statsTime)
		defer cancel()
		var err error
		if st, err = c.db.Stats(ctx); err != nil {
			send(upDesc, 0)
			return
		}
		c.mu.Lock()
		c.last, c.since = st, time.Now()
		c.mu.Unlock()
	}
	truth := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	send(upDesc, 1)
	send(docsDesc, float64(st.Documents))
	send(chunksDesc, float64(st.Chunks))
	send(waitingDesc, float64(st.Waiting))
	send(truncatedDesc, float64(st.Truncated))
	send(seqDesc, float64(st.Seq))
	send(indexDesc, 1, st.Index, st.Encoder.Model, strconv.Itoa(st.Dim))
	send(diskDesc, float64(st.DiskBytes))
	send(liveDesc, float64(st.LiveBytes))
	send(reclaimDesc, float64(st.Reclaimable))
	for part, bytes := range st.Memory.Parts() {
		send(memoryDesc, float64(bytes), part)
	}
	if st.Maintenance.Task != "" {
		send(taskDesc, 1, st.Maintenance.Task)
	}
	send(failedDesc, truth(st.Maintenance.Error != ""))
	send(staleDesc, float64(st.Maintenance.Stale))
	send(unindexedDesc, float64(st.Maintenance.Unindexed))
}
