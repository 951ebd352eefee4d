package bench

import "fmt"

// Report is the result of Run. Its JSON form is stable: fields may be added, but none is renamed.
type Report struct {
	Data      string `json:"data"`      // name of the corpus
	Documents int    `json:"documents"` // number of passages of the corpus
	// Distractors is the number of further passages that were searched, see Options.Distractors.
	Distractors int `json:"distractors,omitempty"`
	Distinct    int `json:"distinct"`  // number of passages with different texts, which are indexed
	Truncated   int `json:"truncated"` // number of those texts that were cut at the encoder's limit
	// Chunks is the number of chunks that were searched, 0 where every text is one; see Options.ChunkTokens.
	Chunks  int    `json:"chunks,omitempty"`
	Encoder string `json:"encoder"`
	Seed    uint64 `json:"seed"`
	// Relevance is the least grade that counts as relevant, if it is not 1; see Options.Relevance.
	Relevance int    `json:"relevance,omitempty"`
	Half      Half   `json:"half"`             // half of the queries that was searched; "all" for both
	Version   string `json:"version"`          // of the program
	Commit    string `json:"commit,omitempty"` // of the program, where it is known
	// Index is the kind of index for vectors. "" means exact.
	Index string `json:"index,omitempty"`
	// Reranker is the name of the reranker. RerankDepth is the number of passages per query that it
	// scored. Both are zero if no system reranks.
	Reranker    string `json:"reranker,omitempty"`
	RerankDepth int    `json:"rerank_depth,omitempty"`
	// Tasks lists the queries that each task averages over, in the order of Result.PerQuery.
	Tasks []TaskQueries `json:"tasks"`
	// Results are grouped by task in the requested order, and within a task by system.
	Results []Result `json:"results"`
	// BytesPerPassage is the search memory of each system, divided by the number of indexed passages.
	// It covers vectors, words, and what modulates queries. Systems that do not report their memory
	// have no entry.
	BytesPerPassage map[string]float64 `json:"bytes_per_passage,omitempty"`
	// Fit has an entry for every system that was fitted on the corpus. Fits see all passages, but no
	// queries of the tasks.
	Fit map[string]Fit `json:"fit"`
	// Clean is Options.Clean, Language Options.Language.
	Clean    bool   `json:"clean"`
	Language string `json:"language,omitempty"`
	// Overlaps says, for each task made from passages, how much text its queries share with training
	// queries. It is empty if no system uses training queries.
	Overlaps []overlapShares `json:"overlaps,omitempty"`
	// Answerable has an entry for each system if queries without a positive were searched, see
	// Options.Answerable.
	Answerable []Answerable `json:"answerable,omitempty"`
	// LeftOutTasks are the tasks that the corpus has no queries for.
	LeftOutTasks []LeftOutTask `json:"left_out_tasks,omitempty"`
	// Words reports that the encoder has no tokens, so that words served as tokens (see ByTerms).
	Words bool `json:"words,omitempty"`
	// Cost is the time of the whole run.
	Cost searchCost `json:"cost"`
	// Cases are queries on which a system did much better or much worse than dense, see Options.Cases.
	Cases []Case `json:"cases,omitempty"`
}

// TaskQueries are the query ids of a task.
type TaskQueries struct {
	Task    string   `json:"task"`
	Queries []string `json:"queries"`
	// Own is the number of queries that are also passages of the corpus. The passage of a query's own
	// id is left out of its ranking, unless KeepSelf is true.
	Own      int  `json:"own,omitempty"`
	KeepSelf bool `json:"keep_self,omitempty"`
	// Absent and NoPositive are those of Task.
	Absent     int `json:"absent,omitempty"`
	NoPositive int `json:"no_positive,omitempty"`
}

// LeftOutTask is a task for which the corpus has no queries.
type LeftOutTask struct {
	Task   string `json:"task"`
	Reason string `json:"reason"`
}

// Result is the result of one system on one task.
type Result struct {
	System  string             `json:"system"`
	Task    string             `json:"task"`
	Queries int                `json:"queries"`  // number of queries in the means
	LeftOut int                `json:"left_out"` // see Task.LeftOut
	Metrics map[string]float64 `json:"metrics"`  // means in [0, 1]
	// Intervals are the 95 % bootstrap intervals of Metrics: low and high.
	Intervals map[string][2]float64 `json:"intervals,omitempty"`
	// VsDense is the comparison with the system "dense" on the same task. It is nil for dense itself
	// and if dense was not run.
	VsDense *Comparison `json:"vs_dense,omitempty"`
	// VsDenseBy is the comparison with dense by each metric. It is nil as VsDense is.
	VsDenseBy map[string]Difference `json:"vs_dense_by,omitempty"`
	// MsPerQuery is the wall time per query of modulating and searching on all cores, without
	// encoding.
	MsPerQuery float64 `json:"ms_per_query"`
	// CPUMsPerQuery is the processor time per query of the same work, all threads. Other work on the
	// machine affects it less.
	CPUMsPerQuery float64 `json:"cpu_ms_per_query"`
	// PerQuery holds the score of each query of the task, by metric.
	PerQuery map[string][]float64 `json:"per_query,omitempty"`

	ids   []string  // queries of the task
	first []int     // rank of the first positive from 1, 0 where none was found
	top   []string  // what stood first
	best  []float64 // its score
}

