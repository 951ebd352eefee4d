package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/metric"
)

// rerankRequest is the body of Cohere's and Jina's rerank.
type rerankRequest struct {
	Model           string           `json:"model"`
	Query           string           `json:"query"`
	Documents       []rerankDocument `json:"documents"`
	TopN            *int             `json:"top_n"`
	ReturnDocuments bool             `json:"return_documents"`
}

// rerankDocument is a text, or an object with one.
type rerankDocument struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *rerankDocument) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &d.Text) == nil {
		return nil
	}
	type plain rerankDocument
	if err := json.Unmarshal(raw, (*plain)(d)); err != nil {
		return invalid("documents", `a document is neither a text nor an object {"text":…}`)
	}
	return nil
}

type rerankAnswer struct {
	Model   string         `json:"model"`
	Results []rerankResult `json:"results"`
	Usage   usage          `json:"usage"`
}

type rerankResult struct {
	Index     int             `json:"index"`
	Relevance float64         `json:"relevance_score"`
	Cosine    *float64        `json:"cosine,omitempty"` // of the modulated query, in [-1, 1]; the results are in its order
	Document  *rerankDocument `json:"document,omitempty"`
}

// rerankerModel is the name of the server's reranker in requests, whatever its own name is.
const rerankerModel = "reranker"

// rerank orders texts by the server's reranker if it has one and the request names no other
// model, else by the encoder.
func rerank(ctx context.Context, c *call, in *rerankRequest) (rerankAnswer, error) {
	byReranker := c.s.o.Reranker != nil && (in.Model == "" || strings.EqualFold(in.Model, rerankerModel))
	if c.s.o.Encoder == nil && !byReranker {
		return rerankAnswer{}, engine.ErrNoEncoder
	}
	if strings.TrimSpace(in.Query) == "" {
		return rerankAnswer{}, invalid("query", "the query is empty; give some words")
	}
	if in.TopN != nil && *in.TopN < 1 {
		return rerankAnswer{}, invalid("top_n", "top_n is %d; use a positive number, or leave it out for all", *in.TopN)
	}
	texts := make([]string, len(in.Documents))
	for i, d := range in.Documents {
		texts[i] = strings.TrimSpace(d.Title + " " + d.Text)
	}
	if err := c.s.checkTexts("documents", texts); err != nil {
		return rerankAnswer{}, err
	}
	c.sees(in.Query)
	by := rerankByEncoder
	if byReranker {
		by = rerankByReranker
	}
	a, err := by(ctx, c, in, texts)
	if err != nil {
		return rerankAnswer{}, err
	}
	if in.TopN != nil {
		a.Results = a.Results[:min(*in.TopN, len(a.Results))]
	}
	if in.ReturnDocuments {
		for i := range a.Results {
			a.Results[i].Document = &in.Documents[a.Results[i].Index]
		}
	}
	return a, nil
}

// rerankByReranker orders texts by the scores of the server's reranker, whose scale is its
// own.
func rerankByReranker(ctx context.Context, c *call, in *rerankRequest, texts []string) (rerankAnswer, error) {
	scores, err := engine.Rerank(ctx, c.s.o.Reranker, in.Query, texts)
	if err != nil {
		return rerankAnswer{}, err
	}
	a := rerankAnswer{Model: rerankerModel, Results: make([]rerankResult, len(scores))}
	for i, s := range scores {
		a.Results[i] = rerankResult{Index: i, Relevance: s}
	}
	slices.SortStableFunc(a.Results, func(x, y rerankResult) int { return cmp.Compare(y.Relevance, x.Relevance) })
	return a, nil
}

