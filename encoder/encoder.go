package encoder

import "context"

// Role says which side of the search a text stands on. Models such as E5 or
// BGE put a different instruction before each; the role selects it.
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

// Need names the tensors a caller wants; an encoder computes and copies out
// nothing else.
type Need uint8

const (
	// NeedDense asks for Output.Dense, the pooled vector.
	NeedDense Need = 1 << iota
	// NeedHidden asks for Output.Hidden, the last hidden state of each token, put
	// through the model's Dense modules where it has some. Encoders that do not see
	// them, or whose modules bear no such states (Pooler), answer ErrNoHidden.
	NeedHidden
	// NeedLogits asks for Output.Logits, the masked-language-model logits at
	// the first token. Encoders without such a head answer ErrNoLogits.
	NeedLogits
)

// Output is what an encoder found out about one text. All slices belong to
// the caller. A tensor that was not asked for is nil.
type Output struct {
	// Tokens are the ids that were fed to the model, special tokens and
	// instruction prefix included; none where the encoder has no vocabulary.
	Tokens Tokens
	// Dense is the pooled vector of shape [Dim], L2-normalised but for encoders whose
	// lengths count (FuncUnscaled). For a text without any usable token it is that of
	// [CLS][SEP].
	Dense []float32
	// Hidden is row-major of shape [len(Tokens.IDs) × Dim], in the space of Dense:
	// what the model's pooling makes of it is Dense, but for the length. Of an image it is
	// of shape [patches × Fingerprint.States], rows of patches from the top; Dense may be pooled of more.
	Hidden []float32
	// Logits is of shape [VocabSize].
	Logits []float32
}

// Encoder turns texts, and what else it takes, into tokens and vectors.
// Implementations are safe for concurrent use, keep the order of their input and
// stop soon after ctx is cancelled. What it takes is one modality, that of its
// Fingerprint: texts, or images; one of images may take texts as queries, too. A text longer than the model allows is cut at
// Fingerprint().MaxTokens tokens; the cut is counted in Tokens.Truncated.
//
// Dense vectors are all that an encoder must give. One without a tokenizer has a
// VocabSize of 0 and no tokens; those who need some take the words of the text.
//
// One that answers several calls of its own at a time may have a method
// Window() int: how many texts it likes to be given at once, 0 for no wish.
type Encoder interface {
	// Encode encodes inputs in one role. len(result) == len(in). An input of a
	// media type that it does not take is ErrMedia, in a *TextError.
	Encode(ctx context.Context, role Role, in []Input, need Need) ([]Output, error)
	// Tokenize returns exactly the tokens that Encode would feed to the
	// model, without running it.
	Tokenize(role Role, text string) Tokens
	// Dim is the length d of a dense vector.
	Dim() int
	// VocabSize is |V|, the number of token ids; every id is in [0, |V|). 0 says
	// that there is no tokenizer.
	VocabSize() int
	// Fingerprint identifies the vector space. It costs nothing and asks nobody:
	// an encoder that would have to leaves the probe vectors out.
	Fingerprint() Fingerprint
	// Close releases the model. Calls after Close fail.
	Close() error
}
