package mcp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
)

// maxTokens is how many tokens an explanation names: those that moved the score most.
const maxTokens = 24

// maxTies is how many words of a query are told with what answers them: the first.
const maxTies = 64

type explainArgs struct {
	ID      string `json:"id" jsonschema:"id of the document"`
	Query   string `json:"query" jsonschema:"the query, as it was searched"`
	Mode    string `json:"mode,omitempty" jsonschema:"the mode of the search"`
	Variant string `json:"variant,omitempty" jsonschema:"the variant of the search"`
	Filter  string `json:"filter,omitempty" jsonschema:"the filter of the search"`
}

type explainTerm struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}

type explainWord struct {
	Word  string  `json:"word" jsonschema:"as it was analysed: lower-cased, without its ending"`
	Count int     `json:"count" jsonschema:"times it stands in the passage"`
	Texts int     `json:"texts" jsonschema:"passages of the database that have it"`
	Share float64 `json:"share" jsonschema:"its weight in the query, from 0 to 1; the weights of all words add up to 1"`
	BM25  float64 `json:"bm25" jsonschema:"what it gives to BM25"`
}

type explainToken struct {
	Token string  `json:"token"`
	Adds  float64 `json:"adds" jsonschema:"what modulation added to the score because of it"`
}

type explainTie struct {
	Word   string  `json:"word" jsonschema:"of the query"`
	Match  string  `json:"match" jsonschema:"the word of the passage that answers it"`
	Cosine float64 `json:"cosine" jsonschema:"how near the two are, up to 1"`
}

type explainResult struct {
	ID        string         `json:"id"`
	Mode      string         `json:"mode"`
	Variant   string         `json:"variant"`
	Rank      int            `json:"rank" jsonschema:"place among the hits, from 1; 0 where it is none of the candidates"`
	Score     float32        `json:"score"`
	Rerank    *float64       `json:"rerank,omitempty" jsonschema:"score of this server's reranker, which decides the rank of hits that have one"`
	Cosine    float32        `json:"cosine" jsonschema:"of the plain query vector"`
	Modulated float32        `json:"modulated" jsonschema:"of the query vector that its words have turned"`
	Terms     []explainTerm  `json:"terms" jsonschema:"weight times value of these add up to the score"`
	Words     []explainWord  `json:"words" jsonschema:"the query's words"`
	Pairs     []string       `json:"pairs" jsonschema:"adjacent words of the query that stand adjacent in the passage"`
	Ties      []explainTie   `json:"ties,omitempty" jsonschema:"which word of the passage answers each word of the query; only where the database keeps token states"`
	Tokens    []explainToken `json:"tokens" jsonschema:"tokens of the query that moved its vector, those that moved the score most first"`
	Chunk     int            `json:"chunk" jsonschema:"the passage that is explained, from 0"`
	Chunks    int            `json:"chunks"`
	Text      string         `json:"text" jsonschema:"that passage, or as much as there is room for of it, with the part that answers best"`
	LeftOut   int            `json:"left_out,omitempty" jsonschema:"bytes of the passage that text lacks"`
}

var explainTool = newTool[explainArgs, explainResult](sdk.Tool{
	Name:  "explain",
	Title: "Explain a hit",
	Description: "Tells why a document scores what it scores for a query: the summands of the score, which words of the query its best passage has and lacks, " +
		"and which tokens moved the query's vector. Use it where a hit surprises, or where a document that should be found is not.",
	Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
}, shape{"id": lengths(1, engine.MaxID), "query": wayShape["query"], "mode": wayShape["mode"]})

