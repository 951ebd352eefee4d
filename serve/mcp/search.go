package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/answer"
	"github.com/lexsem/lexsem/internal/metadata"
)

// Limits of an answer, in hits and bytes of text.
const (
	maxQuery    = engine.MaxQuery // bytes of a query
	maxHits     = 100
	maxOffset   = engine.MaxK - maxHits - 1
	hitText     = 1_500
	maxHitText  = 20_000
	budget      = 1_500 // tokens of an answer
	minBudget   = 200
	maxBudget   = 100_000
	answerText  = 256 << 10 // of all hits together
	maxTitle    = 300
	maxMetadata = 4 << 10 // of one hit, as JSON
)

type searchArgs struct {
	Query    string   `json:"query,omitempty" jsonschema:"what to find: a question or statement in plain language, or exact words, names and codes; with few words, operators: \"exact phrase\", +word, -word, prefix*, title:word; optional with like"`
	Like     []string `json:"like,omitempty" jsonschema:"ids of documents that the hits are to resemble, or id:line for the passage at a line of the document's text"`
	Unlike   []string `json:"unlike,omitempty" jsonschema:"ids of documents that the hits are not to resemble; only with like"`
	Plain    bool     `json:"plain,omitempty" jsonschema:"true: the query has no operators"`
	K        *int     `json:"k,omitempty" jsonschema:"number of hits"`
	Offset   int      `json:"offset,omitempty" jsonschema:"number of hits to skip; next_offset of the previous answer continues after it"`
	Mode     string   `json:"mode,omitempty" jsonschema:"auto is hybrid; hybrid: meaning and words; dense: only meaning; lexical: only words (BM25)"`
	Variant  string   `json:"variant,omitempty" jsonschema:"modulation of the query vector by the query's words: none, rlr, rlr-local, slr or rlr+slr; by default the best available"`
	Filter   string   `json:"filter,omitempty" jsonschema:"condition on metadata"`
	MinScore float32  `json:"min_score,omitempty" jsonschema:"leaves out hits with a lower score; 0 leaves out none"`
	PerChunk bool     `json:"per_chunk,omitempty" jsonschema:"true: each passage of a long document is a separate hit; false: a document is one hit, by its best passage"`
	Exact    bool     `json:"exact,omitempty" jsonschema:"true: words are searched for as they are typed; false: mistyped words are also searched for as repaired"`
	Places   bool     `json:"places,omitempty" jsonschema:"true: finds every document whose text has the query, or its phrase in quotes, byte for byte, with all lines where it stands; like grep, without ranking"`
	Boost    string   `json:"boost,omitempty" jsonschema:"raises or lowers scores by metadata: recency(time, 30d) for a timestamp, 1 now and half after 30 days; field(stars, 100) for a number, half at 100; weight*boost has a weight other than 0.2; + and - join several"`
	Sort     string   `json:"sort,omitempty" jsonschema:"orders the hits by a field of metadata instead of their scores, such as time desc; use min_score or mode lexical to leave out what does not match"`
	GroupBy  string   `json:"group_by,omitempty" jsonschema:"field of metadata; each of its values gets at most per_group hits"`
	PerGroup int      `json:"per_group,omitempty" jsonschema:"most hits of each value of group_by; default 1"`
	MaxText  *int     `json:"max_text,omitempty" jsonschema:"most bytes of text per hit, whatever budget is; get reads the rest"`
	Budget   *int     `json:"budget,omitempty" jsonschema:"tokens of the whole answer, about; hits share them"`
	form
}

