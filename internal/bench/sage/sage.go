// Package sage runs the five tasks of SAGE (Goel et al., "A Realistic Benchmark for Semantic Understanding")
// over measures of similarity: the cosine of an encoder, Levenshtein ratio, ROUGE, Jaccard and BM25. Start
// with [Run]. The function register adds a measure.
//
//	preference   do scores follow human ones? (pairs.jsonl)
//	robustness   do surface changes matter less than changes of meaning? (corpus.jsonl, variants/summaries.jsonl)
//	sensitivity  do scores fall with the share of a text that was changed? (corpus.jsonl)
//	clustering   do classes come out as clusters? (corpus.jsonl, labels.tsv)
//	retrieval    how much of nDCG@10 is left among changed copies? (a folder in the BEIR layout)
//
// Changes of texts are drawn by a seed, so every measure sees the same texts. Run returns an error for unusable data.
package sage

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

// errData: a folder lacks the files of a task, or has files that give no score.
var errData = errors.New("not usable for SAGE")

// Options are the options of Run.
type Options struct {
	// Data lists folders. Each task uses the first folder that has its files.
	Data []string
	// Tasks are names of tasks. nil means all tasks with files in Data.
	Tasks []string
	// Similarities are names of similarities. nil means all.
	Similarities []string
	// Limit is the number of texts, drawn by the seed, that the tasks modify or cluster. 0 means all.
	Limit int
	// Uncut restricts the sensitivity task to texts that the encoder reads to their end after every
	// insertion.
	Uncut    bool
	Seed     uint64
	CacheDir string
	Version  string
	Progress func(bench.Progress)
}

// Report is the result of Run.
type Report struct {
	Encoder string   `json:"encoder"`
	Seed    uint64   `json:"seed"`
	Limit   int      `json:"limit"`
	Version string   `json:"version"`
	Results []result `json:"results"`
	// Overall is the mean of a similarity's five scores, if all tasks ran.
	Overall map[string]float64 `json:"overall,omitempty"`
}

// result holds the scores of one similarity on one task.
type result struct {
	Task       string `json:"task"`
	Similarity string `json:"similarity"`
	Data       string `json:"data"`  // name of the folder
	Items      int    `json:"items"` // number of pairs, texts or queries
	// Score is the task's figure in [0, 1]. Parts are its components.
	Score float64            `json:"score"`
	Parts map[string]float64 `json:"parts"`
	// Cut is, for sensitivity, the share of texts that the encoder does not read to their end,
	// whatever the similarity: "as-is", by inserted share, and "any" for at least one of these
	// versions.
	Cut map[string]float64 `json:"cut,omitempty"`
}

// input is the data of a task.
type input struct {
	ctx     context.Context
	enc     encoder.Encoder
	dir     string
	limit   int
	uncut   bool
	seed    uint64
	report  func(bench.Progress)
	measure []similarity
}

// task is one of the five tasks.
type task struct {
	name string
	// files must be in a folder for the task to run on it.
	files []string
	run   func(in input) ([]result, error)
}

var tasks = []task{
	{"preference", []string{"pairs.jsonl"}, runPreference},
	{"robustness", []string{"corpus.jsonl", "variants/summaries.jsonl"}, runRobustness},
	{"sensitivity", []string{"corpus.jsonl"}, runSensitivity},
	{"clustering", []string{"corpus.jsonl", "labels.tsv"}, runClustering},
	{"retrieval", []string{"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}, runRetrieval},
}

// Tasks lists the names of the tasks.
func Tasks() []string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.name)
	}
	return out
}

// newRand returns a separate generator for a purpose.
func newRand(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// sample draws n of size positions by the seed, in rising order; it returns all if n is 0 or more than size.
func sample(size, n int, seed uint64) []int {
	out := newRand(seed, "sample").Perm(size)
	if n > 0 && n < size {
		out = out[:n]
	}
	slices.Sort(out)
	return out
}

func unknown(what, name string, known []string) error {
	return fmt.Errorf("%w: %s %q; known are %v", bench.ErrUnknownName, what, name, known)
}
