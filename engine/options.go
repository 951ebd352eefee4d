package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Limits of the API.
const (
	MaxK  = search.MaxK // hits a query may ask for
	MaxID = 1024        // bytes of a document id
)

// Options shape an engine. The zero value is the default of every field.
type Options struct {
	// Dim makes a new database without an encoder one of the caller's own vectors,
	// which have this length: each document and each dense query brings its vector.
	// With an encoder, and for a database that is there, it must be 0 or the same.
	Dim int
	// OpenEncoder, if not nil, opens the encoder where Open is given none. stored is the
	// fingerprint of the database's own, zero for a new database. Close closes what it opened. A
	// database of vectors alone does not ask for it, nor does a new one with Dim.
	OpenEncoder func(ctx context.Context, stored encoder.Fingerprint) (encoder.Encoder, error)
	// Metric says by what a new database compares vectors, one of index.Metrics; "" means
	// "cosine", or what the database was made with, from which it must not differ. Under
	// "dot" (dot product) and "l2" (Euclidean distance) lengths count: vectors of documents
	// and queries are kept and used as they are given, up to a length of 1e18. Score of a
	// dense search is then the dot product, or the squared distance below 0. Queries are not
	// modulated and legs are fused by their ranks, since all else works on directions: for
	// variants, local bridges, fits, token states and other fusions there is ErrInvalid.
	Metric string
	// AcceptModel is the name of a model whose vectors may differ from those that the
	// database was filled with: an API that never gives the same vector twice, or a
	// successor that is near enough. It is then compared no more, and warned of.
	AcceptModel string
	// Index is the kind of vector index, one of index.Kinds. The database remembers it for
	// when "" is said. IndexAuto takes "flat-int8" (exact) up to AutoHNSW vectors and
	// "hnsw-int8" (approximate) above, and so does a database that remembers
	// none. "hnsw-compact" takes .5·Dim + 150 bytes of memory a vector, and leaves the float32 vectors in
	// the file that Close writes: those that were added since it was opened lie in memory. "hnsw-fast" is
	// the same with more links, 64 bytes a vector: the fastest at high recall over vectors of texts. It takes two
	// to three times as long to build as "hnsw-int8".
	Index string
	// Language of the texts for the lexical leg, an ISO 639-1 code such as "en"
	// or "de", or "none" for texts of several languages: it chooses stems and
	// function words. "" means the database's own, and "en" for a new one.
	Language string
	// VisualWords is how many words the codebook of a new database of images has, visual.MinWords to
	// visual.MaxWords; 0 means visual.DefaultWords, or what the database was made with.
	VisualWords int
	// ChunkTokens is the number of tokens, those the encoder adds included, above
	// which a text is stored in chunks of at most that many: whole sentences, and
	// the title before each. 0 means the encoder's limit; below 0 texts stay whole,
	// and what is beyond the limit is cut and counted. It holds for texts that are
	// stored from now on. Where the encoder has no tokenizer they are estimated, from
	// above for text in Latin letters, and 0 means its limit if it names one.
	ChunkTokens int
	// ChunkOverlap is the most tokens that a chunk repeats of the one before; 0
	// means an eighth of the chunk, below 0 none. At most half of it.
	ChunkOverlap int
	// NoSync lets a commit return before the data is on disk: faster single
	// writes; a power cut may lose the last ones or leave a database that is reported
	// as damaged (a killed process loses none).
	NoSync bool
	// ReadOnly opens without the right to write; several processes may.
	ReadOnly bool
	// InMemory makes a database that ends with Close, for tests and caches: Open gets "" for its
	// folder. What Fit makes, and token states beyond 64 MiB, lie in a temporary folder that Close
	// removes. Reembed is refused.
	InMemory bool
	// MustExist makes Open fail with ErrNotFound instead of creating.
	MustExist bool
	// MemoryMiB is the budget of the document store's caches and buffers, in MiB; 0
	// means 128, or a quarter of MaxMemoryMiB where that is less, and 64 at least. Vectors,
	// codes, words and sums come on top: Stats tells them part by part.
	MemoryMiB int
	// MaxMemoryMiB bounds what an open database keeps in memory beside the float32 vectors, in
	// MiB: the store's budget and all other parts that Stats tells, mapped files included. 0
	// means no bound, else it is MinMemoryMiB at least. Near it the database does without local
	// bridges, without a graph in place of the exact index, and with TokenStatesAuto without
	// token states beyond half of what is left beside the store (Stats.Foregone, Stats.TokenStates);
	// documents that would not fit are refused with ErrMemory. A database that is beyond it
	// opens, answers, and lets documents be deleted. What a call or work in the background
	// takes meanwhile comes on top.
	MaxMemoryMiB int
	// Local builds local bridges as soon as there are documents, and keeps them up to
	// date. Else they are built once a query names "rlr-local". They take some
	// 4·Dim bytes a vector, and more where texts are long.
	Local bool
	// TokenStates says whether the encoder's state of each token is kept, coded in some
	// 50 bytes, so that searches compare a query with the passages that they have found
	// token by token: TokenStatesOff, TokenStatesAuto or TokenStatesOn. What a new database
	// is made with it remembers, for when "" is said; "" makes one with TokenStatesAuto, and
	// leaves one that is older and has none without. Documents that are stored keep what they
	// have: KeepTokenStates adds what lacks. While all documents together have fewer than a
	// thousand tokens nothing is kept.
	TokenStates string
	// TokenBits is the size of a component of a code of token states: 2, 4 or 8, 0 means 4;
	// TokenPool how many neighbouring tokens share a code: 1, 2 or 3, 0 means 1. A code has
	// 96 components and two bytes. Both are of documents that are stored from now on; a database may have
	// codes of many kinds. Two bits halve what the codes take and cost some tenths of nDCG@10,
	// pools cost more (docs/results/token-states.md).
	TokenBits, TokenPool int
	// Alpha is the weight of RLR's shift; 0 means 0.5, and 0.7 where a fitted
	// part stands beside it. Lambda is its ridge; 0 means 1, 0.01 in databases of images.
	Alpha, Lambda float64
	// Reranker, if not nil, is the second stage of every search by a text that does not do
	// without (Query.Rerank); nil means none. It reads the first RerankDepth hits, 0 for
	// DefaultRerank. It is not closed by Close.
	Reranker    Reranker
	RerankDepth int
	// Progress, if not nil, hears of long work inside Open, Add, Upsert, Patch, Export,
	// Import and Backup. It is called from one goroutine at a time, however many calls run.
	// Calls that other processes make by package share report to those.
	Progress func(Progress)
	// Logger receives warnings, such as the repair of a damaged snapshot; nil
	// means none.
	Logger *slog.Logger
}

