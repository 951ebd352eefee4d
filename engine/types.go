package engine

import (
	"iter"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/problems"
)

// Document is what a database stores and returns.
type Document struct {
	// ID is unique in a database: 1 to MaxID bytes, of any value.
	ID string
	// Title and Text are encoded together, title first. One of them must hold more than white space, unless Vector or
	// Data is given.
	Title, Text string
	// Metadata must be encodable as JSON, and is returned unchanged. Numbers come back as json.Number, so that no digit
	// is lost.
	Metadata map[string]any
	// Vector, if not nil, replaces the encoding of the text; it is required in a database without an encoder. It must
	// be finite and have the database's dimension. Get returns it only for a document stored as one chunk.
	//
	// With metric cosine it must not be zero, and is normalised. Other metrics keep it as it is, up to a length of
	// 1e18.
	Vector []float32
	// Data is the file of an image (PNG, JPEG, GIF, WebP, BMP or TIFF, at most MaxImageBytes), for an image encoder.
	// Media is its media type; "" means that the type is detected. Get returns both, hits only Media.
	//
	// Text must then be empty: the database fills it with the visual words. Title is found by words but not
	// encoded.
	Media string
	Data  []byte
	// Breaks are ascending byte offsets at which Text is best split into chunks, such as headings. A part between
	// two breaks is split by sentences only if it exceeds a chunk. Breaks are not stored.
	Breaks []int
	// WordsFirst stores a text without encoding it: when Add or Upsert returns, words find it, and its vectors follow in
	// the background, also after a kill and the next opening with the encoder. Flush waits for them. Until then hybrid
	// searches rank it by its words, with the cosine that these foretell, dense searches do not find it, and
	// Result.Trace.Waiting counts it. Of an edited text, few new passages are encoded at once. Get, All and List return true as long as it waits. Only for metric cosine, and not
	// for images.
	WordsFirst bool
}

// AddResult reports the result of Add or Upsert.
type AddResult struct {
	Seq             uint64 // sequence number of the commit
	Added           int    // new documents
	Replaced        int    // documents that replaced one with the same id
	Unchanged       int    // documents that were already stored with the same content; nothing was written for them
	Chunked         int    // documents stored in several chunks
	Chunks          int    // chunks of those documents
	Truncated       int    // documents whose text was cut at the encoder's limit
	TruncatedTokens int    // tokens cut off in all documents
}

// Add adds the counts of another Add or Upsert of the same database. Seq becomes the later of both.
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

