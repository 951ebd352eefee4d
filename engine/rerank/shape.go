package rerank

import "encoding/json"

// Shape is the format of a server's requests and responses.
type Shape string

// Known formats.
const (
	// Cohere is the request {"model", "query", "documents", "top_n"} with the response {"results":
	// [{"index", "relevance_score"}]}. It is the format of Cohere, Jina, vLLM, llama.cpp, Infinity,
	// LiteLLM, and lexsem serve.
	Cohere Shape = "cohere"
	// TEI is the request {"query", "texts"} with the response [{"index", "score"}]. It is the format
	// of Text Embeddings Inference. Requests ask for raw scores, and for texts to be truncated at the
	// model's limit.
	TEI Shape = "tei"
)

// shape is one of the formats.
type shape struct {
	batch   int // texts that servers take in a call
	request func(model, query string, texts []string) any
	answer  func() answer
}

// answer is a decoded response.
type answer interface{ scores() []scored }

// scored is a result; missing fields are nil.
type scored struct {
	index *int
	score *float64
}

var cohereShape = shape{
	batch: 1000,
	request: func(model, query string, texts []string) any {
		return cohereRequest{model, query, texts, len(texts)}
	},
	answer: func() answer { return new(cohereAnswer) },
}

type cohereRequest struct {
	Model     string   `json:"model,omitempty"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	TopN      int      `json:"top_n"`
}

type cohereAnswer struct {
	Results []struct {
		Index *int     `json:"index"`
		Score *float64 `json:"relevance_score"`
	} `json:"results"`
}

func (a *cohereAnswer) scores() (out []scored) {
	for _, r := range a.Results {
		out = append(out, scored{r.Index, r.Score})
	}
	return out
}

var teiShape = shape{
	batch: 32,
	request: func(_, query string, texts []string) any {
		return teiRequest{query, texts, true, true}
	},
	answer: func() answer { return new(teiAnswer) },
}

type teiRequest struct {
	Query    string   `json:"query"`
	Texts    []string `json:"texts"`
	Raw      bool     `json:"raw_scores"`
	Truncate bool     `json:"truncate"`
}

type teiAnswer []struct {
	Index *int     `json:"index"`
	Score *float64 `json:"score"`
}

func (a *teiAnswer) scores() (out []scored) {
	for _, r := range *a {
		out = append(out, scored{r.Index, r.Score})
	}
	return out
}

// refusal reads the body of an error: Cohere uses message, Jina and Infinity detail, TEI
// error, others, like OpenAI, an error with a message.
func refusal(body []byte) (kind, reason string) {
	var e map[string]json.RawMessage
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	for _, name := range []string{"message", "detail", "error"} {
		var said string
		if json.Unmarshal(e[name], &said) == nil && said != "" {
			return "", said
		}
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(e[name], &inner) == nil && inner.Message != "" {
			return "", inner.Message
		}
	}
	return "", ""
}
