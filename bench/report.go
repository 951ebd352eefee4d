package bench

import "fmt"

// Report is the outcome of Run. Its JSON form is a contract: fields may be
// added, none is renamed.
type Report struct {
	Data      string `json:"data"`      // name of the corpus
	Documents int    `json:"documents"` // passages of the corpus
	// Distractors are further passages that were searched, but neither asked
	// for nor fitted to, see Options.
	Distractors int    `json:"distractors,omitempty"`
	Distinct    int    `json:"distinct"`  // passages with different texts, which is what was indexed
	Truncated   int    `json:"truncated"` // of those, texts cut at the encoder's limit
	Encoder     string `json:"encoder"`
	Seed        uint64 `json:"seed"`
	Half        Half   `json:"half"`    // of the queries that was asked; "all" for both
	Version     string `json:"version"` // of the program
	// Index is the kind of index that vectors were searched with; "" is exact.
	Index string `json:"index,omitempty"`
	// Reranker is the name of what systems that rerank asked, and RerankDepth how many
	// passages of a query it read; none where no system did.
	Reranker    string `json:"reranker,omitempty"`
	RerankDepth int    `json:"rerank_depth,omitempty"`
	// Tasks name the queries that each task averages over, in the order of
	// Result.PerQuery.
	Tasks []TaskQueries `json:"tasks"`
	// Results stand by task in the order asked for, and within a task by
	// system.
	Results []Result `json:"results"`
	// BytesPerPassage is the memory that each system answers from, divided by
	// the passages that it indexes: vectors, words, and what modulates queries.
	// Systems that do not tell have no entry.
	BytesPerPassage map[string]float64 `json:"bytes_per_passage,omitempty"`
	// Fit has an entry for every system that was fitted on the corpus. All
	// passages were seen in fitting; the queries of the tasks were not.
	Fit map[string]Fit `json:"fit"`
	// Clean tells that the probes are clean ones, see Options.Clean.
	Clean bool `json:"clean"`
	// Overlaps tell, for each task made from passages, what its queries share
	// with those of the fits; none where no system was taught by queries.
	Overlaps []Overlap `json:"overlaps,omitempty"`
	// Answerable has an entry for each system where queries without a positive
	// were asked, see Options.
	Answerable []Answerable `json:"answerable,omitempty"`
	// Cost is what the whole took.
	Cost Cost `json:"cost"`
	// Cases are queries that a system answered much better or much worse than
	// dense did, see Options.Cases.
	Cases []Case `json:"cases,omitempty"`
}

// TaskQueries are the queries of a task by id.
type TaskQueries struct {
	Task    string   `json:"task"`
	Queries []string `json:"queries"`
}

// Result is one system on one task.
type Result struct {
	System  string             `json:"system"`
	Task    string             `json:"task"`
	Queries int                `json:"queries"`  // queries that were averaged over
	LeftOut int                `json:"left_out"` // see Task.LeftOut
	Metrics map[string]float64 `json:"metrics"`  // means in [0, 1]
	// Intervals are 95 % bootstrap intervals of Metrics: low and high.
	Intervals map[string][2]float64 `json:"intervals,omitempty"`
	// VsDense compares with the system "dense" on the same task; nil for dense
	// itself and where dense was not run.
	VsDense *Comparison `json:"vs_dense,omitempty"`
	// MsPerQuery is the wall time of modulating and searching, queries encoded
	// before, on all cores, divided by the queries.
	MsPerQuery float64 `json:"ms_per_query"`
	// CPUMsPerQuery is the processor time of the same work, all threads, divided
	// by the queries. Other work on the machine moves it less.
	CPUMsPerQuery float64 `json:"cpu_ms_per_query"`
	// PerQuery holds the scores behind Metrics, one for each query of the task.
	PerQuery map[string][]float64 `json:"per_query,omitempty"`

	ids   []string  // queries of the task
	first []int     // rank of the first positive from 1, 0 where none was found
	top   []string  // what stood first
	best  []float64 // its score
}

// Fit is what preparing a system on the corpus took.
type Fit struct {
	// Seconds is the wall time of the whole fit.
	Seconds float64 `json:"seconds"`
	// Cached tells that the bridge was fitted before, earlier in this run or in
	// another one.
	Cached bool `json:"cached,omitempty"`
	// Loss is the mean training loss of the epoch whose weights were kept, or of the last
	// steps where FitSteps ended it, in nats; 0 where another system of the run has fitted the bridge.
	Loss float64 `json:"loss,omitempty"`
	// EncodeSeconds is the part of it that encoded training queries. What an
	// earlier fit of the same run has computed costs nothing: the queries it
	// encoded, the corpus sums it made.
	EncodeSeconds float64 `json:"encode_seconds"`
	// CPUSeconds is the processor time of the whole fit, all threads.
	CPUSeconds float64 `json:"cpu_seconds"`
	// Queries is the number of self-made training queries, 0 for a closed form.
	Queries int `json:"queries"`
	// Bytes is the memory of what was made: sums and fitted parameters.
	Bytes int64 `json:"bytes,omitempty"`
	// Passages is the number of passages seen.
	Passages int `json:"passages"`
}

// Cost is time spent, in seconds.
type Cost struct {
	EncodeSeconds    float64 `json:"encode_seconds"`     // wall time of encoding passages and questions
	EncodeCPUSeconds float64 `json:"encode_cpu_seconds"` // processor time of that, all threads
	TotalSeconds     float64 `json:"total_seconds"`      // wall time of everything
	TotalCPUSeconds  float64 `json:"total_cpu_seconds"`  // processor time of everything, all threads
}

// Searched says in words what was searched: "20000 passages among 58703 others"
// where there are distractors, passages being what they are called.
func (r *Report) Searched(passages string) string {
	if r.Distractors == 0 {
		return fmt.Sprintf("%d %s", r.Documents, passages)
	}
	return fmt.Sprintf("%d %s among %d others", r.Documents, passages, r.Distractors)
}

// Asked says in words which queries were asked, each part behind sep: their
// half, if it is not all, that probes are clean, and by what they were reranked; "" for none.
func (r *Report) Asked(sep string) string {
	out := asked(r.Half, r.Clean, sep)
	if r.Reranker != "" {
		out += fmt.Sprintf("%sthe first %d reranked by %s", sep, r.RerankDepth, r.Reranker)
	}
	return out
}

// Asked is as that of a Report.
func (c *Curve) Asked(sep string) string { return asked(c.Half, c.Clean, sep) }

func asked(h Half, clean bool, sep string) string {
	out := ""
	if l := h.Label(); l != "" {
		out += sep + l
	}
	if clean {
		out += sep + "clean probes"
	}
	return out
}