// Fit describes the preparation of a system on the corpus.
type Fit struct {
	// Seconds is the wall time of the whole fit.
	Seconds float64 `json:"seconds"`
	// Cached reports that the bridge came from an earlier fit, in this run or another.
	Cached bool `json:"cached,omitempty"`
	// Loss is the mean training loss, in nats, of the epoch whose weights were kept, or of the last
	// steps if FitSteps ended the fit. It is 0 if another system of the run fitted the bridge.
	Loss float64 `json:"loss,omitempty"`
	// EncodeSeconds is the part of Seconds spent on encoding training queries. Queries and corpus
	// statistics of an earlier fit in the same run are reused at no cost.
	EncodeSeconds float64 `json:"encode_seconds"`
	// CPUSeconds is the processor time of the whole fit, all threads.
	CPUSeconds float64 `json:"cpu_seconds"`
	// Queries is the number of training queries, 0 for a closed form.
	Queries int `json:"queries"`
	// Bytes is the memory of the result: sufficient statistics and fitted parameters.
	Bytes int64 `json:"bytes,omitempty"`
	// Passages is the number of passages used.
	Passages int `json:"passages"`
}

// searchCost is the time of a run, in seconds.
type searchCost struct {
	EncodeSeconds    float64 `json:"encode_seconds"`     // wall time of encoding passages and queries
	EncodeCPUSeconds float64 `json:"encode_cpu_seconds"` // processor time of encoding, all threads
	TotalSeconds     float64 `json:"total_seconds"`      // wall time of the whole run
	TotalCPUSeconds  float64 `json:"total_cpu_seconds"`  // processor time of the whole run, all threads
}

// Searched says in words what was searched, such as "20000 passages among 58703 others" with
// distractors. passages is the noun for passages.
func (r *Report) Searched(passages string) string {
	if r.Distractors == 0 {
		return fmt.Sprintf("%d %s", r.Documents, passages)
	}
	return fmt.Sprintf("%d %s among %d others", r.Documents, passages, r.Distractors)
}

// Asked says in words which queries were searched: their half unless it is all, whether they are
// clean, and the reranker. Each part is preceded by sep. It returns "" if all queries were searched
// and no reranker ran.
func (r *Report) Asked(sep string) string {
	out := asked(r.Half, r.Clean, r.Language, sep)
	if r.Reranker != "" {
		out += fmt.Sprintf("%sthe first %d reranked by %s", sep, r.RerankDepth, r.Reranker)
	}
	return out
}

// Notes says in sentences what a reader of the figures must know: passages that were cut, queries that
// stand in the corpus, tasks left out, words in place of tokens, and text shared with training.
func (r *Report) Notes() []string {
	var out []string
	if r.Relevance > 1 {
		out = append(out, fmt.Sprintf("Passages of grade %d and above count as relevant. nDCG takes all grades as gains.", r.Relevance))
	}
	if r.Chunks > 0 {
		out = append(out, fmt.Sprintf("Long passages are cut as a database cuts them, all into %d chunks; each is found with the score of its best one.", r.Chunks))
	}
	if r.Truncated > 0 {
		out = append(out, fmt.Sprintf("The encoder read only the beginning of %d of %d passages, which are longer than its limit.", r.Truncated, r.Distinct))
	}
	for _, t := range r.Tasks {
		if t.Absent > 0 {
			out = append(out, fmt.Sprintf("Task %s: %d judgements name passages that are not in the corpus; they count as not found, as in trec_eval.", t.Task, t.Absent))
		}
		if t.NoPositive > 0 {
			out = append(out, fmt.Sprintf("Task %s: %d judged queries have no relevant passage and are left out of the means; trec_eval and BEIR count them as 0.", t.Task, t.NoPositive))
		}
		switch {
		case t.Own == 0:
		case t.KeepSelf:
			out = append(out, fmt.Sprintf("Task %s: %d queries stand in the corpus, and their own passages are ranked (--keep-self).", t.Task, t.Own))
		default:
			out = append(out, fmt.Sprintf("Task %s: %d queries stand in the corpus; their own passages are left out, as in BEIR. --keep-self keeps them.", t.Task, t.Own))
		}
	}
	for _, t := range r.LeftOutTasks {
		out = append(out, fmt.Sprintf("Task %s is left out: %s", t.Task, t.Reason))
	}
	if r.Words {
		out = append(out, "The encoder has no tokens: bridges read the words of queries and passages in their place.")
	}
	if note := r.OverlapNote(); note != "" {
		out = append(out, note)
	}
	return out
}

func asked(h Half, clean bool, language, sep string) string {
	out := ""
	if l := h.Label(); l != "" {
		out += sep + l
	}
	if clean {
		out += sep + "clean probes"
	}
	if language != "" {
		out += sep + "language " + language
	}
	return out
}
