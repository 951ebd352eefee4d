package encoder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Errors of this package, for errors.Is.
var (
	// ErrUnavailable says that a runtime or model is missing on this machine. The message names the
	// remedy.
	ErrUnavailable = errors.New("encoder unavailable")
	// ErrSource says that a remote source of vectors cannot be reached, refuses, or may not be called.
	// The message names the remedy.
	ErrSource = errors.New("source of vectors")
	// ErrMismatch says that vector spaces differ. *MismatchError wraps it.
	ErrMismatch = errors.New("encoder mismatch")
	// ErrNoLogits is returned for NeedLogits if the model has no masked-language-model head.
	ErrNoLogits = errors.New("the model has no masked-language-model head")
	// ErrNoHidden is returned for NeedHidden if the source gives only vectors of whole texts, or if no
	// token states correspond to its vectors.
	ErrNoHidden = errors.New("the encoder does not give the states of tokens")
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("encoder is closed")
)

// MinProbeCosine is the lowest cosine at which two probe vectors count as output of the same model.
const MinProbeCosine = 0.9999

// ProbeTexts are four fixed texts. Their passage vectors identify a model, whichever file it was
// loaded from.
var ProbeTexts = [4]string{
	"The quick brown fox jumps over the lazy dog.",
	"Error 0x80070057: the parameter is incorrect (build 22621.3007).",
	"How do plants turn light, water and carbon dioxide into sugar?",
	"In 1815 the treaty was signed at Vienna; café, naïve, 東京, Ω.",
}

// Fingerprint identifies a vector space. It must agree between the encoder that filled an index (or
// fitted a bridge) and the encoder of the query. The bytes of the model file are not part of it, since
// the same model reaches users in files with different bytes.
type Fingerprint struct {
	Model         string       `json:"model"`          // for example "all-MiniLM-L6-v2"
	Precision     string       `json:"precision"`      // "fp32" or "int8"
	Tokenizer     string       `json:"tokenizer"`      // digest of vocabulary and normalisation; "" for none
	Pooling       string       `json:"pooling"`        // a Pooling, with " without the prompt" after it if the prompt is left out; "unscaled" for FuncUnscaled
	QueryPrefix   string       `json:"query_prefix"`   // instruction put before queries
	PassagePrefix string       `json:"passage_prefix"` // instruction put before passages
	MaxTokens     int          `json:"max_tokens"`     // tokens at which a text is cut, special tokens included; 0 if not known
	Dim           int          `json:"dim"`            // dimension d of vectors
	VocabSize     int          `json:"vocab_size"`     // |V|; 0 for no tokenizer
	Probe         [4][]float32 `json:"probe"`          // passage vectors of ProbeTexts; nil if not known

	// Media is the modality: "" for texts, or MediaImages. For images, Tokenizer describes how pixel
	// values are made, and the patches are the tokens; MaxTokens is their number.
	Media string `json:"media,omitempty"`
	// Grid is the number of rows and columns of patches of an image; zero for texts.
	Grid [2]int `json:"grid,omitzero"`
	// StateDim is the dimension of patch states if they are in another space than vectors, as with
	// CLIP; 0 if it is Dim.
	StateDim int `json:"state_dim,omitzero"`

	// Sparse is the model that gives Output.Impacts (WithSparse); nil for none.
	Sparse *Fingerprint `json:"sparse,omitempty"`

	// Unrelated is the mean cosine of texts that have nothing to do with each other (function Unrelated), as a database
	// has measured it; 0 if not known. It tells how to read the model's cosines, and identifies nothing.
	Unrelated float64 `json:"unrelated,omitzero"`
}

// States returns the dimension of the states of tokens or patches.
func (f Fingerprint) States() int {
	if f.StateDim > 0 {
		return f.StateDim
	}
	return f.Dim
}

// Probed reports whether probe vectors are known. An encoder knows either all or none.
func (f Fingerprint) Probed() bool {
	for _, p := range f.Probe {
		if p != nil {
			return true
		}
	}
	return false
}

// MismatchError says how two fingerprints differ.
type MismatchError struct {
	What       string // owner of the fingerprint, "database" or "bridge FILE"
	Want, Got  Fingerprint
	Difference []string // one entry for each differing field, "pooling: database mean, encoder cls"
}

// Error names the differing fields and the remedy.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s was made with another encoder than the one in use (%s); open it with model %q or build it anew",
		e.What, strings.Join(e.Difference, "; "), e.Want.Model)
}

// Unwrap returns ErrMismatch, for errors.Is.
func (e *MismatchError) Unwrap() error { return ErrMismatch }

// Check returns nil if got spans the same vector space as want, else a *MismatchError. what names the
// owner of want in the message. Probe vectors are compared if both are known.
func Check(what string, want, got Fingerprint) error {
	var diff []string
	field := func(name string, w, g any) {
		if w != g {
			diff = append(diff, fmt.Sprintf("%s: %v there, %v here", name, w, g))
		}
	}
	field("model", want.Model, got.Model)
	field("precision", want.Precision, got.Precision)
	field("tokenizer", want.Tokenizer, got.Tokenizer)
	field("pooling", want.Pooling, got.Pooling)
	field("query prefix", want.QueryPrefix, got.QueryPrefix)
	field("passage prefix", want.PassagePrefix, got.PassagePrefix)
	field("token limit", want.MaxTokens, got.MaxTokens)
	field("dimension", want.Dim, got.Dim)
	field("vocabulary size", want.VocabSize, got.VocabSize)
	field("modality", want.Media, got.Media)
	field("grid of patches", want.Grid, got.Grid)
	field("dimension of states", want.States(), got.States())
	if field("a model of words", want.Sparse != nil, got.Sparse != nil); want.Sparse != nil && got.Sparse != nil {
		if other, ok := errors.AsType[*MismatchError](Check(what, *want.Sparse, *got.Sparse)); ok {
			for _, d := range other.Difference {
				diff = append(diff, "model of words: "+d)
			}
		}
	}
	if len(diff) == 0 && want.Probed() && got.Probed() {
		for i := range want.Probe {
			if c := cosine(want.Probe[i], got.Probe[i]); !(c >= MinProbeCosine) {
				diff = append(diff, fmt.Sprintf("probe vector %d: cosine %.6f, want at least %v", i, c, MinProbeCosine))
			}
		}
	}
	if len(diff) == 0 {
		return nil
	}
	return &MismatchError{What: what, Want: want, Got: got, Difference: diff}
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return math.NaN()
	}
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// Digest returns 32 hexadecimal digits that name the vector space, for file names. It leaves out the
// probe vectors, since their last bits differ between machines. So equal digests still need Check.
func (f Fingerprint) Digest() string {
	h := sha256.New()
	for _, s := range []string{f.Model, f.Precision, f.Tokenizer, f.Pooling, f.QueryPrefix, f.PassagePrefix} {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	fmt.Fprintf(h, "%d %d %d\n", f.MaxTokens, f.Dim, f.VocabSize)
	if f.Media != "" {
		fmt.Fprintf(h, "%d %s %d\n", len(f.Media), f.Media, f.Grid)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
