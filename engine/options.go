package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/limit"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
)

// Limits of the API.
const (
	MaxK     = search.MaxK     // most hits that a query may ask for
	MaxQuery = search.MaxQuery // most bytes of the text of a query
	MaxID    = 1024            // most bytes of a document id
)

// Options configure Open. The zero value of each field is its default.
type Options struct {
	// Dim is the vector length of a new database without an encoder: the caller gives the vector of each document and
	// each dense query. With an encoder, or for an existing database, use 0 or the same length.
	Dim int
	// OpenEncoder opens the encoder if Open gets none, and Close closes that encoder. stored is the database's
	// fingerprint, or zero for a new one. It is not called for a new database with Dim or one without an
	// encoder.
	OpenEncoder func(ctx context.Context, stored encoder.Fingerprint) (encoder.Encoder, error)
	// Metric is how a new database compares vectors, one of index.Metrics; "" means "cosine", or the database's own.
	// "dot" and "l2" take plain vectors and rank fusion alone: modulation, fits and token states are ErrInvalid.
	Metric string
	// AcceptModel names a model whose vectors may differ from the stored ones, such as an API that never returns
	// the same vector twice. The engine then does not compare vectors, and logs a warning.
	AcceptModel string
	// Index is the kind of vector index, one of index.Kinds, or "auto": "flat-int8" (exact) up to
	// 50,000 vectors, above them "hnsw-int8" (approximate), or "hnsw-compact" from 1,024 dimensions on. "" means the
	// database's own, and "auto" for a new one.
	// docs/guide.md compares the kinds. "hnsw-compact" keeps vectors added since Open in memory until Close.
	Index string
	// Language of the texts selects stemming and stop words: an ISO 639-1 code such as "en", or "none" for none. A text in
	// another language also has the stems of its own. "" means the database's own, and "en" for a new one.
	Language string
	// Kind is what the database holds, and so how hybrid searches rank: KindCode, KindText or KindAuto. "" means the
	// database's own, and KindAuto for a new one.
	Kind string
	// VisualWords is the size of the codebook of a new image database, 16 to 4096. 0 means
	// 1024, or the database's own.
	VisualWords int
	// ChunkTokens is the maximum number of tokens of a chunk; longer texts are split. It applies to texts stored
	// later. 0 means the encoder's limit. A negative value means no splitting: the part beyond the limit is cut
	// off and counted.
	ChunkTokens int
	// ChunkOverlap is the maximum number of tokens that a chunk repeats from the previous one, at most half of
	// ChunkTokens. 0 means an eighth of ChunkTokens, a negative value none.
	ChunkOverlap int
	// NoSync makes commits faster: they return before the data is on disk. A killed process loses nothing, but a power
	// cut may lose the last commits or leave a database that is reported as damaged.
	NoSync bool
	// ReadOnly opens without write access. Several processes may open a database read-only at once.
	ReadOnly bool
	// InMemory makes a database without a folder (Open gets ""), which ends with Close: for tests and caches. Fits and
	// token states beyond 64 MiB use a temporary folder that Close removes. Reembed is refused.
	InMemory bool
	// MustExist makes Open return ErrNotFound instead of creating a database.
	MustExist bool
	// MemoryMiB is the budget of the document store's caches and buffers. 0 means 128, or a quarter of MaxMemoryMiB if
	// that is less; values below 32 count as 32. Stats lists all other memory.
	MemoryMiB int
	// MaxMemoryMiB bounds the memory of the open database except float32 vectors and running calls; 0 means no bound.
	// Near it optional parts are left out (Stats.Foregone); documents that do not fit return ErrMemory.
	MaxMemoryMiB int
	// Local builds local bridges at once and keeps them up to date, for some 4·Dim bytes a vector. Otherwise they are
	// built when a query first names "rlr-local".
	Local bool
	// TokenStates says whether new documents keep coded token states: TokenStatesOff, TokenStatesAuto or TokenStatesOn.
	// "" means the database's own, TokenStatesAuto for a new one. KeepTokenStates adds them to stored documents.
	TokenStates string
	// TokenBits are the bits of each of the 96 components of a token state: 2, 4 or 8; 0 means 2. TokenPool is how many
	// neighbouring tokens share a state: 1 to 3; 0 means 1. Smaller states cost quality (docs/results/token-states.md).
	TokenBits, TokenPool int
	// Alpha is the weight of RLR's shift; 0 means 0.5, or 0.7 in a stack with a fitted part. Lambda is RLR's ridge
	// parameter; 0 means 1, or 0.01 in an image database.
	Alpha, Lambda float64
	// Reranker, if not nil, rescores the first RerankDepth hits of each search by text (see Query.Rerank). RerankDepth
	// 0 means DefaultRerank. Close does not close the reranker.
	Reranker    Reranker
	RerankDepth int
	// Progress, if not nil, reports long work inside Open, Add, Upsert, Patch, Export, Import and Backup. Only one
	// goroutine calls it at a time. Calls from other processes (package share) report to their own callbacks.
	Progress func(Progress)
	// Logger receives warnings, such as the repair of a damaged snapshot; nil means none.
	Logger *slog.Logger
}

// minMemoryMiB is the least value of Options.MaxMemoryMiB.
const minMemoryMiB = leastStoreMiB + 1

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

// partBytes is the memory limit of all parts except the float32 vectors, 0 for no limit.
func (o Options) partBytes() int64 {
	if o.MaxMemoryMiB == 0 {
		return 0
	}
	return int64(o.MaxMemoryMiB-max(leastStoreMiB, o.storeMiB())) << 20
}

// autoHNSW is the number of vectors above which the default index is a graph. An exact scan of fewer vectors takes less
// time than encoding the query.
const autoHNSW = 50_000

// indexKinds returns the values of Options.Index, except "".
func indexKinds() []string { return append([]string{state.IndexAuto}, index.Kinds()...) }

// Validate reports all fields that are out of range, joined into one error.
func (o Options) Validate() error {
	var errs []error
	if o.Dim < 0 || o.Dim > limit.Dim {
		errs = append(errs, fmt.Errorf("%w: dimension %d; use 1 to %d, or 0 with an encoder", ErrInvalid, o.Dim, limit.Dim))
	}
	if o.Index != "" && !slices.Contains(indexKinds(), o.Index) {
		errs = append(errs, fmt.Errorf("%w: index %q; use one of %s, or leave it empty", ErrInvalid, o.Index, strings.Join(indexKinds(), ", ")))
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
	if !slices.Contains([]string{"", KindAuto, KindCode, KindText}, o.Kind) {
		errs = append(errs, fmt.Errorf("%w: kind %q; use %s, %s or %s", ErrInvalid, o.Kind, KindAuto, KindCode, KindText))
	}
	if o.MemoryMiB < 0 || o.MemoryMiB > maxMemoryMiB {
		errs = append(errs, fmt.Errorf("%w: memory of %d MiB; use 1 to %d, or 0 for the default", ErrInvalid, o.MemoryMiB, maxMemoryMiB))
	}
	if o.MaxMemoryMiB != 0 && (o.MaxMemoryMiB < minMemoryMiB || o.MaxMemoryMiB > maxMemoryMiB) {
		errs = append(errs, fmt.Errorf("%w: at most %d MiB of memory; use %d to %d, or 0 for no bound", ErrInvalid, o.MaxMemoryMiB, minMemoryMiB, maxMemoryMiB))
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
