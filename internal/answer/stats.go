package answer

import (
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/problems"
)

// Stats describes a database.
type Stats struct {
	DB          string        `json:"db"`
	Documents   int           `json:"documents"`
	Chunks      int           `json:"chunks"`  // chunks that are searched; a document in one piece is one chunk
	Waiting     int           `json:"waiting"` // of these, passages that have no vector yet
	Seq         uint64        `json:"seq"`     // number of the last commit
	Truncated   int           `json:"truncated"`
	Index       string        `json:"index"`
	Metric      string        `json:"metric"`
	Dim         int           `json:"dim"`
	Model       string        `json:"model"`
	Precision   string        `json:"precision"`
	Media       string        `json:"media,omitempty"` // "image/" of a database of images
	Pooling     string        `json:"pooling"`
	MaxTokens   int           `json:"max_tokens"`
	DiskBytes   int64         `json:"disk_bytes"`
	LiveBytes   int64         `json:"live_bytes"`        // of the documents
	DeadBytes   int64         `json:"dead_bytes"`        // of deleted and replaced documents, still on disk
	Reclaimable int64         `json:"reclaimable_bytes"` // about what compact frees
	FormatMajor int           `json:"format_major"`
	Kind        string        `json:"kind"` // what hybrid searches rank for: code or text
	Default     string        `json:"default_variant"`
	Bridges     []Bridge      `json:"bridges"`
	Memory      engine.Memory `json:"memory"`

	MaxMemory int64    `json:"max_memory"` // limit of memory besides the vectors; 0 for no limit
	Foregone  []string `json:"foregone"`   // what is left out because of max_memory: graph, local bridges

	TokenStates engine.TokenStats `json:"token_states"`
	Stale       int               `json:"stale"`       // passages that RLR's factor does not fully include
	Reembedding bool              `json:"reembedding"` // a change of the model is in progress
	Problems    Problems          `json:"problems"`
	Note        string            `json:"note"` // that the model or the stems are not of the texts' language; "" otherwise
}

// Problems lists files that failed, documents that are stale, warnings, and what was left out when
// files were indexed.
type Problems = problems.Summary

// Bridge is one fitted bridge.
type Bridge struct {
	Variant  string              `json:"variant"`
	File     string              `json:"file"`
	Seq      uint64              `json:"seq"`
	Passages int                 `json:"passages"`
	Unfitted int                 `json:"unfitted"` // documents added or replaced since
	Probes   []engine.ProbeScore `json:"probes"`
}

// NewStats returns the JSON form of the statistics of a database.
func NewStats(s engine.Stats) Stats {
	out := Stats{
		DB: s.Dir, Documents: s.Documents, Chunks: s.Chunks, Waiting: s.Waiting, Seq: s.Seq, Truncated: s.Truncated, Index: s.Index, Metric: s.Metric, Dim: s.Dim,
		Model: s.Encoder.Model, Precision: s.Encoder.Precision, Media: s.Encoder.Media, Pooling: s.Encoder.Pooling, MaxTokens: s.Encoder.MaxTokens,
		DiskBytes: s.DiskBytes, LiveBytes: s.LiveBytes, DeadBytes: s.DeadBytes, Reclaimable: s.Reclaimable, FormatMajor: s.FormatMajor, Kind: s.Kind, Default: s.Default, Bridges: []Bridge{},
		Memory: s.Memory, MaxMemory: s.MaxMemory, Foregone: append([]string{}, s.Foregone...), Stale: s.Maintenance.Stale, Reembedding: s.Reembedding,
		TokenStates: s.TokenStates, Problems: s.Problems, Note: s.Note,
	}
	out.Problems.First = append([]problems.Problem{}, out.Problems.First...)
	out.Problems.LeftOut.Kinds = append([]problems.Extension{}, out.Problems.LeftOut.Kinds...)
	for _, b := range s.Bridges {
		out.Bridges = append(out.Bridges, Bridge{b.Variant, b.File, b.Seq, b.Passages, b.Unfitted, append([]engine.ProbeScore{}, b.Probes...)})
	}
	return out
}
