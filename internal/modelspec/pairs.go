package modelspec

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
)

// PairTokenizer is a Tokenizer that knows how its model reads two texts together.
type PairTokenizer interface {
	encoder.Tokenizer
	// PairFrame returns the special tokens around the two texts. The error wraps ErrTokenizer if the
	// tokenizer's description does not say, or cannot be followed.
	PairFrame() (PairFrame, error)
}

// PairFrame holds the special tokens around two texts, and the types of all tokens.
type PairFrame struct {
	Before, Between, Behind []TypedToken
	First, Second           int32 // types of the tokens of the two texts
	// Head and Tail are the numbers of special tokens that Tokenize puts before and after a single
	// text.
	Head, Tail int
}

// TypedToken is a special token and its type.
type TypedToken struct{ ID, Type int32 }

// Len returns the number of special tokens.
func (f PairFrame) Len() int { return len(f.Before) + len(f.Between) + len(f.Behind) }

// ParsePair reads the template for two texts in a tokenizer.json: special tokens around A and B, in
// this order. It looks up their ids by name. The caller sets Head and Tail. Errors wrap ErrTokenizer.
func ParsePair(raw json.RawMessage, ids func(name string) []int32) (PairFrame, error) {
	refuse := func(what string) (PairFrame, error) {
		return PairFrame{}, fmt.Errorf("%w: post_processor.pair %s; use another model", encoder.ErrTokenizer, what)
	}
	type part struct {
		ID     string
		TypeID int32 `json:"type_id"`
	}
	var parts []struct{ SpecialToken, Sequence *part }
	if len(raw) == 0 || string(raw) == "null" {
		return refuse("is missing, which tells how two texts are joined")
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return refuse(fmt.Sprintf("cannot be read: %v", err))
	}
	if len(parts) > maxPairParts {
		return refuse(fmt.Sprintf("has %d parts", len(parts)))
	}
	var f PairFrame
	sides, side := [3]*[]TypedToken{&f.Before, &f.Between, &f.Behind}, 0
	for _, p := range parts {
		for _, one := range []*part{p.SpecialToken, p.Sequence} {
			if one != nil && (one.TypeID < 0 || one.TypeID > maxPairTypes) {
				return refuse(fmt.Sprintf("has the type %d", one.TypeID))
			}
		}
		switch {
		case p.SpecialToken != nil && p.Sequence == nil:
			list := ids(p.SpecialToken.ID)
			if len(list) == 0 {
				return refuse(fmt.Sprintf("has %.100q, which has no id", p.SpecialToken.ID))
			}
			for _, id := range list {
				*sides[side] = append(*sides[side], TypedToken{id, p.SpecialToken.TypeID})
			}
		case p.Sequence != nil && p.SpecialToken == nil && side == 0 && p.Sequence.ID == "A":
			side, f.First = 1, p.Sequence.TypeID
		case p.Sequence != nil && p.SpecialToken == nil && side == 1 && p.Sequence.ID == "B":
			side, f.Second = 2, p.Sequence.TypeID
		default:
			return refuse("is no frame around two texts")
		}
	}
	if side != 2 || f.Len() > maxPairParts {
		return refuse("is no frame around two texts")
	}
	return f, nil
}

// Bounds of a template.
const maxPairParts, maxPairTypes = 64, 1 << 10

// Pairs builds the tokens that a cross-encoder reads from two texts. It is immutable and safe for
// concurrent use.
type Pairs struct {
	tokenizer encoder.Tokenizer
	frame     PairFrame
	max       int
}

// NewPairs returns the Pairs of a tokenizer, with at most max tokens a pair. An error wraps
// ErrTokenizer.
func NewPairs(t encoder.Tokenizer, max int) (*Pairs, error) {
	p, ok := t.(PairTokenizer)
	if !ok {
		return nil, fmt.Errorf("%w: it does not tell how two texts are joined; use another model", encoder.ErrTokenizer)
	}
	frame, err := p.PairFrame()
	if err != nil {
		return nil, err
	}
	if max <= frame.Len() {
		return nil, fmt.Errorf("%w: at most %d tokens, and %d of a pair are special; use a greater limit", encoder.ErrTokenizer, max, frame.Len())
	}
	return &Pairs{t, frame, max}, nil
}