// rerankByEncoder orders texts by the cosine of their vectors with that of the query, which
// this database modulates. Cost: the encoding of all texts.
//
// The relevance score is that cosine rescaled to (cosine − noise) / (1 − noise), and at
// least 0: 0 if a text is no more similar to the query than unrelated texts, 1 if it is
// identical. noise is the mean cosine of the same query vector with those of noiseTexts.
// This makes scores comparable between models whose cosines have different ranges; it is
// not a probability.
func rerankByEncoder(ctx context.Context, c *call, in *rerankRequest, texts []string) (rerankAnswer, error) {
	var none rerankAnswer
	name, variant, err := c.s.model(in.Model)
	if err != nil {
		return none, err
	}
	noise, err := c.s.noise.get(ctx, c)
	if err != nil {
		return none, err
	}
	asked, err := c.encode(ctx, encoder.Query, []string{in.Query})
	if err != nil {
		return none, err
	}
	query, trace, err := c.db.Vector(ctx, engine.Query{Text: in.Query, Vector: asked[0].Dense, Variant: variant, Plain: true})
	if err != nil {
		return none, err
	}
	passages, err := c.encode(ctx, encoder.Passage, texts)
	if err != nil {
		return none, err
	}
	level := 0.0
	for _, v := range noise {
		level += metric.Cosine(query, v) / float64(len(noise))
	}
	level = min(max(level, 0), 0.99)
	a := rerankAnswer{Model: name, Results: make([]rerankResult, len(passages))}
	if trace.Variant != engine.VariantNone {
		a.Model += "+" + trace.Variant
	}
	a.Usage.PromptTokens = len(asked[0].Tokens.IDs)
	for i, p := range passages {
		near := metric.Cosine(query, p.Dense)
		a.Results[i] = rerankResult{Index: i, Cosine: &near, Relevance: max(0, (near-level)/(1-level))}
		a.Usage.PromptTokens += len(p.Tokens.IDs)
	}
	a.Usage.TotalTokens = a.Usage.PromptTokens
	slices.SortStableFunc(a.Results, func(x, y rerankResult) int { return cmp.Compare(*y.Cosine, *x.Cosine) })
	return a, nil
}

// noise holds the passage vectors of noiseTexts, which are encoded at their first use.
type noise struct {
	mu      sync.Mutex
	vectors [][]float32
}

func (n *noise) get(ctx context.Context, c *call) ([][]float32, error) {
	n.mu.Lock()
	vectors := n.vectors
	n.mu.Unlock()
	if vectors != nil { // two that come first encode them twice, and wait for nobody
		return vectors, nil
	}
	out, err := c.encode(ctx, encoder.Passage, noiseTexts[:])
	if err != nil {
		return nil, err
	}
	for _, o := range out {
		vectors = append(vectors, o.Dense)
	}
	n.mu.Lock()
	n.vectors = vectors
	n.mu.Unlock()
	return vectors, nil
}

// noiseTexts are sentences about subjects so different that few queries are related to more
// than one of them.
var noiseTexts = [...]string{
	"The baker lets the dough rest overnight before it goes into the oven.",
	"A lighthouse keeper noted the height of the tide twice a day.",
	"The parliament voted on the budget after a debate of nine hours.",
	"Two goals in the second half decided the match.",
	"Photosynthesis stops when the leaves lose their chlorophyll in autumn.",
	"The orchestra tuned its instruments to the oboe.",
	"Restart the router if the connection is lost.",
	"Her grandmother knitted a scarf of red wool.",
	"Interest rates rose by a quarter of a point in March.",
	"The glacier has retreated by forty metres since it was first surveyed.",
	"A sonnet has fourteen lines.",
	"Tighten the four bolts of the wheel crosswise.",
	"The patient was given antibiotics for ten days.",
	"Medieval monks copied books by hand on parchment.",
	"The train to the coast leaves from platform six.",
	"A compiler turns source code into instructions of a machine.",
	"Bees tell one another where flowers are by a dance.",
	"The tenant must give notice three months before moving out.",
	"Mix one part of cement with three parts of sand.",
	"The comet will not be seen again for two hundred years.",
	"He painted the harbour in shades of blue and grey.",
	"Sharks lose thousands of teeth in a lifetime.",
	"The recipe asks for two eggs and a pinch of salt.",
	"An earthquake was felt in three provinces last night.",
}
