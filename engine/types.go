package engine

import (
	"iter"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// Document is what a user stores and gets back.
type Document struct {
	// ID is unique in a database: 1 to 1,024 bytes, any bytes.
	ID string
	// Title and Text are encoded together, title first. At least one of them
	// must hold something other than white space, unless Vector is given.
	Title, Text string
	// Metadata is kept and returned as it is; it must be encodable as JSON.
	// Numbers come back as json.Number, so that none loses digits.
	Metadata map[string]any
	// Vector, if not nil, is used instead of encoding the text. It must have
	// the database's dimension and be finite. With metric cosine it must not be zero, and
	// is normalised; else it is kept as it is, and has a length of at most 1e18. Get
	// returns it for documents that are not stored in chunks. A database without an
	// encoder asks for it.
	Vector []float32
	// Media and Data are an image, where the encoder takes images: its file (PNG, JPEG, GIF, WebP, BMP, TIFF, at
	// most MaxImageBytes) and its media type, which is read of Data where Media is "". Text must be empty then: it is
	// the database's, and holds the visual words of the image, one for each patch, once there is a
	// codebook. Title is found by its words, and is not encoded. Get returns them; hits do not.
	Media string
	Data  []byte
	// Breaks are byte offsets in Text, ascending, at which a text that is stored in
	// chunks is best cut, such as headings or declarations: a chunk holds as many of
	// the parts between them as it has room for, and a part is cut by its sentences
	// only where it alone is longer than a chunk. They are not stored.
	Breaks []int
}

// AddResult tells what an Add or Upsert did.
type AddResult struct {
	Seq             uint64 // sequence number of the commit
	Added           int    // documents that were new
	Replaced        int    // documents that replaced one with the same id
	Unchanged       int    // documents that were stored already as they are; nothing was written for them
	Chunked         int    // documents that were stored in chunks
	Chunks          int    // how many chunks those have
	Truncated       int    // documents with text beyond the encoder's limit that was cut off
	TruncatedTokens int    // tokens cut off in all
}

// Add adds what another Add or Upsert of the same database did: Seq is that of the
// later commit.
func (r *AddResult) Add(o AddResult) {
	r.Seq = max(r.Seq, o.Seq)
	r.Added += o.Added
	r.Replaced += o.Replaced
	r.Unchanged += o.Unchanged
	r.Chunked += o.Chunked
	r.Chunks += o.Chunks
	r.Truncated += o.Truncated
	r.TruncatedTokens += o.TruncatedTokens
}

// Query is one search.
type Query struct {
	// Text is what to look for. Required unless Vector or Image is given.
	Text string
	// Image, if not nil, is the file of an image to look for, in a database of images; Text and Vector must be
	// empty then. Its visual words take the place of words.
	Image []byte
	// Picture asks Explain for Explanation.Picture; searches do not read it.
	Picture bool
	// Vector, if not nil, is a ready query vector [Dim]; Text is then only
	// used for its tokens (modulation) and may be empty. What holds for Document.Vector
	// holds for it.
	Vector []float32
	// K is the number of hits wanted; 0 means 10. At most MaxK.
	K int
	// Offset is how many of the best hits are left out: the first that comes back has
	// Rank Offset+1. Offset and K together are at most MaxK, and cost what a search
	// for so many costs. In ModeHybrid pages join without a seam while that is at
	// most 100; beyond, each page looks deeper than the one before, and a hit
	// may move across the seam. Commits between two pages may move hits as well.
	Offset int
	// MinScore leaves out hits, and the duplicates of Collapse, with a lower Score.
	// 0 means none, a negative one holds as well; it must be finite. With metric l2 every
	// score of ModeDense is 0 or negative.
	//
	// What a score means depends on Mode and on the model. With all-MiniLM-L6-v2 on 1,997
	// passages of Natural Questions, of the passages that answer a question 95 in 100
	// score above .57 in ModeHybrid (half above .94), and above .42 in ModeDense (.66); the
	// best hits of questions about another subject score below .46 and .38 in 95 of
	// 100. So .5 and .4 keep most of what is right and leave out most of what is not there. BM25
	// (ModeLexical) has no such scale: it grows with the words of the query, and the best
	// hits of either kind overlap (8.8 and more, up to 21). Other models have cosines of their own:
	// measure with queries of yours. With another metric than
	// cosine, scores of ModeDense are on the scale of the vectors, and those of ModeHybrid are sums of reciprocal ranks.
	MinScore float32
	// Variant names the modulation. "" is the best there is: what the last fit has
	// chosen, else "rlr-local" in a dense search where local bridges are there, else
	// "rlr". "none" is the plain dense vector, and all that there is with another metric than
	// cosine; others are "rlr+whiten", "slr", "rlr+slr" or "rlr-local+slr".
	Variant string
	// Mode is one of ModeAuto (also ""), ModeDense, ModeLexical, ModeHybrid.
	Mode string
	// Fusion says how ModeHybrid joins its legs; zero means calibrated, and with another
	// metric than cosine RRF, which is all that there is then.
	Fusion Fusion
	// Filter keeps documents whose metadata meet it; the zero value keeps all.
	// See filter.Parse for its written form. It is applied inside both legs, so
	// min(K, documents that meet it) hits come back.
	Filter Filter
	// PerChunk makes every chunk of a document a hit of its own. Else a document
	// is found once, by its best chunk.
	PerChunk bool
	// Collapse folds near-duplicates into the best of them: texts that share four
	// fifths of their distinct word pairs. Hit.Duplicates names the others.
	Collapse bool
	// Rerank is how many of the first hits Options.Reranker reads, by the query and the text
	// that each shows; they come back in the order of its scores, and the rest follow as they
	// are. 0 means Options.RerankDepth, or none where the query has no text or the
	// database no reranker; below 0 means none. At most MaxRerank.
	//
	// What is read is decided before: Filter, MinScore (by Hit.Score, not by what the
	// reranker says), PerChunk and Collapse choose the hits, Offset and K cut the page out
	// of all of them in their new order. A page wholly behind them needs no reranker.
	Rerank int
	// Ef is the candidate pool of an approximate index; 0 means its default.
	Ef int
	// Spans asks for Hit.Span: which part of its text answers the query. It costs the reading of each
	// text that comes back, and of all that a reranker gets: a kilobyte some 0.1 ms by words, and 0.25 ms
	// by the token states of a query of ten.
	Spans bool
}

// Hit is one document found, or one chunk of it.
type Hit struct {
	ID   string `json:"id"`
	Rank int    `json:"rank"` // from 1
	// Score is what the ranking is by, higher is better: the fused score,
	// Modulated (ModeDense), or BM25 (ModeLexical).
	Score float32 `json:"score"`
	// Reranked says that the reranker has read this hit, and Rerank is its score, on a
	// scale of its own. These hits stand before the others, in the order of Rerank, ties in
	// that of Score.
	Rerank   float64 `json:"rerank,omitempty"`
	Reranked bool    `json:"reranked,omitempty"`
	// Cosine is that of the plain query vector, Modulated that of the modulated
	// one, both in [-1, 1]; 0 in ModeLexical. With local bridges Modulated is the
	// inner product with the vector of the document's cell, which is not of unit
	// length, and may exceed 1. With metric dot Modulated is the dot product, with metric
	// l2 the squared distance below 0; Cosine is the cosine all the same, 0 for a vector
	// of zeros.
	Cosine    float32 `json:"cosine"`
	Modulated float32 `json:"modulated"`
	// BM25 is the lexical score, Coverage its share of what this query could
	// get, in [0, 1), Presence the share of the query's words, by idf, that stand
	// in the text, and Pair that of its adjacent word pairs found adjacent, both in
	// [0, 1]; all 0 in ModeDense.
	BM25     float32 `json:"bm25"`
	Coverage float32 `json:"coverage"`
	Presence float32 `json:"presence"`
	Pair     float32 `json:"pair"`
	// TokenScore is how well the tokens of the text answer those of the query, in [0, 1]: the
	// mean, by idf, of the cosine with the nearest one, and at least 0.8·Presence. 0 where token
	// states are not compared.
	TokenScore float32 `json:"token_score,omitempty"`
	Title      string  `json:"title,omitempty"`
	Media      string  `json:"media,omitempty"` // media type of a document that is an image, whose Text are its visual words; "" for texts
	// Text is the document's, or that of the chunk which was found: the bytes
	// [Start, End) of the document's text, number Chunk (from 0) of Chunks.
	Text   string `json:"text"`
	Chunk  int    `json:"chunk"`
	Chunks int    `json:"chunks"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Lines  [2]int `json:"lines"` // first and last line, from 1, of the document's text that Text covers
	// Span is the part of Text that answers the query best, where Query.Spans asks for it: the bytes
	// [Span[0], Span[1]) of the document's text, MaxSpan at most, and SpanLines its first and last line. It is made of sentences or
	// lines in a row, or of words of one that is longer. Where token states are compared it is the part whose
	// tokens answer those of the query best, else the one that has most of the query's words, by idf, and of its adjacent
	// pairs. Both are 0, 0 where nothing tells: the text has no word of the query, or is empty.
	Span       [2]int         `json:"span"`
	SpanLines  [2]int         `json:"span_lines"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Duplicates []string       `json:"duplicates,omitempty"` // ids of the documents that Query.Collapse folded into this one
}

// Result is the answer to one Query.
type Result struct {
	Hits  []Hit `json:"hits"`
	Trace Trace `json:"trace"`
}

// Trace tells which steps a query took and how long each lasted.
type Trace struct {
	Mode      string `json:"mode"`             // the mode that was used, never "auto"
	Metric    string `json:"metric"`           // of the database, one of index.Metrics
	Variant   string `json:"variant"`          // the modulation that was applied, "none" for none
	Fusion    string `json:"fusion,omitempty"` // how the legs were joined, a kind of package fusion; "" where there was one leg
	Seq       uint64 `json:"seq"`              // sequence number of the state that was searched
	Index     string `json:"index"`            // kind of index, one of index.Kinds; in front of a remote.Backend its Name
	Documents int    `json:"documents"`        // documents in that state
	Filtered  int    `json:"filtered"`         // how many of them met the filter; all without one
	Tokens    int    `json:"tokens"`           // tokens of the query, special ones included
	Truncated int    `json:"truncated"`        // query tokens beyond the encoder's limit
	Lexical   int    `json:"lexical"`          // distinct tokens with lexical weight
	Cells     int    `json:"cells,omitempty"`  // cells of the local bridges that were looked into; 0 without them
	// Turned is the cosine between the dense and the modulated query vector, with
	// local bridges that of the likeliest cell; 1 means that modulation changed
	// nothing.
	Turned float32 `json:"turned"`
	// Unknown is the share of the query's text, in [0, 1], that the encoder has no
	// tokens for: in fusion.Calibrated the cosine counts so much less. 0 for a query
	// with a vector of its own.
	Unknown  float64 `json:"unknown"`
	Unfitted int     `json:"unfitted"` // documents that came after the fit of the bridge in use
	// Stale is how many passages came or went since RLR's factor was made that the
	// shift does not know of in full; 0 means that it is exact. The maintainer makes a
	// new factor in the background (Flush waits for it). In front of a remote.Backend it is how many
	// were written or deleted there since the bridge file was made.
	Stale int `json:"stale"`
	// BridgeOf is, in front of a remote.Backend, of which passages the bridge is that the query's filter chose
	// (remote.BridgeOptions.By), as a filter; "" for all.
	BridgeOf string `json:"bridge_of,omitempty"`
	// LocalWanted says that the query asked for local bridges that are not built
	// yet, and got Variant in their place.
	LocalWanted bool   `json:"local_wanted,omitempty"`
	Reranked    int    `json:"reranked,omitempty"` // hits that the reranker read, those of other pages included; 0 without it
	Steps       []Step `json:"steps"`
}

// Step is one timed part of a query.
type Step struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took_ns"`
}