type searchHit struct {
	Rank        int            `json:"rank" jsonschema:"rank, from 1"`
	ID          string         `json:"id" jsonschema:"id of the document, for get and explain"`
	Path        string         `json:"path,omitempty" jsonschema:"file from which the document came"`
	Symbol      string         `json:"symbol,omitempty" jsonschema:"function or type of source code in which the passage lies; of other files the page, slide, sheet and row, or the headings above"`
	Lines       []int          `json:"lines,omitempty" jsonschema:"first and last line of the passage in that file, or in the document's text, from 1"`
	Shown       []int          `json:"-"` // lines of text
	Score       float32        `json:"score" jsonschema:"score that ranks hits; higher is better"`
	Probability float32        `json:"probability,omitempty" jsonschema:"estimate that the passage is relevant, from 0 to 1; below 0.1 probably not; absent with models other than the default"`
	Rerank      *float64       `json:"rerank,omitempty" jsonschema:"score of the server's reranker, on its own scale; hits that have it come first, in its order"`
	Cosine      float32        `json:"cosine" jsonschema:"similarity in meaning, from -1 to 1; 0 in mode lexical"`
	Presence    float32        `json:"presence" jsonschema:"term recall: share of the query's words, by weight, that the passage has, from 0 to 1; 0 in mode dense"`
	Title       string         `json:"title,omitempty"`
	BestLines   []int          `json:"best_lines,omitempty" jsonschema:"first and last line of the part of the passage that answers best; counted as in lines"`
	Text        string         `json:"text" jsonschema:"the passage, or up to max_text bytes of it around the part that answers best"`
	TextStart   int            `json:"text_start" jsonschema:"offset of text in the document's text, in bytes"`
	LeftOut     int            `json:"left_out,omitempty" jsonschema:"number of bytes of the passage that are not in text"`
	Chunk       int            `json:"chunk" jsonschema:"number of the passage in the document, from 0"`
	Chunks      int            `json:"chunks" jsonschema:"number of passages of the document"`
	Start       int            `json:"start" jsonschema:"the passage is bytes start to end of the document's text; use start as offset of get"`
	End         int            `json:"end"`
	Places      []placeLine    `json:"places,omitempty" jsonschema:"lines that have what a query for places looks for"`
	MorePlaces  int            `json:"places_left_out,omitempty" jsonschema:"number of further lines; a larger budget shows them"`
	Stale       string         `json:"stale,omitempty" jsonschema:"changed: the file is another since it was stored; gone: it is not there"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	MoreBytes   int            `json:"metadata_left_out,omitempty" jsonschema:"number of bytes of metadata that are left out; get shows them"`
	Media       string         `json:"media,omitempty" jsonschema:"media type of an image, which has no text; get shows the image"`
}

type searchResult struct {
	Mode       string      `json:"mode" jsonschema:"the mode that was used"`
	Variant    string      `json:"variant" jsonschema:"the modulation that was used"`
	For        string      `json:"for,omitempty" jsonschema:"the query with its mistyped words repaired, which was searched for too; exact switches this off"`
	Documents  int         `json:"documents" jsonschema:"number of stored documents"`
	Matching   int         `json:"matching" jsonschema:"number of documents that match the filter"`
	Required   []string    `json:"required,omitempty" jsonschema:"what the query's operators required of a document"`
	Excluded   []string    `json:"excluded,omitempty" jsonschema:"what the query's operators excluded"`
	Unmet      []string    `json:"unmet,omitempty" jsonschema:"phrases in quotes that no document has; they were not required"`
	Waiting    int         `json:"waiting,omitempty" jsonschema:"number of passages that only words find yet"`
	Passages   int         `json:"passages,omitempty" jsonschema:"number of passages, if some are waiting"`
	Hits       []searchHit `json:"hits" jsonschema:"best first"`
	NextOffset int         `json:"next_offset,omitempty" jsonschema:"offset of the next hits; absent if there are no more"`
	Unlikely   bool        `json:"unlikely,omitempty" jsonschema:"true: what was asked is probably not here, as no hit is likely to be relevant"`
	Meaning    string      `json:"meaning" jsonschema:"what the scores of this answer mean"`

	MorePassages bool `json:"more_passages,omitempty" jsonschema:"true: there are no more documents, and per_chunk shows more passages of these"`
}

var modes = []string{engine.ModeAuto, engine.ModeHybrid, engine.ModeDense, engine.ModeLexical}

var wayShape = shape{
	"query": lengths(1, maxQuery), // without like
	"mode":  oneOf(modes...),
}

var searchTool = newTool[searchArgs](sdk.Tool{
	Name:  "search",
	Title: "Search passages",
	Description: "Finds the passages that answer a query best, by meaning and exact words together. " +
		"Use it first; if the hits do not answer the question, search again with other words. " +
		"A hit has its place (path:from-to of a file, or the document's id), in source code the function or type around it, its score, and the lines that answer; " +
		"words is the share of the query's words, by weight, that the passage has. " +
		"filter and min_score narrow the search; offset continues it; a larger budget shows more of each hit; get reads all, from a line on if it is given one.",
	Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
}, shape{
	"query": wayShape["query"], "mode": wayShape["mode"],
	"k": between(1, maxHits, 10), "offset": between(0, maxOffset, 0),
	"max_text": bounds(0, maxHitText), "budget": between(minBudget, maxBudget, budget),
	"filter": func(s *jsonschema.Schema) { s.Description += "; " + filterHelp },
})

func (s *Server) search(ctx context.Context, in searchArgs) (string, searchResult, error) {
	k, room, tokens := or(in.K, 10), or(in.MaxText, hitText), or(in.Budget, budget)
	if in.Places && in.K == nil {
		k = placesPage
	}
	q, err := query(in.Query, in.Like, in.Mode, in.Variant, in.Filter)
	q.Unlike = in.Unlike
	for _, e := range []error{err,
		inRange("k", k, 1, maxHits),
		inRange("offset", in.Offset, 0, maxOffset),
		inRange("max_text", room, 0, maxHitText),
		inRange("budget", tokens, minBudget, maxBudget),
	} {
		if e != nil {
			return "", searchResult{}, e
		}
	}
	q.PerChunk, q.Plain = in.PerChunk, in.Plain
	q.Offset, q.K = in.Offset, k+1 // one more tells whether there is a next page
	q.MinScore = in.MinScore
	q.Spans, q.Exact, q.Places = !in.Places, in.Exact, in.Places
	q.Boost, q.Sort, q.GroupBy, q.PerGroup = in.Boost, in.Sort, in.GroupBy, in.PerGroup
	res, err := s.db.Search(ctx, q)
	last := false // of the pages that there can be
	if in.Offset > 0 && errors.Is(err, engine.ErrInvalid) {
		q.K, last = k, true
		res, err = s.db.Search(ctx, q)
	}
	if err != nil {
		return "", searchResult{}, err
	}
	out := searchResult{Mode: res.Trace.Mode, Variant: res.Trace.Variant, For: res.For, Documents: res.Trace.Documents, Matching: res.Trace.Filtered,
		Required: res.Trace.Required, Excluded: res.Trace.Excluded, Unmet: res.Trace.Unmet, Waiting: res.Trace.Waiting, Passages: res.Trace.Passages,
		Hits: []searchHit{}, Unlikely: answer.Unlikely(res.Hits), Meaning: meaning(res.Trace), MorePassages: answer.MorePassages(q, res.Hits)}
	left := answerText
	shown := res.Hits[:min(k, len(res.Hits))]
	if len(res.Hits) > k {
		out.NextOffset = in.Offset + k
	}
	if in.MaxText != nil && in.Budget == nil {
		tokens = maxBudget
	}
	tokens -= frameTokens
	for i, h := range shown {
		if in.Places {
			head := headTokens + tokensOf(h.ID)
			if i > 0 && tokens < 2*head { // the next page begins here
				out.NextOffset = in.Offset + i
				break
			}
			lines, more, n := s.placesOf(h, tokens/(len(shown)-i)-head)
			hit := s.hitOf(h, 0)
			hit.Places, hit.MorePlaces = lines, more
			tokens -= head + n
			out.Hits = append(out.Hits, hit)
			continue
		}
		hit := s.hitOf(h, min(room, left, roomOf(h, tokens/(len(shown)-i)-headTokens-tokensOf(h.ID+h.Symbol))))
		left -= len(hit.Text)
		tokens -= headTokens + tokensOf(h.ID+h.Symbol+hit.Text)
		out.Hits = append(out.Hits, hit)
	}
	if last && len(out.Hits) == k {
		out.NextOffset = in.Offset + k // whose refusal says why, and what else to do
	}
	return s.searchText(out, in), out, nil
}

// query checks the arguments that all searches share.
func query(text string, like []string, mode, variant, expr string) (engine.Query, error) {
	switch {
	case strings.TrimSpace(text) == "" && len(like) == 0:
		return engine.Query{}, refuse("query is empty; give some words")
	case len(text) > maxQuery:
		return engine.Query{}, refuse("query has %s; use at most %d", bytesOf(len(text)), maxQuery)
	case !utf8.ValidString(text):
		return engine.Query{}, refuse("query is not UTF-8; send UTF-8 text")
	}
	if mode != "" && !slices.Contains(modes, mode) {
		return engine.Query{}, refuse("mode is %q; use one of %s", clipped(mode, 80), strings.Join(modes, ", "))
	}
	f, err := answer.Filter(expr)
	return engine.Query{Text: text, Like: like, Mode: mode, Variant: variant, Filter: f}, err
}

// told is a hit without data that is useless to people and models: the visual words that serve as an image's
// text.
func told(h engine.Hit) engine.Hit {
	if h.Media != "" {
		h.Text, h.Start, h.End, h.Lines, h.Span, h.SpanLines = "", 0, 0, [2]int{}, [2]int{}, [2]int{}
	}
	return h
}

func (s *Server) hitOf(h engine.Hit, room int) searchHit {
	h = told(h)
	from, to := max(0, h.Span[0]-h.Start), max(0, h.Span[1]-h.Start)
	text, at, left := clipAround(h.Text, from, to, room)
	if file, _ := metadata.OfFile(h.Metadata); file["kind"] == "code" { // which is read by lines
		text, at = wholeLines(h.Text, at, at+len(text), from, to)
		left = len(h.Text) - len(text)
	}
	out := searchHit{Rank: h.Rank, ID: h.ID, Score: h.Score, Probability: h.Probability, Cosine: h.Cosine, Presence: h.Presence,
		Title: clipped(h.Title, maxTitle), Symbol: h.Symbol, Text: text, TextStart: h.Start + at, LeftOut: left, Chunk: h.Chunk, Chunks: h.Chunks, Start: h.Start, End: h.End, Media: h.Media}
	if h.Reranked {
		out.Rerank = &h.Rerank
	}
	if s.o.Stale != nil {
		out.Stale = s.o.Stale(h.Metadata)
	}
	out.Metadata, out.MoreBytes = lightMetadata(h.Metadata, maxMetadata)
	var lines [2]int
	out.Path, lines = s.placeOf(h)
	if lines[0] > 0 {
		out.Lines = lines[:]
	}
	part := h
	part.Lines[0] += strings.Count(h.Text[:at], "\n")
	part.Lines[1] = part.Lines[0] + strings.Count(text[:max(0, len(text)-1)], "\n")
	if _, lines := s.placeOf(part); lines[0] > 0 {
		out.Shown = lines[:]
	}
	if h.Span[1] > 0 {
		best := h
		best.Lines = h.SpanLines
		if _, lines := s.placeOf(best); lines[0] > 0 {
			out.BestLines = lines[:]
		}
	}
	return out
}

// placeOf is the place of a hit: lines of its file, or of its document's text if it came from no file.
func (s *Server) placeOf(h engine.Hit) (path string, lines [2]int) {
	if s.o.Place != nil {
		if path, lines, ok := s.o.Place(h); ok {
			return path, lines
		}
	}
	return "", h.Lines
}

// lightMetadata returns metadata if they take at most most bytes of JSON, else nil and
// their number.
func lightMetadata(m map[string]any, most int) (map[string]any, int) {
	if len(m) == 0 {
		return nil, 0
	}
	data, err := json.Marshal(m)
	if err != nil || len(data) > most {
		return nil, len(data)
	}
	return m, 0
}

// metadataText is metadata as one line of JSON, "" if there are none.
func metadataText(m map[string]any) string {
	if len(m) == 0 {
		return ""
	}
	data, err := json.Marshal(m)
	if err != nil { // lightMetadata leaves such out
		return ""
	}
	return string(data)
}

// meaning describes the scores of an answer.
func meaning(t engine.Trace) string {
	switch {
	case t.Mode == engine.ModeLexical:
		return "score is BM25: higher means more of the query's words; not comparable between queries"
	case t.Mode == engine.ModeDense && t.Metric == "dot":
		return "score is the dot product of the vectors of query and passage: higher is closer in meaning; the scale is not fixed"
	case t.Mode == engine.ModeDense && t.Metric == "l2":
		return "score is the negative squared distance of the vectors of query and passage: closer to 0 is closer in meaning"
	case t.Mode == engine.ModeDense:
		return "score is similarity in meaning (a cosine, at most about 1); 0 is unrelated"
	case t.Fusion == fusion.RRF:
		return "score adds the reciprocal ranks by meaning and by words: it gives an order, not how well a passage fits; presence is the share of the query's words, by weight, that the passage has"
	}
	return "score adds similarity in meaning (cosine) and the words found; presence is the share of the query's words, by weight, that the passage has; a hit with low cosine and low presence is probably irrelevant"
}

func (s *Server) searchText(r searchResult, in searchArgs) string {
	var b strings.Builder
	if r.For != "" {
		fmt.Fprintf(&b, "for: %s\n\n", oneLine(r.For))
	}
	if r.Waiting > 0 {
		fmt.Fprintf(&b, "%d of %d passages are found by meaning so far, all by words\n\n", r.Passages-r.Waiting, r.Passages)
	}
	if len(r.Hits) == 0 {
		b.WriteString("No hits: ")
		switch {
		case r.Documents == 0:
			b.WriteString("the database is empty" + s.toFill() + ".")
		case in.Places:
			b.WriteString("no document has it byte for byte" + narrowed(in) + "; search without places finds what is near.")
		case r.Matching == 0:
			b.WriteString("no document matches the filter; use list to see documents and their metadata.")
		case in.Offset > 0:
			b.WriteString("there are no more hits after this offset.")
		case in.MinScore != 0:
			b.WriteString("no hit reaches min_score; use a lower value.")
		default:
			b.WriteString("no document contains a word of the query; try other words or mode dense.")
		}
		return b.String()
	}
	if r.Unlikely {
		b.WriteString("Probably not here: no hit is likely to be relevant.\n\n")
	}
	below := rootOf(r.Hits)
	if below != "" {
		b.WriteString("below " + oneLine(below) + "\n\n")
	}
	for _, h := range r.Hits {
		s.writeHit(&b, h, r.Mode, below)
	}
	if in.Places {
		fmt.Fprintf(&b, "%d of %d documents have it", r.Matching, r.Documents)
	} else {
		fmt.Fprintf(&b, "%d of %d documents, mode %s, variant %s", r.Matching, r.Documents, r.Mode, r.Variant)
	}
	if r.NextOffset > 0 {
		fmt.Fprintf(&b, "; more with offset=%d", r.NextOffset)
	}
	if r.MorePassages {
		b.WriteString("; per_chunk=true shows more passages of them")
	}
	return b.String()
}

// narrowed says that a filter was set.
func narrowed(in searchArgs) string {
	if in.Filter == "" {
		return ""
	}
	return ", of those that match the filter"
}

// writeHit writes a hit for models: its place and score, and what tells something of its title, metadata and text.
func (s *Server) writeHit(b *strings.Builder, h searchHit, mode, below string) {
	where := h.ID
	if h.Path != "" && below == "" {
		where = h.Path
	}
	lines := h.Shown
	fmt.Fprintf(b, "%d. %s", h.Rank, oneLine(where))
	switch {
	case len(h.Places) > 0:
	case len(lines) < 2 || h.Path == "" && h.Chunks < 2 && h.LeftOut == 0:
	case h.Path != "":
		fmt.Fprintf(b, ":%d-%d", lines[0], lines[1])
	default:
		fmt.Fprintf(b, "  lines %d-%d", lines[0], lines[1])
	}
	if h.Path != "" && below == "" && h.Path != h.ID {
		fmt.Fprintf(b, "  id %q", h.ID)
	}
	if h.Stale != "" {
		b.WriteString("  [" + map[string]string{"changed": "the file has changed since", "gone": "the file is gone"}[h.Stale] + "]")
	}
	if len(h.Places) > 0 {
		b.WriteString("\n")
		writePlaces(b, h)
		return
	}
	if h.Symbol != "" {
		b.WriteString("  " + oneLine(h.Symbol))
	}
	fmt.Fprintf(b, "  score %.3f", h.Score)
	if mode == engine.ModeHybrid {
		fmt.Fprintf(b, ", words %.0f %%", 100*h.Presence)
	}
	if h.Rerank != nil {
		fmt.Fprintf(b, "  rerank %.3f", *h.Rerank)
	}
	b.WriteString("\n")
	if h.Title != "" && h.Title != h.ID && !strings.HasSuffix(h.Path, h.Title) {
		b.WriteString(indented(oneLine(h.Title)) + "\n")
	}
	if m := metadataText(ownMetadata(h)); m != "" {
		b.WriteString(indented(m) + "\n")
	}
	inFile := h.Path != "" && len(h.Lines) == 2
	if before := h.TextStart - h.Start; before > 0 && !inFile {
		fmt.Fprintf(b, "  [%s before: get id=%q offset=%d]\n", bytesOf(before), h.ID, h.Start)
	}
	if h.Media != "" {
		fmt.Fprintf(b, "  [an image: get id=%q shows it]\n", h.ID)
	}
	if text := strings.Trim(h.Text, "\r\n"); strings.TrimSpace(text) != "" {
		b.WriteString(indented(strings.TrimRight(text, " \t")) + "\n")
	}
	if end := h.TextStart + len(h.Text); end < h.End && !inFile {
		fmt.Fprintf(b, "  [%s more: get id=%q offset=%d]\n", bytesOf(h.End-end), h.ID, end)
	}
	b.WriteString("\n")
}

// toFill tells clients that may store documents how to fill an empty database.
func (s *Server) toFill() string {
	if s.o.ReadOnly {
		return ""
	}
	return "; " + indexTool().Name + " stores documents"
}

// or is the value at p, or value if p is nil.
func or(p *int, value int) int {
	if p == nil {
		return value
	}
	return *p
}