// Query is one search. One of Text, Image, Vector and Like is required; all other fields are optional.
type Query struct {
	// Text is the text to search for, at most MaxQuery bytes.
	Text string
	// Image is the file of an image to search for in an image database. Text and Vector must then be empty.
	Image []byte
	// Picture asks Explain for Explanation.Picture. Searches ignore it.
	Picture bool
	// Vector is a ready query vector [Dim], under the rules of Document.Vector. Text then gives only the tokens and
	// words, and may be empty.
	Vector []float32
	// Like names documents that the hits should resemble, and Unlike documents that they should not resemble: by id, or
	// by ID:LINE for the chunk at a line. The query vector is made from their stored vectors; they are not hits
	// themselves. Text is then optional, and supplies only words and tokens. Vector and Image must be empty. Errors:
	// ErrNotFound.
	Like, Unlike []string
	// K is the number of hits; 0 means 10. At most MaxK.
	K int
	// Offset skips the first hits, for paging. Offset+K is at most MaxK, and costs as much as a search for that many.
	// Pages of one state neither repeat nor miss a hit with an exact index. In ModeHybrid pages end at hit 100, or
	// earlier for documents with many chunks: a later page is ErrInvalid, unless few passages match. Ask for more with
	// K.
	Offset int
	// MinScore drops hits, and their Duplicates, with a lower Score; 0 means no limit. Its scale depends on mode, model
	// and metric: measure it. With all-MiniLM-L6-v2 start with 0.5 in ModeHybrid and 0.4 in ModeDense.
	MinScore float32
	// Variant names the modulation: "none", "rlr", "rlr-local", "rlr+whiten", "slr", "rlr+slr" or "rlr-local+slr". ""
	// means the last fit's choice, else "rlr-local" in a dense search if local bridges are built, else "rlr".
	Variant string
	// Mode is ModeAuto (also ""), ModeDense, ModeLexical or ModeHybrid.
	Mode string
	// Fusion says how ModeHybrid joins dense and lexical hits. Zero means calibrated fusion for metric cosine, and
	// reciprocal ranks, the only choice, for other metrics.
	Fusion fusion.Options
	// Filter keeps documents whose metadata match; zero keeps all. filter.Parse documents its text form.
	// Retrievers apply it while they search, so K hits come back if that many documents match.
	Filter Filter
	// PerChunk returns every matching chunk as a hit of its own. Otherwise a document is one hit, by its best chunk.
	PerChunk bool
	// Collapse merges near-duplicates into the best of them: texts that share four fifths of their distinct word pairs.
	// Hit.Duplicates lists the others.
	Collapse bool
	// Rerank is how many of the first hits Options.Reranker rescores, at most MaxRerank; 0 means Options.RerankDepth,
	// a negative value none. Filter, MinScore, PerChunk and Collapse apply before reranking, Offset and K after.
	Rerank int
	// Ef is the size of the candidate pool of an approximate index; 0 means the index's default.
	Ef int
	// Exact searches for the words as they are typed. Otherwise a word that neither the database nor the model knows is
	// repaired: the database's most likely word that is one edit away (two for words of eight letters and more) is
	// searched for too. Double quotes round a word do the same for that word.
	Exact bool
	// Spans fills Hit.Span with the part of the text that answers the query. Each hit's text is read for it, at 0.1 ms
	// a kilobyte by words, or some 0.25 ms with token states.
	Spans bool
	// Places asks for every document whose text has a string, byte for byte, and fills Hit.Places. The string is the phrase
	// in quotes or the word with +, and of several each; without one it is Text. Where it begins or ends with a letter,
	// digit or underscore, none may stand next to it. Hits are in the order of their ids and have no score, and
	// Trace.Filtered counts them; the mode does not matter. Other operators, Filter, Boost and Sort hold. Only for texts in a
	// database on this machine. Cost: the texts of all documents that meet the filter are read, some 2 ms a
	// megabyte, and 9 ms when they are first read from the disk.
	Places bool
	// Plain takes Text as it is. Otherwise a text of few words that is no question or message may have operators, which each hit
	// meets: "a phrase", +word and +"a phrase" require, -word and -"a phrase" exclude, prefix* finds longer words, and
	// title:word looks at titles. Forms of a word are equal. A phrase without + that no document has is not required.
	// Trace.Required, Excluded and Unmet tell what was read.
	Plain bool
	// Boost raises or lowers scores by the metadata, such as "recency(time, 30d) + 0.5*field(stars, 100)": a score s
	// becomes s·(1 + Σ weight·value), or s/(1 + …) below 0, which counts for MinScore. filter.ParseBoosts has the
	// grammar. The 200 documents with the highest boosts are also scored, even if words and vectors do not find them; a
	// remote.Backend scores only those found. Cost: one pass over all metadata.
	Boost string
	// Sort orders the hits by a field of the metadata instead of their scores: "time desc" (filter.ParseSort). Documents
	// without it come last. With MinScore, in ModeLexical and in a query that only excludes, the 10,000 best hits are
	// sorted, otherwise the 100 best, or K if that is more. They are not reranked.
	Sort string
	// GroupBy is a metadata field. At most PerGroup hits (0 means 1) of each value are kept, the best ones. Documents
	// without the field form one group; a document with several values belongs to the lowest. The hits may be fewer
	// than K if a few values have most of the best 12,800 chunks.
	GroupBy  string
	PerGroup int
}