func (s *Server) explain(ctx context.Context, in explainArgs) (string, explainResult, error) {
	q, err := query(in.Query, in.Mode, in.Variant, in.Filter)
	if err == nil {
		err = checkID(in.ID)
	}
	if err != nil {
		return "", explainResult{}, err
	}
	q.Spans = true
	x, err := s.db.Explain(ctx, q, in.ID)
	if err != nil {
		return "", explainResult{}, err
	}
	out := explainResult{ID: x.ID, Mode: x.Trace.Mode, Variant: x.Trace.Variant, Rank: x.Rank, Score: x.Score, Cosine: x.Cosine, Modulated: x.Modulated,
		Terms: []explainTerm{}, Words: []explainWord{}, Pairs: []string{}, Tokens: []explainToken{}, Chunk: x.Chunk, Chunks: x.Chunks}
	x.Hit = told(x.Hit)
	out.Text, _, out.LeftOut = clipAround(x.Text, max(0, x.Span[0]-x.Start), max(0, x.Span[1]-x.Start), hitText)
	if x.Reranked {
		out.Rerank = &x.Rerank
	}
	for _, t := range x.Terms {
		out.Terms = append(out.Terms, explainTerm(t))
	}
	for _, w := range x.Words {
		out.Words = append(out.Words, explainWord{w.Term, w.Count, w.Documents, w.Most, w.BM25})
	}
	for _, p := range x.Pairs {
		if p.Found {
			out.Pairs = append(out.Pairs, p.First+" "+p.Second)
		}
	}
	for _, t := range x.Ties {
		out.Ties = append(out.Ties, explainTie{t.Word, t.Match, t.Cosine})
	}
	out.Ties = out.Ties[:min(len(out.Ties), maxTies)]
	if x.Attributed {
		for _, t := range x.Tokens {
			out.Tokens = append(out.Tokens, explainToken{t.Token, t.Shift + t.Scale})
		}
		slices.SortStableFunc(out.Tokens, func(a, b explainToken) int { return cmp.Compare(math.Abs(b.Adds), math.Abs(a.Adds)) })
		out.Tokens = out.Tokens[:min(len(out.Tokens), maxTokens)]
	}
	return explainText(out), out, nil
}

func explainText(x explainResult) string {
	var b strings.Builder
	place := fmt.Sprintf("rank %d", x.Rank)
	if x.Rank == 0 {
		place = "not among the candidates of this search"
	}
	fmt.Fprintf(&b, "%s  %s, mode %s, variant %s", oneLine(x.ID), place, x.Mode, x.Variant)
	if x.Chunks > 1 {
		fmt.Fprintf(&b, ", passage %d of %d", x.Chunk+1, x.Chunks)
	}
	if x.Rerank != nil {
		fmt.Fprintf(&b, "\nrerank %.4f", *x.Rerank)
	}
	fmt.Fprintf(&b, "\nscore %.4f", x.Score)
	for i, t := range x.Terms {
		sign := " +"
		if i == 0 {
			sign = " ="
		}
		fmt.Fprintf(&b, "%s %.4g × %s %.4f", sign, t.Weight, t.Name, t.Value)
	}
	if x.Mode != engine.ModeLexical {
		fmt.Fprintf(&b, "\ncosine %.4f of the plain query vector", x.Cosine)
		if x.Variant != engine.VariantNone {
			fmt.Fprintf(&b, ", %.4f of the one that its words have turned", x.Modulated)
		}
	}
	if len(x.Words) > 0 {
		b.WriteString("\n\nwords of the query (weight in it, times in the passage, passages of the database that have it):")
		for _, w := range x.Words {
			found := fmt.Sprintf("%d times", w.Count)
			if w.Count == 0 {
				found = "missing"
			}
			fmt.Fprintf(&b, "\n  %s  %.0f %%, %s, in %d", oneLine(w.Word), 100*w.Share, found, w.Texts)
		}
	}
	if len(x.Pairs) > 0 {
		b.WriteString("\nadjacent as in the query: " + oneLine(strings.Join(x.Pairs, ", ")))
	}
	if len(x.Ties) > 0 {
		b.WriteString("\n\nwhat in the passage answers each word of the query, by cosine:")
		for _, t := range x.Ties {
			fmt.Fprintf(&b, "\n  %s  %s  %.2f", oneLine(t.Word), oneLine(t.Match), t.Cosine)
		}
	}
	if len(x.Tokens) > 0 {
		b.WriteString("\n\ntokens and what modulation added to the score for them:")
		for _, t := range x.Tokens {
			fmt.Fprintf(&b, "\n  %s  %+.4f", oneLine(t.Token), t.Adds)
		}
	}
	b.WriteString("\n\n" + indented(strings.TrimSpace(x.Text)))
	if x.LeftOut > 0 {
		fmt.Fprintf(&b, "\n  [%s left out]", bytesOf(x.LeftOut))
	}
	return b.String()
}