// Progress reports long work. Done counts up to Total; Total is 0 while it is
// not known. Loss is the current training loss, or 0.
type Progress struct {
	Stage string // "encode", "store", "rebuild", "sample", "encode queries", "fit", "evaluate", "backup", "restore", "export", "import", "reembed", "wait"
	Done  int
	Total int
	Loss  float64
}

// FitOptions shape Fit. The zero value is a good default.
type FitOptions struct {
	// Variant is what to fit, a variant or a stack of them with at least one
	// fitted part (modulate.Variants): "" means "rlr+slr".
	Variant string
	// Seed makes the fit reproducible; 0 means 1.
	Seed uint64
	// QueriesPerPassage is the number of self-made training queries for each
	// passage; 0 means 10. More is better and costs encoding time.
	QueriesPerPassage int
	// MaxQueries caps the training queries in all; 0 means no cap.
	MaxQueries int
	// Epochs over the training queries; 0 means 3.
	Epochs int
	// Update goes on from the bridge that is there: queries are drawn from the
	// documents it has not seen, and as many from all others, so the cost is in
	// proportion to what is new. Variant "" then means the default one. Without
	// such a bridge it is ErrNotFitted.
	Update bool
	// Progress, if not nil, is called from one goroutine at a time.
	Progress func(Progress)
}