// MinMemoryMiB is the least bound of memory: the least budget of the store, and one for all else.
const MinMemoryMiB = leastStoreMiB + 1

// Budgets of the store, in MiB.
const (
	leastStoreMiB = 64
	autoStoreMiB  = 128
	maxMemoryMiB  = 1 << 30 // a number of bytes that is an int64
)

// storeMiB is the budget of the store.
func (o Options) storeMiB() int {
	if o.MemoryMiB > 0 || o.MaxMemoryMiB == 0 {
		return o.MemoryMiB
	}
	return min(autoStoreMiB, max(leastStoreMiB, o.MaxMemoryMiB/4))
}

// partBytes is what all parts but the float32 vectors may take, 0 for no bound.
func (o Options) partBytes() int64 {
	if o.MaxMemoryMiB == 0 {
		return 0
	}
	return int64(o.MaxMemoryMiB-max(leastStoreMiB, o.storeMiB())) << 20
}

// AutoHNSW is the number of vectors above which the default index is a graph:
// an exact scan of this many takes less time than encoding the query.
const AutoHNSW = 50_000

// IndexAuto is the Options.Index of a database that chooses the kind of its index by its size.
const IndexAuto = state.IndexAuto

// IndexKinds are the values of Options.Index but for "".
func IndexKinds() []string { return append([]string{IndexAuto}, index.Kinds()...) }

