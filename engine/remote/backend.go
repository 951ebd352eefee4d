package remote

import (
	"context"
	"iter"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// Backend is a search engine elsewhere, such as a cluster, that keeps passages with their
// vectors and answers the two legs of a query. Over makes a Database of one. Passages
// stay as they are: it is the query that is modulated, on this side.
//
// Where an engine gives scores in other units, or none, its Backend makes them what is
// said here: engine/remote/backendtest tests whether one does. What a query's words tell beside the choice of
// candidates (BM25, coverage, presence, pairs) is computed on this side from
// Candidate.Terms, so that scores mean what they mean in an embedded database.
//
// Methods are safe for concurrent use, obey their contexts, and name in their errors
// what was asked and what to do. Errors: ErrInvalid for a filter that is invalid.
type Backend interface {
	// Name says which engine this is and where, without a key: for Stats and errors.
	Name() string
	// Info returns what Create was given; ErrNoDatabase where nothing was created.
	Info(ctx context.Context) (Info, error)
	// Create makes an empty index; ErrExists where there is one.
	Create(ctx context.Context, i Info) error
	// Status tells how much there is. Counts may be some moments old.
	Status(ctx context.Context) (Status, error)

	// Nearest returns the k passages with the highest cosine with a unit vector [Dim] among
	// those that meet f, best first. Fewer come if there are fewer; an
	// approximate index may miss some.
	Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]Candidate, error)
	// Matching returns the k passages with the highest BM25 (k1 1.2, b 0.75) of
	// weighted terms over Passage.Terms among those that meet f and have one of them, best
	// first. An engine that keeps lengths coarsely may miss the last ones. Of too many
	// terms it may leave out those that most passages have.
	Matching(ctx context.Context, terms []WeightedTerm, k int, f engine.Filter) ([]Candidate, error)
	// Having returns how many passages have each term, 0 for one that none has.
	Having(ctx context.Context, terms []string) ([]int, error)
	// Cosines returns the cosine of a unit vector with the vectors of passages, in their order,
	// exact to 1e-6 where the index keeps float32; NaN for a passage that is not there.
	Cosines(ctx context.Context, vector []float32, ids []PassageID) ([]float64, error)
	// Fetch returns passages in the order of ids, without Whole, Vector and Tokens unless asked for; nil for one that is not
	// there any more.
	Fetch(ctx context.Context, ids []PassageID, vectors bool) ([]*Passage, error)
	// Documents returns the passages of each document, in the order of their numbers, with
	// vectors; none for an id that is not stored.
	Documents(ctx context.Context, ids []string) ([][]Passage, error)
	// Count returns how many documents meet f.
	Count(ctx context.Context, f engine.Filter) (int, error)
	// Scan yields the passages of documents that meet f, with vectors, those of a document
	// one after the other by their numbers. An error is yielded once, and is the last.
	Scan(ctx context.Context, f engine.Filter, o ScanOptions) iter.Seq2[Passage, error]

	// Put stores documents, each by all its passages, in place of what their ids had; with
	// fresh, one that is stored already is an ErrExists. It returns when what it has stored survives the
	// loss of one node, and is found by searches. It is no transaction: documents
	// before one that failed are stored, and each document that was is there
	// whole; Put may be called again with all of them.
	Put(ctx context.Context, docs [][]Passage, fresh bool) error
	// Delete removes documents and returns how many there were.
	Delete(ctx context.Context, ids []string) (int, error)

	// Close releases connections; nothing that is stored changes.
	Close() error
}

// Unsettler is a Backend in which a Put that was cut off, by the end of its process, may leave passages that are read as
// if they were stored, but that Nearest does not find. Putting them again mends that; Upsert does.
type Unsettler interface {
	// Unsettled returns those of some stored passages that Nearest does not find, in their order.
	Unsettled(ctx context.Context, ids []PassageID) ([]PassageID, error)
}

// Info is what an index of a Backend was made for, and is kept with it.
type Info struct {
	Dim      int                 `json:"dim"`
	Encoder  encoder.Fingerprint `json:"encoder"` // zero for vectors alone
	Language string              `json:"language"`
	Analysis string              `json:"analysis"` // digest of the analysis that Passage.Terms come from
}

// Status is how much a Backend holds.
type Status struct {
	Documents, Passages int
	Terms               int64  // of all passages together (Passage.Length)
	Writes              uint64 // grows with each passage that is written or deleted, and never falls
}

// PassageID names a passage: document ID, chunk number Chunk from 0.
type PassageID struct {
	ID    string
	Chunk int
}

// WeightedTerm is a term of a query. A passage's BM25 is the sum over the terms of
// Weight times what the term gives.
type WeightedTerm struct {
	Term   string
	Weight float64
}

// Candidate is a passage that a leg has named.
type Candidate struct {
	PassageID
	Cosine float64 // Nearest: in [-1, 1], exact to 1e-6 where the index keeps float32
	Terms  string  // Passage.Terms
}

// Passage is a whole document, or a chunk of a long one, as a Backend keeps it.
type Passage struct {
	PassageID
	Chunks int // of the document
	Title  string
	Text   string // of the chunk: the bytes [Start, Start+len(Text)) of the document's text
	Start  int
	Line   int    // the first line of the document's text, from 1, that Text covers
	Whole  string // the document's text, in chunk 0 of several alone
	// Metadata is a JSON object, or "", byte for byte; each chunk has it.
	Metadata string
	// Facts are the metadata as texts that filters are answered by: filter.Condition.Facts.
	Facts  []string
	Vector []float32 // [Dim], of unit length
	// Terms are the analysed words of title and text, a space between two, and behind two
	// spaces the terms beside the words. The lexical leg matches them as they are, split at
	// spaces.
	Terms  string
	Length int // number of Terms
	// Tokens are those with lexical weight of what was encoded (encoder.Tokens.Lexical), which bridges
	// are made of; none where the encoder has no tokenizer.
	Tokens    []int32
	Truncated int // tokens beyond the encoder's limit, of chunk 0 those of the document
}

// ScanOptions choose what Scan yields.
type ScanOptions struct {
	// After leaves out documents up to this id, in an order of ids that does not change;
	// "" leaves out none.
	After string
	// Part, from 0, is one of Parts that together are all documents; Parts 0 means 1.
	Part, Parts int
}