// FitReport tells what a fit did and what it gained on held-out probes.
type FitReport struct {
	// Choice compares the fitted bridge with the local bridges on other held-out
	// probes; the better one serves from then on. Default is what Engine.Default says
	// then.
	Choice    []VariantScore
	Default   string
	Variant   string
	File      string // file name below the database's bridges folder
	Seq       uint64 // the state of the corpus that was fitted
	Passages  int
	Queries   int // training queries
	Seconds   float64
	FinalLoss float64
	Current   bool // an update found nothing new, and changed nothing
	// Probes hold nDCG@1 on probes made from the corpus with other seeds than
	// training, before and after. Those of keywords are made by another rule than
	// training's. Those of part:16 are spans of passages that training takes
	// spans from, too: they say what copied words gain on text that was learned,
	// which is more than they gain elsewhere.
	Probes []ProbeScore
}

// ProbeScore is one probe of a fit, see FitReport.Probes.
type ProbeScore struct {
	Task     string  // "keyword" or "part:16"
	Queries  int     // how many
	Dense    float64 // nDCG@1 in [0, 1] of the plain dense vector
	Modified float64 // nDCG@1 in [0, 1] with the fitted bridge
}

// VerifyReport is what Verify found.
type VerifyReport struct {
	Documents   int      // live documents
	Problems    []string // what is wrong, one entry each; empty when all is well
	Damaged     bool     // a problem is with what is stored: nothing makes that anew, see Salvage
	Vectors     int      // in the index, held to the stored ones with their codes
	Unreachable int      // vectors that a search by themselves can never find
	Sampled     int      // vectors searched by themselves
	SelfRecall  float64  // share of those for which the search found the nearest, 1 where there are none: with metric cosine themselves, else what a comparison with all stored vectors finds
	// Of the sums of tokens that RLR keeps, and of the cells of local bridges, so
	// many were recounted, drawn at random.
	SumsRecounted, Sums   int
	CellsRecounted, Cells int
	Unfitted              int // documents the default bridge has not seen
}