// Hit is a document found, or one chunk of it.
type Hit struct {
	ID   string `json:"id"`   // id of the document
	Rank int    `json:"rank"` // place among all hits, from 1
	// Score orders the hits, higher is better: the fused score, Modulated (ModeDense) or BM25 (ModeLexical).
	Score float32 `json:"score"`
	// Probability estimates how probable it is that the hit is relevant, whatever the query (relevance.Probability); 0 where
	// that is not known: for images, a query with its own vector, metrics that are no cosine, models other than
	// the default except in ModeLexical, until the database has encoded a text, and while passages wait for their
	// vectors (Trace.Waiting).
	Probability float32 `json:"probability,omitempty"`
	// Rerank is the reranker's score, on its own scale, if Reranked is true. Reranked hits come first, ordered by
	// Rerank and then by Score.
	Rerank   float64 `json:"rerank,omitempty"`
	Reranked bool    `json:"reranked,omitempty"`
	// Cosine is that of the plain query vector, for every metric; 0 in ModeLexical, and for a passage without a vector yet.
	Cosine float32 `json:"cosine"`
	// Modulated is the cosine of the modulated query vector, or above 1 with local bridges; 0 in ModeLexical. With
	// metric dot it is the dot product, and with l2 minus the squared distance.
	Modulated float32 `json:"modulated"`
	BM25      float32 `json:"bm25"`     // lexical score; it and the next five are 0 in ModeDense
	Coverage  float32 `json:"coverage"` // normalised BM25: its share of what the query could get, in [0, 1)
	Presence  float32 `json:"presence"` // term recall: share of the query's words in the text, by idf, in [0, 1]
	Near      float32 `json:"near"`     // term recall of the best 24 words in a row, in [0, Presence]
	Pair      float32 `json:"pair"`     // bigram match: share of the query's adjacent word pairs, by idf, in [0, 1]
	// TitleMatch is the title match, in [0, 1]: the share of the query's words in the title, by idf, reduced to as
	// little as a quarter if the title has other words.
	TitleMatch float32 `json:"title_match"`
	// TokenScore, in [0, 1], is how well the tokens of the text, of its best part and of its front match the query's
	// (fusion.Answered). It is 0 if token states are not compared.
	TokenScore float32 `json:"token_score,omitempty"`
	Title      string  `json:"title,omitempty"` // title of the document
	// Symbol is the function or type of source code that contains Span or, without a span, the first one of Text,
	// preceded by the enclosing ones: Parser.parse. For other files it is the page, slide, sheet and row, or the
	// headings above: page 7, Guide › Install; it is missing for documents in another engine. It is "" if unknown.
	Symbol string `json:"symbol,omitempty"`
	Media  string `json:"media,omitempty"` // media type of an image, whose Text holds visual words; "" for a text
	Text   string `json:"text"`            // text of the document, or of the chunk that was found
	Chunk  int    `json:"chunk"`           // number of the chunk, from 0
	Chunks int    `json:"chunks"`          // number of chunks of the document
	Start  int    `json:"start"`           // first byte of Text in the document's text
	End    int    `json:"end"`             // byte after Text in the document's text
	Lines  [2]int `json:"lines"`           // first and last line of Text in the document's text, from 1
	// Span is the best answering part of Text, if Query.Spans is set: bytes [Span[0], Span[1]) of the document's text,
	// at most 240 bytes. It is [0, 0] if no part matches the query.
	Span      [2]int `json:"span"`
	SpanLines [2]int `json:"span_lines"` // first and last line of Span
	// Places are the lines of the document's text, from 1, that have what a query for places looks for (Query.Places), each
	// with its text, or 240 bytes of a longer one.
	Places []struct {
		Line int    `json:"line"`
		Text string `json:"text"`
	} `json:"places,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`   // metadata of the document; json.Decoder.UseNumber keeps the digits of its numbers
	Duplicates []string       `json:"duplicates,omitempty"` // ids of the near-duplicates that Query.Collapse merged into this hit
}

// Result is the answer to one Query.
type Result struct {
	Hits  []Hit `json:"hits"`  // best first
	Trace Trace `json:"trace"` // how they were found
	// For is the query with its mistyped words repaired, which was searched for in addition to Query.Text; "" if no
	// word was repaired.
	For string `json:"for,omitempty"`
}

// Trace lists the steps of a query and their times.
type Trace struct {
	Mode      string   `json:"mode"`               // mode used, never "auto"
	Metric    string   `json:"metric"`             // metric of the database, one of index.Metrics
	Variant   string   `json:"variant"`            // modulation applied; "none" for none
	Kind      string   `json:"kind,omitempty"`     // "code" if the files of source code were ranked by their names and definitions, too (KindCode)
	Fusion    string   `json:"fusion,omitempty"`   // kind of fusion, as package fusion names it; "" if only one retriever ran
	Seq       uint64   `json:"seq"`                // sequence number of the state searched
	Index     string   `json:"index"`              // kind of index, one of index.Kinds; for a remote.Backend its Name
	Documents int      `json:"documents"`          // documents in that state
	Filtered  int      `json:"filtered"`           // documents that match the filter; all without a filter
	Tokens    int      `json:"tokens"`             // tokens of the query, including special ones
	Truncated int      `json:"truncated"`          // query tokens beyond the encoder's limit
	Lexical   int      `json:"lexical"`            // distinct query tokens with lexical weight
	Cells     int      `json:"cells,omitempty"`    // cells of the local bridges searched; 0 without local bridges
	Required  []string `json:"required,omitempty"` // what the operators of the query's text require
	Excluded  []string `json:"excluded,omitempty"` // and what they exclude, without their signs
	// Waiting of the Passages of the state have no vector yet (Document.WordsFirst). Both are 0 if all have one, and in
	// ModeLexical.
	Waiting  int `json:"waiting,omitempty"`
	Passages int `json:"passages,omitempty"`
	// Unmet are phrases in quotes that no document has. They were not required.
	Unmet []string `json:"unmet,omitempty"`
	// Turned is the cosine between the plain and the modulated query vector; 1 means that modulation changed nothing.
	// With local bridges it is that of the most likely cell.
	Turned float32 `json:"turned"`
	// Unknown is the share of the query's text, in [0, 1], for which the encoder has no tokens, and at least .5 if the
	// model does not read its language. Calibrated fusion reduces the weight of the cosine by it. It is 0 for a query with
	// its own vector.
	Unknown  float64 `json:"unknown"`
	Unfitted int     `json:"unfitted"` // documents stored after the bridge in use was fitted
	// Stale counts changed passages that RLR's factor does not include in full; 0 means that RLR is exact. Flush waits
	// for that. For a remote.Backend it counts passages changed since the bridge file was made.
	Stale int `json:"stale"`
	// BridgeOf is the filter whose passages made the bridge in use (remote.BridgeOptions.By); "" for all passages.
	BridgeOf string `json:"bridge_of,omitempty"`
	// LocalWanted says that the query asked for local bridges that are not built yet; Variant was used instead.
	LocalWanted bool   `json:"local_wanted,omitempty"`
	Reranked    int    `json:"reranked,omitempty"` // hits that the reranker rescored, including those of other pages; 0 without a reranker
	Steps       []Step `json:"steps"`              // in the order in which they ran
}