// Types returns the number of token types.
func (p *Pairs) Types() int {
	most := max(p.frame.First, p.frame.Second)
	for _, part := range [][]TypedToken{p.frame.Before, p.frame.Between, p.frame.Behind} {
		for _, t := range part {
			most = max(most, t.Type)
		}
	}
	return int(most) + 1
}

// Part holds the tokens of one text, to be joined with another.
type Part struct {
	ids    []int32 // those that may be read
	length int     // of all
}

// Part returns the Part of a text.
func (p *Pairs) Part(text string) Part {
	t := p.tokenizer.Tokenize(text, p.frame.Head+p.frame.Tail+p.max)
	ids := t.IDs[p.frame.Head : len(t.IDs)-p.frame.Tail]
	return Part{ids, len(ids) + t.Truncated}
}

// Join returns the pair of two parts. If it is too long, the longer part is cut to the length of the
// other, then both are cut alike.
func (p *Pairs) Join(first, second Part) (ids, types []int32) {
	n, m := cut(first.length, second.length, p.max-p.frame.Len())
	size := n + m + p.frame.Len()
	ids, types = make([]int32, 0, size), make([]int32, 0, size)
	special := func(part []TypedToken) {
		for _, t := range part {
			ids, types = append(ids, t.ID), append(types, t.Type)
		}
	}
	text := func(part []int32, kind int32) {
		ids = append(ids, part...)
		for range part {
			types = append(types, kind)
		}
	}
	special(p.frame.Before)
	text(first.ids[:n], p.frame.First)
	special(p.frame.Between)
	text(second.ids[:m], p.frame.Second)
	special(p.frame.Behind)
	return ids, types
}

// pairsWindow is the number of pairs that are scored together, which bounds the memory of Score.
const pairsWindow = 4096

// Score joins query with each text and calls run to score the pairs, at most 4,096 at a time. types[i]
// are the token types of pairs[i]. Errors: those of run and ctx.
func (p *Pairs) Score(ctx context.Context, query string, texts []string, run func(ctx context.Context, scores []float64, pairs []encoder.Output, types [][]int32) error) ([]float64, error) {
	first := p.Part(query)
	scores := make([]float64, len(texts))
	for start := 0; start < len(texts); start += pairsWindow {
		end := min(start+pairsWindow, len(texts))
		pairs := make([]encoder.Output, end-start)
		types := make([][]int32, end-start)
		for i := range pairs {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			pairs[i].Tokens.IDs, types[i] = p.Join(first, p.Part(texts[start+i]))
		}
		if err := run(ctx, scores[start:end], pairs, types); err != nil {
			return nil, err
		}
	}
	return scores, ctx.Err()
}

// cut returns how many of n and m tokens are kept if at most most fit together, like longest_first of
// the reference library.
func cut(n, m, most int) (int, int) {
	if n+m <= most {
		return n, m
	}
	short := min(n, m)
	long := max(short, most-short)
	if short+long > most {
		short = most / 2
		long = short + most%2
	}
	if n > m {
		return long, short
	}
	return short, long
}

// assumedPairTokens is the limit of a cross-encoder whose folder does not specify one.
const assumedPairTokens = 512

// DescribeCross reads the description of the cross-encoder in dir. Its name is the name of the folder.
// The maximum number of tokens a pair is max_tokens in lexsem-model.json, else model_max_length in
// tokenizer_config.json, else 512; at most what max_position_embeddings allows. Errors wrap ErrSpec.
func DescribeCross(dir string) (name string, maxTokens int, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", 0, err
	}
	d := &description{dir: dir, spec: Spec{Model: filepath.Base(abs), MaxTokens: assumedPairTokens}}
	var own struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
	}
	if found, err := d.read(SpecFile, &own); err != nil {
		return "", 0, err
	} else if found && (own.MaxTokens < 3 || own.MaxTokens > MaxTokens) {
		return "", 0, d.wrong("%s: max_tokens is %d; use 3 to %d", SpecFile, own.MaxTokens, MaxTokens)
	} else if found {
		if own.Model != "" {
			d.spec.Model = own.Model
		}
		return d.spec.Model, own.MaxTokens, nil
	}
	if err := d.length(); err != nil {
		return "", 0, err
	}
	return d.spec.Model, d.spec.MaxTokens, nil
}
