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

// maxTokens is how many tokens an explanation lists: those that changed the score most.
const maxTokens = 24

// maxTies is how many words of a query are listed with their matches: the first ones.
const maxTies = 64

type explainArgs struct {
	ID      string   `json:"id" jsonschema:"id of the document"`
	Query   string   `json:"query,omitempty" jsonschema:"the query of the search; optional with like"`
	Like    []string `json:"like,omitempty" jsonschema:"like of the search"`
	Unlike  []string `json:"unlike,omitempty" jsonschema:"unlike of the search"`
	Mode    string   `json:"mode,omitempty" jsonschema:"the mode of the search"`
	Variant string   `json:"variant,omitempty" jsonschema:"the variant of the search"`
	Filter  string   `json:"filter,omitempty" jsonschema:"the filter of the search"`
	Plain   bool     `json:"plain,omitempty" jsonschema:"plain of the search"`
	Exact   bool     `json:"exact,omitempty" jsonschema:"exact of the search"`
	Boost   string   `json:"boost,omitempty" jsonschema:"boost of the search"`
	form
}

type explainTerm struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}

type explainWord struct {
	Word  string  `json:"word" jsonschema:"the word after analysis: lower-cased and stemmed"`
	Count int     `json:"count" jsonschema:"how often the passage has it"`
	Texts int     `json:"texts" jsonschema:"number of passages in the database that have it"`
	Share float64 `json:"share" jsonschema:"its weight in the query, from 0 to 1; all weights add up to 1"`
	BM25  float64 `json:"bm25" jsonschema:"its part of BM25"`
}

type explainToken struct {
	Token string  `json:"token"`
	Adds  float64 `json:"adds" jsonschema:"its part of the change of the score by modulation"`
}

type explainTie struct {
	Word   string  `json:"word" jsonschema:"word of the query"`
	Match  string  `json:"match" jsonschema:"the word of the passage that matches it"`
	Cosine float64 `json:"cosine" jsonschema:"similarity of the two words, at most 1"`
}

type explainResult struct {
	ID          string         `json:"id"`
	Mode        string         `json:"mode"`
	Variant     string         `json:"variant"`
	For         string         `json:"for,omitempty" jsonschema:"the query with its mistyped words repaired, which was searched for too"`
	Rank        int            `json:"rank" jsonschema:"rank among the hits, from 1; 0 if it is not among the candidates"`
	Score       float32        `json:"score"`
	Probability float32        `json:"probability,omitempty" jsonschema:"estimate that the passage is relevant, from 0 to 1; absent if not known"`
	Rerank      *float64       `json:"rerank,omitempty" jsonschema:"score of the server's reranker; it decides the rank of hits that have it"`
	Cosine      float32        `json:"cosine" jsonschema:"cosine with the plain query vector"`
	Modulated   float32        `json:"modulated" jsonschema:"cosine with the query vector after modulation by the words of the query"`
	Terms       []explainTerm  `json:"terms" jsonschema:"parts of the score: the sum of weight times value"`
	Words       []explainWord  `json:"words" jsonschema:"the query's words"`
	Pairs       []string       `json:"pairs" jsonschema:"adjacent words of the query that are adjacent in the passage"`
	Ties        []explainTie   `json:"ties,omitempty" jsonschema:"token alignment: which word of the passage matches each word of the query; only if the database keeps token states"`
	Tokens      []explainToken `json:"tokens" jsonschema:"tokens of the query that changed its vector, largest change of the score first"`
	Chunk       int            `json:"chunk" jsonschema:"number of the explained passage, from 0"`
	Chunks      int            `json:"chunks"`
	Text        string         `json:"text" jsonschema:"the passage, or the part of it that answers best"`
	LeftOut     int            `json:"left_out,omitempty" jsonschema:"number of bytes of the passage that are not in text"`
}

var explainTool = newTool[explainArgs](sdk.Tool{
	Name:  "explain",
	Title: "Explain a hit",
	Description: "Explains the score of a document for a query: the parts of the score, which words of the query its best passage has or lacks, " +
		"and which tokens changed the query vector. Use it if a hit is surprising, or if an expected document is not found.",
	Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
}, shape{"id": lengths(1, engine.MaxID), "query": wayShape["query"], "mode": wayShape["mode"]})

func (s *Server) explain(ctx context.Context, in explainArgs) (string, explainResult, error) {
	q, err := query(in.Query, in.Like, in.Mode, in.Variant, in.Filter)
	if err == nil {
		err = checkID(in.ID)
	}
	if err != nil {
		return "", explainResult{}, err
	}
	q.Unlike = in.Unlike
	q.Spans, q.Plain, q.Exact, q.Boost = true, in.Plain, in.Exact, in.Boost
	x, err := s.db.Explain(ctx, q, in.ID)
	if err != nil {
		return "", explainResult{}, err
	}
	out := explainResult{ID: x.ID, Mode: x.Trace.Mode, Variant: x.Trace.Variant, For: x.For, Rank: x.Rank, Score: x.Score, Probability: x.Probability, Cosine: x.Cosine, Modulated: x.Modulated,
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
	if x.For != "" {
		fmt.Fprintf(&b, "\nfor: %s", oneLine(x.For))
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
	if x.Probability > 0 {
		fmt.Fprintf(&b, "\nrelevant with a probability of about %.2f", x.Probability)
	}
	if x.Mode != engine.ModeLexical {
		fmt.Fprintf(&b, "\ncosine %.4f of the plain query vector", x.Cosine)
		if x.Variant != engine.VariantNone {
			fmt.Fprintf(&b, ", %.4f of the modulated one", x.Modulated)
		}
	}
	if len(x.Words) > 0 {
		b.WriteString("\n\nwords of the query (weight in the query, count in the passage, number of passages in the database):")
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
		b.WriteString("\n\nword of the passage that matches each word of the query, by cosine:")
		for _, t := range x.Ties {
			fmt.Fprintf(&b, "\n  %s  %s  %.2f", oneLine(t.Word), oneLine(t.Match), t.Cosine)
		}
	}
	if len(x.Tokens) > 0 {
		b.WriteString("\n\ntokens and their part of the change of the score by modulation:")
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
