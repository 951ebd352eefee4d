package remote

import (
	"context"
	"iter"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// Backend is a search engine, such as a cluster, that stores passages with their vectors and returns candidates for
// a query. Over makes a Database of it. Only the query is modulated, on this side; the passages do not change.
//
// If the engine's own scores have other units, or it returns none, the Backend must convert or compute them as
// described here. Package backendtest tests an implementation. BM25, normalised BM25, term recall and bigram match are
// computed on this side from Candidate.Terms, so scores mean the same as in an embedded database.
//
// All methods are safe for concurrent use and obey their contexts. Errors name the call and a remedy. An invalid
// filter is ErrInvalid.
type Backend interface {
	// Name returns the kind and address of the engine, for Stats and errors. It contains no secret.
	Name() string
	// Info returns the argument of Create. Errors: ErrNoDatabase if there is no index.
	Info(ctx context.Context) (Info, error)
	// Create makes an empty index. Errors: ErrExists if there is one.
	Create(ctx context.Context, i Info) error
	// Status returns the size of the index. Counts may be some moments old.
	Status(ctx context.Context) (Status, error)

	// Nearest returns the k passages that match f with the highest cosine to a unit vector [Dim], best first. It
	// returns fewer if fewer match. An approximate index may miss some.
	Nearest(ctx context.Context, vector []float32, k int, f engine.Filter) ([]Candidate, error)
	// Matching returns the k passages that match f with the highest BM25 (k1 1.2, b 0.75) of weighted terms, best
	// first. Each has at least one of the terms in Passage.Terms.
	//
	// An engine that stores lengths coarsely may miss the last ones. Of too many terms it may drop the most frequent.
	Matching(ctx context.Context, terms []WeightedTerm, k int, f engine.Filter) ([]Candidate, error)
	// Having returns the number of passages with each term, 0 for an unknown term.
	Having(ctx context.Context, terms []string) ([]int, error)
	// Cosines returns the cosine of a unit vector with each passage's vector, in the order of ids; NaN for an unknown
	// passage. It is exact to 1e-6 if the index keeps float32.
	Cosines(ctx context.Context, vector []float32, ids []PassageID) ([]float64, error)
	// Fetch returns passages in the order of ids, nil for an unknown one. Whole, Vector and Tokens are filled only if
	// vectors is true.
	Fetch(ctx context.Context, ids []PassageID, vectors bool) ([]*Passage, error)
	// Documents returns the passages of each document in the order of their numbers, with vectors; nil for an unknown
	// id.
	Documents(ctx context.Context, ids []string) ([][]Passage, error)
	// Count returns the number of documents that match f.
	Count(ctx context.Context, f engine.Filter) (int, error)
	// Scan yields the passages of documents that match f, with vectors. Passages of a document follow one another by
	// their numbers. An error is yielded once, last.
	Scan(ctx context.Context, f engine.Filter, o ScanOptions) iter.Seq2[Passage, error]

	// Put stores documents, each with all its passages, and replaces documents with the same ids. If fresh is true, a
	// stored id is ErrExists. When Put returns, searches find the documents, and they survive the loss of one node.
	//
	// Put is not a transaction: on an error earlier documents may be stored. Each stored document is complete, and the
	// same call may be repeated.
	Put(ctx context.Context, docs [][]Passage, fresh bool) error
	// Delete removes documents and returns how many existed.
	Delete(ctx context.Context, ids []string) (int, error)

	// Close releases connections. Stored data does not change.
	Close() error
}

// Unsettler is a Backend in which an interrupted Put may leave passages that can be read but that Nearest cannot
// find. Putting them again repairs that; Upsert does so.
type Unsettler interface {
	// Unsettled returns those of the given stored passages that Nearest cannot find, in the given order.
	Unsettled(ctx context.Context, ids []PassageID) ([]PassageID, error)
}

// Info describes what an index was made for. The Backend stores it with the index.
type Info struct {
	Dim      int                 `json:"dim"`      // length of the vectors
	Encoder  encoder.Fingerprint `json:"encoder"`  // zero for a database without an encoder
	Language string              `json:"language"` // language of the texts
	Analysis string              `json:"analysis"` // digest of the text analysis that made Passage.Terms
}

// Status is the size of a Backend's index.
type Status struct {
	Documents, Passages int
	Terms               int64  // of all passages (sum of Passage.Length)
	Writes              uint64 // grows with each passage written or deleted, and never falls
}

// PassageID names a passage: document ID, and chunk number Chunk from 0.
type PassageID struct {
	ID    string
	Chunk int
}

// WeightedTerm is a term of a query. A passage's BM25 is the sum of Weight times each term's part.
type WeightedTerm struct {
	Term   string
	Weight float64
}

// Candidate is a passage that a retriever found.
type Candidate struct {
	PassageID
	Cosine float64 // Nearest only: in [-1, 1], exact to 1e-6 if the index keeps float32
	Terms  string  // Passage.Terms
}

// Passage is a whole document, or a chunk of a long one, as a Backend stores it.
type Passage struct {
	PassageID
	Chunks int // number of chunks of the document
	Title  string
	Text   string // text of the chunk: bytes [Start, Start+len(Text)) of the document's text
	Start  int
	Line   int    // line of the document's text, from 1, where Text begins
	Whole  string // the document's text, only in chunk 0 of several
	// Metadata is a JSON object, or "", stored byte for byte with each chunk.
	Metadata string
	// Facts are the metadata as texts that filters compare with: filter.Condition.Facts.
	Facts  []string
	Vector []float32 // [Dim], of length 1
	// Terms are the analysed words of title and text, stored byte for byte. One to five spaces separate them, and tell
	// additional terms and the title (inverted.Spell). The lexical retriever splits at spaces and compares terms exactly.
	Terms  string
	Length int // inverted.Length of Terms
	// Tokens are the tokens with lexical weight (encoder.Tokens.Lexical), from which bridges are made. It is empty if
	// the encoder has no tokenizer.
	Tokens    []int32
	Truncated int // tokens beyond the encoder's limit; in chunk 0 those of the document
}

// ScanOptions configure Backend.Scan.
type ScanOptions struct {
	// After is an id: the scan, in a fixed order of ids, begins after it. "" scans from the start.
	After string
	// Part, from 0, is one of Parts disjoint parts of all documents. Parts 0 means 1.
	Part, Parts int
}
