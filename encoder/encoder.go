package encoder

import "context"

// Role says whether a text is stored or is a query. Models such as E5 or BGE use a different
// instruction for each.
type Role uint8

const (
	// Passage is a text that is indexed.
	Passage Role = iota
	// Query is a text that is searched with.
	Query
)

// String returns "passage" or "query".
func (r Role) String() string {
	if r == Query {
		return "query"
	}
	return "passage"
}

// Need selects the tensors that a caller wants. An encoder computes and copies nothing else.
type Need uint8

const (
	// NeedDense requests Output.Dense, the pooled vector.
	NeedDense Need = 1 << iota
	// NeedHidden requests Output.Hidden, the last hidden state of each token, after the model's Dense
	// modules if it has some. Encoders without states, or whose modules have no such states (see
	// Pooler), return ErrNoHidden.
	NeedHidden
	// NeedLogits requests Output.Logits, the masked-language-model logits at the first token, or those of
	// a Splade model. Encoders
	// without such a head return ErrNoLogits.
	NeedLogits
	// NeedImpacts requests Output.Impacts. Only encoders of WithSparse give them; others ignore it.
	NeedImpacts
)

// Output is the result for one input. The caller owns all slices. A tensor that was not requested is
// nil.
type Output struct {
	// Tokens are the ids that were given to the model, special tokens and instruction prefix
	// included. There are none if the encoder has no vocabulary.
	Tokens Tokens
	// Dense is the pooled vector, of shape [Dim]. It is L2-normalised, except for encoders whose
	// lengths count (FuncUnscaled). A text without usable tokens has the vector of [CLS][SEP].
	Dense []float32
	// Hidden has shape [len(Tokens.IDs) × Dim], row-major, in the space of Dense: the model's pooling
	// of Hidden is Dense, except for its length. For an image the shape is [patches ×
	// Fingerprint.States], rows of patches from the top; Dense may then be pooled from more than that.
	Hidden []float32
	// Logits has shape [VocabSize].
	Logits []float32
	// Impacts are the weights of words by a second model (WithSparse), by ascending term.
	Impacts []Impact
}

// Encoder turns texts, or other inputs, into tokens and vectors. Implementations are safe for
// concurrent use, keep the order of their inputs and stop soon after ctx is cancelled. An encoder
// takes one modality, that of its Fingerprint: texts or images. An encoder of images may also take
// texts as queries. A text longer than the model allows is cut at Fingerprint().MaxTokens tokens;
// Tokens.Truncated counts the cut tokens.
//
// Dense vectors are all that an encoder must give. Without a tokenizer, VocabSize is 0 and there are
// no tokens; callers that need tokens use the words of the text.
//
// An encoder may have a method Window() int that says how many texts it prefers at once, for encoders
// that run several calls at a time; 0 means no preference.
type Encoder interface {
	// Encode encodes inputs in one role. len(result) == len(in). An input with an unsupported media
	// type is ErrMedia, in a *TextError.
	Encode(ctx context.Context, role Role, in []Input, need Need) ([]Output, error)
	// Tokenize returns the tokens that Encode would give to the model, without running it.
	Tokenize(role Role, text string) Tokens
	// Dim returns the length d of a dense vector.
	Dim() int
	// VocabSize returns |V|, the number of token ids; every id is in [0, |V|). 0 means that there is
	// no tokenizer.
	VocabSize() int
	// Fingerprint identifies the vector space. The call is cheap and local. An encoder that would have
	// to ask a server leaves out the probe vectors.
	Fingerprint() Fingerprint
	// Close releases the model. Calls after Close fail.
	Close() error
}