// Validate reports every field that is out of range, joined.
func (o Options) Validate() error {
	var errs []error
	if o.Dim < 0 || o.Dim > store.MaxDim {
		errs = append(errs, fmt.Errorf("%w: dimension %d; use 1 to %d, or 0 with an encoder", ErrInvalid, o.Dim, store.MaxDim))
	}
	if o.Index != "" && !slices.Contains(IndexKinds(), o.Index) {
		errs = append(errs, fmt.Errorf("%w: index %q; use one of %s, or leave it empty", ErrInvalid, o.Index, strings.Join(IndexKinds(), ", ")))
	}
	if _, err := metric.Of(o.Metric); err != nil {
		errs = append(errs, err)
	}
	if _, err := text.For(o.Language); err != nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	if o.ChunkTokens > 0 && o.ChunkTokens < chunk.MinTokens {
		errs = append(errs, fmt.Errorf("%w: chunks of %d tokens; use %d or more, 0 for the encoder's limit, or a negative number for none", ErrInvalid, o.ChunkTokens, chunk.MinTokens))
	}
	if !slices.Contains([]string{"", TokenStatesOff, TokenStatesAuto, TokenStatesOn}, o.TokenStates) {
		errs = append(errs, fmt.Errorf("%w: token states %q; use %s, %s or %s", ErrInvalid, o.TokenStates, TokenStatesOff, TokenStatesAuto, TokenStatesOn))
	}
	if !slices.Contains([]int{0, 2, 4, 8}, o.TokenBits) || o.TokenPool < 0 || o.TokenPool > 3 {
		errs = append(errs, fmt.Errorf("%w: token states of %d bits, %d tokens a code; use 2, 4 or 8 bits, and 1 to 3 tokens, or 0 for the defaults", ErrInvalid, o.TokenBits, o.TokenPool))
	}
	if o.MemoryMiB < 0 {
		errs = append(errs, fmt.Errorf("%w: memory of %d MiB; use a positive number or 0 for the default", ErrInvalid, o.MemoryMiB))
	}
	if o.MaxMemoryMiB != 0 && (o.MaxMemoryMiB < MinMemoryMiB || o.MaxMemoryMiB > maxMemoryMiB) {
		errs = append(errs, fmt.Errorf("%w: at most %d MiB of memory; use %d to %d, or 0 for no bound", ErrInvalid, o.MaxMemoryMiB, MinMemoryMiB, maxMemoryMiB))
	} else if o.MaxMemoryMiB != 0 && o.MemoryMiB >= o.MaxMemoryMiB {
		errs = append(errs, fmt.Errorf("%w: of at most %d MiB of memory the store has %d; leave some for all else, or leave MemoryMiB out", ErrInvalid, o.MaxMemoryMiB, o.MemoryMiB))
	}
	if o.InMemory && (o.ReadOnly || o.MustExist) {
		errs = append(errs, fmt.Errorf("%w: a database in memory is new; leave ReadOnly and MustExist out", ErrInvalid))
	}
	if o.RerankDepth < 0 || o.RerankDepth > MaxRerank || o.RerankDepth > 0 && o.Reranker == nil {
		errs = append(errs, fmt.Errorf("%w: reranking of %d hits; use 1 to %d with a Reranker, or 0 for %d", ErrInvalid, o.RerankDepth, MaxRerank, DefaultRerank))
	}
	if !(o.Alpha >= 0 && o.Alpha <= 100) {
		errs = append(errs, fmt.Errorf("%w: alpha %v; use a number from 0 to 100", ErrInvalid, o.Alpha))
	}
	if !(o.Lambda >= 0 && o.Lambda <= 1e12) {
		errs = append(errs, fmt.Errorf("%w: lambda %v; use a positive number", ErrInvalid, o.Lambda))
	}
	return errors.Join(errs...)
}
