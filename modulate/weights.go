package modulate

import (
	"fmt"

	"github.com/lexsem/lexsem/encoder"
)

// Weights are a fitted bridge and its origin. Encode and Save write them; Decode and Load read
// them. They must not change while a modulator uses them.
type Weights struct {
	// Stack is the canonical name of the stack that was fitted. The bridge serves no other stack.
	Stack string
	// Projection is W and b of Eq. 8. W has |V| columns for each multiplicative part.
	Projection *Projection
	// Heads are the parameters of the variants that have some, by name of the variant.
	Heads map[string]*Head
	// RLR are the options of RLR in the stack; zero if the stack has none.
	RLR RLROptions
	// Spread bounds the standard deviation of the logits of each query over the dimensions; 0 means no bound.
	Spread float64
	// Encoder is the encoder to whose vectors and tokens the bridge belongs.
	Encoder encoder.Fingerprint
	// Seed is the seed of the fit.
	Seed uint64
	// Data is a digest of the fitted texts, in hex.
	Data string
	// Seq is the state of the corpus at the fit, 0 if it has none.
	Seq uint64
	// Passages and Queries count the texts and the training queries.
	Passages, Queries int
	// Loss is the mean training loss of the epoch that was kept, in nats.
	Loss float64
	// Probes are the results on held-out queries.
	Probes []ProbeScore
}

// ProbeScore is the result of one probe: queries made from the corpus with other seeds than
// those of training. Spans of part:16 can overlap with training spans of the same passage,
// unless the fit reserved a part of each passage (train.Options.Reserve).
type ProbeScore struct {
	Task     string  `json:"task"`     // "keyword" or "part:16"; of images "crop" or "hidden"
	Queries  int     `json:"queries"`  // number of queries
	Dense    float64 `json:"dense"`    // nDCG@1 in [0, 1] of the dense vector
	Modified float64 `json:"modified"` // nDCG@1 in [0, 1] with the bridge
}

// Clone returns a deep copy of w.
func (w *Weights) Clone() (*Weights, error) {
	b, err := w.Encode()
	if err != nil {
		return nil, err
	}
	return Decode(b)
}

// head returns the parameters of variant name.
func (p Parts) head(name string) (*Head, error) {
	if p.Weights == nil || p.Weights.Heads[name] == nil {
		return nil, fmt.Errorf("%w: the bridge holds no parameters of %s; fit this variant", ErrNotFitted, name)
	}
	return p.Weights.Heads[name], nil
}

// CheckEncoder returns nil if got has the vector space in which the bridge was fitted, else an
// *encoder.MismatchError that names both. what names the bridge in the message, for example
// "bridge FILE".
func (w *Weights) CheckEncoder(what string, got encoder.Fingerprint) error {
	return encoder.Check(what, w.Encoder, got)
}