// Stats describes a database.
type Stats struct {
	Dir         string
	Documents   int
	Chunks      int // what is searched: a document of one piece counts once
	Seq         uint64
	Dim         int
	Index       string
	Metric      string // one of index.Metrics
	Encoder     encoder.Fingerprint
	Language    string // of the texts: Options.Language
	Truncated   int    // documents with text that no vector stands for
	DiskBytes   int64  // files below Dir
	LiveBytes   int64  // records of live documents
	DeadBytes   int64  // records of replaced and deleted ones that the change log still needs
	Reclaimable int64  // about what Compact gives back: dead records, removed ones and the tables' own
	Bridges     []BridgeStats
	Default     string // the variant of a query with a text that names none
	Reranker    string // the name of Options.Reranker, "unnamed" where it has none; "" without one
	FormatMajor int
	Memory      Memory
	MaxMemory   int64    // most of Memory beside Vectors, in bytes: Options.MaxMemoryMiB less the store's budget; 0 for no bound
	Foregone    []string // of "graph" and "local bridges", what the database does without because of MaxMemory
	Maintenance Maintenance
	Reembedding bool // a Reembed runs, or what an interrupted one encoded is kept
	TokenStates TokenStats
}

// TokenStats tells which token states a database keeps.
type TokenStats struct {
	Mode   string // TokenStatesOff, TokenStatesAuto or TokenStatesOn: what documents get that come now
	Chunks int    // that have some
	Bases  int    // that their codes were made with
	Bytes  int64  // of the codes, in files and in memory
	Note   string // why documents get none though Mode asks for them; "" else
}

// Memory is what an open database keeps in memory, in bytes, mapped files
// included. The store's own caches are bounded by Options.MemoryMiB, all but Vectors by MaxMemoryMiB.
type Memory struct {
	Vectors int64 // the float32 vectors
	Codes   int64 // int8 codes of the vectors
	Graph   int64 // links of an approximate index, and tables of ids
	Words   int64 // inverted index
	Columns int64 // metadata
	RLR     int64 // sums and factor of the closed form
	Local   int64 // local bridges, 0 where there are none
	Tokens  int64 // codes of token states, 0 where none are kept
}

// Parts are the fields by the names that metrics give them.
func (m Memory) Parts() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		_ = yield("vectors", m.Vectors) && yield("codes", m.Codes) && yield("graph", m.Graph) && yield("words", m.Words) &&
			yield("columns", m.Columns) && yield("rlr", m.RLR) && yield("local", m.Local) && yield("tokens", m.Tokens)
	}
}

// Maintenance is what is being done in the background.
type Maintenance struct {
	Task        string // such as "factor", "graph", "local bridges" or "save"; "" for nothing
	Done, Total int    // Total is 0 where it is not known
	Error       string // of the last task that failed; Flush tries it again
	Stale       int    // passages that RLR's factor does not know of in full
	Unindexed   int    // chunks that the local bridges lack, where there are some
}

// BridgeStats describes one fitted bridge.
type BridgeStats struct {
	Variant  string
	File     string
	Seq      uint64 // state of the corpus it was fitted on
	Passages int    // passages it was fitted on
	Unfitted int    // documents added or replaced since
	Probes   []ProbeScore
}
