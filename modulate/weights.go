package modulate

import (
	"fmt"

	"github.com/lexsem/lexsem/encoder"
)

// Weights are a fitted bridge: what Fit made, for which stack and encoder, and
// what it gained. They are written by Encode and Save and read by Decode and
// Load. Not to be changed while a modulator uses them.
type Weights struct {
	// Stack is the canonical name of the stack the bridge was fitted for. A
	// bridge fitted on top of RLR is of no use without it, nor the other way
	// round.
	Stack string
	// Projection is W and b of Eq. 8; W has |V| columns for each multiplicative
	// part of the stack.
	Projection *Projection
	// Heads are the parameters of the variants that have some, by name.
	Heads map[string]*Head
	// RLR are the options of the RLR that the bridge was fitted on top of;
	// zero where the stack has none.
	RLR RLROptions
	// Spread bounds the logits of each query as Bound does; 0 stands for none.
	Spread float64
	// Encoder is the encoder whose vectors and tokens the bridge belongs to.
	Encoder encoder.Fingerprint
	// Seed reproduces the fit.
	Seed uint64
	// Data is a digest of the texts that were fitted, in hex.
	Data string
	// Seq is the state of the corpus that was fitted, 0 where it has none.
	Seq uint64
	// Passages and Queries are the numbers of texts and of self-made queries.
	Passages, Queries int
	// Loss is the mean training loss of the last epoch, in nats.
	Loss float64
	// Probes are the figures on probes, see ProbeScore.
	Probes []ProbeScore
}

// ProbeScore is the outcome of one probe: queries made from the corpus with
// other seeds than those of training. Keywords come from another generator;
// spans of part:16 overlap with training's spans of the same passage, unless
// the fit left a part of each passage alone (train.Options.Reserve).
type ProbeScore struct {
	Task     string  `json:"task"`     // "keyword" or "part:16"
	Queries  int     `json:"queries"`  // how many
	Dense    float64 `json:"dense"`    // nDCG@1 in [0, 1] of the plain dense vector
	Modified float64 `json:"modified"` // nDCG@1 in [0, 1] with the fitted bridge
}

// Clone returns a copy that shares nothing with w.
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

// CheckEncoder returns nil when got spans the vector space that the bridge was
// fitted in, else an *encoder.MismatchError that names both. what names the
// bridge in the message, for example "bridge FILE".
func (w *Weights) CheckEncoder(what string, got encoder.Fingerprint) error {
	return encoder.Check(what, w.Encoder, got)
}