// Step is one timed part of a query.
type Step struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took_ns"`
}

// Progress reports long work. Done counts up to Total; Total is 0 if it is unknown. Loss is the current training loss,
// or 0.
type Progress struct {
	Stage string // "encode", "store", "rebuild", "sample", "encode queries", "fit", "evaluate", "backup", "restore", "export", "import", "reembed", "wait"
	Done  int
	Total int
	Loss  float64
}

// FitOptions configure Engine.Fit. The zero value is a good default.
type FitOptions struct {
	// Variant is the variant to fit, or a stack with at least one fitted part. "" means "rlr+slr".
	Variant string
	// Seed makes the fit reproducible; 0 means 1.
	Seed uint64
	// QueriesPerPassage is the number of generated training queries for each passage; 0 means 10. More queries fit
	// better and take longer to encode.
	QueriesPerPassage int
	// MaxQueries limits the number of training queries; 0 means no limit.
	MaxQueries int
	// Epochs is the number of passes over the training queries; 0 means 3.
	Epochs int
	// Update continues the existing bridge (Variant "" means the default one) with queries from documents it has not
	// seen and as many from all others. The cost grows with the number of new documents. Without a bridge the error
	// is ErrNotFitted.
	Update bool
	// Progress, if not nil, reports the fit's progress. Only one goroutine calls it at a time.
	Progress func(Progress)
}

// FitReport reports the result of a fit and its gain on held-out queries.
type FitReport struct {
	// Choice compares the fitted bridge with local bridges on separate held-out queries. The better one becomes
	// Default, the new value of Engine.Default.
	Choice    []VariantScore
	Default   string
	Variant   string  // fitted variant
	File      string  // file name in the database's bridges folder
	Seq       uint64  // state of the corpus that was fitted
	Passages  int     // passages that were fitted
	Queries   int     // training queries
	Seconds   float64 // time of the fit
	FinalLoss float64 // training loss at the end
	Current   bool    // the update found nothing new and changed nothing
	// Probes compare nDCG@1 before and after the fit, on held-out queries from the corpus. "part:16" probes are spans
	// of passages that training also used, so they show a larger gain than other texts would.
	Probes []ProbeScore
}

// ProbeScore is the result of one held-out probe of a fit (FitReport.Probes).
type ProbeScore struct {
	Task     string  `json:"task"`          // "keyword" or "part:16"
	Queries  int     `json:"queries"`       // number of queries
	Dense    float64 `json:"dense_ndcg@1"`  // nDCG@1 in [0, 1] of the plain vector
	Modified float64 `json:"fitted_ndcg@1"` // nDCG@1 in [0, 1] with the fitted bridge
}

// VerifyReport reports what Verify found.
type VerifyReport struct {
	Documents   int      // live documents
	Problems    []string // one entry for each problem; empty if the database is sound
	Damaged     bool     // stored data is damaged, which cannot be rebuilt: see package engine/repair
	Vectors     int      // vectors in the index, compared with the stored ones together with their codes
	Unreachable int      // vectors that the graph cannot reach
	Sampled     int      // vectors searched for by themselves
	SelfRecall  float64  // share of those whose search found the nearest vector, with metric cosine the vector itself; 1 if none was sampled
	// Random samples were recomputed: SumsRecounted of Sums sufficient statistics of RLR, and CellsRecounted of Cells
	// of the local bridges.
	SumsRecounted, Sums   int
	CellsRecounted, Cells int
	Unfitted              int // documents that the default bridge has not seen
}

// Stats describes a database.
type Stats struct {
	Dir         string              // folder of the database
	Documents   int                 // live documents
	Chunks      int                 // passages that searches compare; a short document is one chunk
	Waiting     int                 // of these, passages without a vector yet (Document.WordsFirst)
	Seq         uint64              // sequence number of the last commit
	Dim         int                 // length of the vectors
	Index       string              // kind of index in use
	Metric      string              // one of index.Metrics
	Encoder     encoder.Fingerprint // encoder that made the vectors
	Language    string              // language of the texts (Options.Language)
	Kind        string              // how hybrid searches rank: KindCode or KindText (Options.Kind)
	Truncated   int                 // documents with text that no vector covers
	DiskBytes   int64               // size of the files in Dir
	Disk        map[string]int64    // the same by part, and the space that Close frees: see store.DiskParts
	LiveBytes   int64               // records of live documents
	DeadBytes   int64               // records of replaced and deleted documents that the change log still needs
	Reclaimable int64               // about how much Compact frees
	Bridges     []BridgeStats       // fitted bridges
	Default     string              // variant of a text query that names none
	Reranker    string              // name of Options.Reranker, "unnamed" if it has no name; "" without a reranker
	FormatMajor int                 // major version of the file format
	Memory      Memory              // memory by part
	MaxMemory   int64               // bound of Memory without Vectors, in bytes: Options.MaxMemoryMiB less the store's budget; 0 for no bound
	Foregone    []string            // parts left out because of MaxMemory: "graph", "local bridges"
	Maintenance Maintenance         // background work
	Reembedding bool                // Reembed is running, or was interrupted and can continue
	TokenStates TokenStats          // token states
	Problems    problems.Summary    // failures, stale files and warnings of indexed files
	Note        string              // in which language most text is, if the model does not read it or its words have the stems of another, and the remedy; else ""
}

// TokenStats describes the token states of a database.
type TokenStats struct {
	Mode   string `json:"mode"`   // mode for new documents: TokenStatesOff, TokenStatesAuto or TokenStatesOn
	Chunks int    `json:"chunks"` // chunks with token states
	Bases  int    `json:"bases"`  // bases of the codes
	Bytes  int64  `json:"bytes"`  // size of the codes in the store
	Note   string `json:"note"`   // why new documents get no token states although Mode asks for them; "" otherwise
}

// Memory is the memory of an open database, in bytes, including mapped files and without the store's caches.
// Options.MaxMemoryMiB bounds all fields except Vectors.
type Memory struct {
	Vectors int64 `json:"vectors"` // float32 vectors
	Codes   int64 `json:"codes"`   // int8 codes of the vectors
	Graph   int64 `json:"graph"`   // links of an approximate index, and id tables
	Words   int64 `json:"words"`   // inverted index
	Columns int64 `json:"columns"` // metadata
	RLR     int64 `json:"rlr"`     // sufficient statistics and factor of RLR
	Local   int64 `json:"local"`   // local bridges; 0 without them
	Tokens  int64 `json:"tokens"`  // list of the chunks with token states, and the most that is cached of their codes; 0 without them
}

// Parts returns the fields under their names in metrics.
func (m Memory) Parts() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		_ = yield("vectors", m.Vectors) && yield("codes", m.Codes) && yield("graph", m.Graph) && yield("words", m.Words) &&
			yield("columns", m.Columns) && yield("rlr", m.RLR) && yield("local", m.Local) && yield("tokens", m.Tokens)
	}
}

// Maintenance describes the background work.
type Maintenance struct {
	Task        string // current task, such as "factor", "graph", "local bridges" or "save"; "" for none
	Done, Total int    // Total is 0 if it is unknown
	Error       string // error of the last task that failed; Flush retries it
	Stale       int    // passages that RLR's factor does not include in full
	Unindexed   int    // chunks missing from the local bridges, if there are any bridges
}

// BridgeStats describe one fitted bridge.
type BridgeStats struct {
	Variant  string       // variant that the bridge serves
	File     string       // file name in the database's bridges folder
	Seq      uint64       // state of the corpus it was fitted on
	Passages int          // passages it was fitted on
	Unfitted int          // documents added or replaced since
	Probes   []ProbeScore // results of the fit
}

// Filter is a condition on metadata; package filter makes and parses filters.
type Filter = filter.Filter
