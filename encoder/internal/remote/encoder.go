// Package remote is the common part of encoders that call a server (openai, ollama). Start with [New]. The
// Encoder sends texts in batches, several at a time, keeps their order, and stops at a limit of tokens.
// Options.Call makes one call to the server, by package internal/rest.
package remote

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/encoder"
)

// Options describe a model behind a URL.
type Options struct {
	Name                       string // of the model in fingerprints, with that of its kind before it
	Dim                        int
	MaxTokens                  int // that the model reads, 0 where it is not known
	QueryPrefix, PassagePrefix string
	BatchTexts, BatchTokens    int   // most of a call; both positive
	Concurrency                int   // calls at a time
	TokenLimit                 int64 // of all calls together; 0 for none
	// Call returns the vectors of an answer as they are, in the order of the texts, and
	// how many tokens it was charged for, 0 if the server does not tell.
	Call func(ctx context.Context, texts []string) (vectors [][]float32, tokens int64, err error)
	// Refused says whether an error of Call is about its texts, so that other or fewer texts may be taken.
	Refused func(error) bool
}

// Encoder encodes by calls of a limited number of texts, several calls at a time. It has no tokens, and
// its probe vectors are known only after they were requested.
type Encoder struct {
	encoder.Encoder // that of the vectors alone
	o               Options
	calls           chan struct{} // holds a value for each call in progress

	mu      sync.Mutex // guards what follows
	most    int        // texts of a call: fewer than BatchTexts once the server has refused as many
	fits    int        // bytes of a text that was taken when a longer one was not; 0 for none
	used    int64      // tokens, of calls in progress by estimate
	refused refusals   // texts that the server did not take alone
}

// New returns the encoder of o.
func New(o Options) *Encoder {
	e := &Encoder{o: o, calls: make(chan struct{}, o.Concurrency), most: o.BatchTexts}
	e.Encoder = encoder.Func(o.Name, o.Dim, e.embed)
	return e
}

// Encode implements encoder.Encoder.
func (e *Encoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, fmt.Errorf("encoder %s: %w", e.o.Name, err)
	}
	prefix := e.o.PassagePrefix
	if role == encoder.Query {
		prefix = e.o.QueryPrefix
	}
	full := make([]string, len(texts))
	for i, t := range texts {
		if full[i] = prefix + t; full[i] == "" {
			full[i] = " " // servers refuse a text of nothing
		}
	}
	short := &cuts{of: map[int]int{}}
	out, err := e.Encoder.Encode(context.WithValue(ctx, cutsKey{}, short), role, encoder.Texts(full...), need)
	if err == nil {
		for i, tokens := range short.of {
			out[i].Tokens.Truncated = tokens
		}
	}
	return out, err
}

// cuts are estimates of how many tokens of a call's texts were cut off.
type cuts struct {
	mu sync.Mutex
	of map[int]int
}

type cutsKey struct{}

// Fingerprint implements encoder.Encoder.
func (e *Encoder) Fingerprint() encoder.Fingerprint {
	f := e.Encoder.Fingerprint()
	f.QueryPrefix, f.PassagePrefix, f.MaxTokens = e.o.QueryPrefix, e.o.PassagePrefix, e.o.MaxTokens
	return f
}

// Window returns how many texts keep all calls busy.
func (e *Encoder) Window() int { return 4 * e.o.BatchTexts * e.o.Concurrency }

// embed makes the calls for texts and returns their vectors in the same order. The
// first error ends the others.
func (e *Encoder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.known(texts); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	bad := &worst{}
	g, ctx := errgroup.WithContext(ctx)
	for from := 0; from < len(texts); {
		select {
		case e.calls <- struct{}{}:
		case <-ctx.Done():
			if err := g.Wait(); err != nil {
				return nil, err
			}
			return nil, ctx.Err()
		}
		to := e.batch(texts, from)
		at, part := from, texts[from:to]
		g.Go(func() error {
			defer func() { <-e.calls }()
			return bad.note(e.call(ctx, out[at:at+len(part)], part, at))
		})
		from = to
	}
	if err := cmp.Or(g.Wait(), bad.error()); err != nil {
		return nil, err
	}
	return out, nil
}

// batch returns the end of the batch that begins at from.
func (e *Encoder) batch(texts []string, from int) int {
	e.mu.Lock()
	most := e.most
	e.mu.Unlock()
	to, tokens := from, int64(0)
	for to < len(texts) && to-from < most {
		tokens += estimate(texts[to])
		if to > from && tokens > int64(e.o.BatchTokens) {
			break
		}
		to++
	}
	return to
}

// once makes one call.
func (e *Encoder) once(ctx context.Context, out [][]float32, texts []string) error {
	var guess int64
	for _, t := range texts {
		guess += estimate(t)
	}
	if err := e.reserve(guess); err != nil {
		return err
	}
	vectors, tokens, err := e.o.Call(ctx, texts)
	if err != nil {
		tokens = -guess // which were not charged
	} else if tokens > 0 {
		tokens -= guess
	}
	e.mu.Lock()
	e.used += tokens
	e.mu.Unlock()
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%w: %d vectors for %d texts", encoder.ErrContract, len(vectors), len(texts))
	}
	if err == nil {
		copy(out, vectors)
	}
	return err
}

// AnswerLimit bounds the length of an answer with that many vectors of length dim in decimal notation.
func AnswerLimit(vectors, dim int) int64 {
	return int64(vectors)*(int64(dim)*32+1024) + 1<<20
}

// reserve deducts tokens from the remaining limit.
func (e *Encoder) reserve(tokens int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.o.TokenLimit > 0 && e.used+tokens > e.o.TokenLimit {
		return fmt.Errorf("%w: about %d more tokens are needed, and %d of the limit of %d are used; raise it to go on", encoder.ErrSource, tokens, e.used, e.o.TokenLimit)
	}
	e.used += tokens
	return nil
}

// estimate is a rough number of tokens in a text, rather too high.
func estimate(text string) int64 { return int64(len(text))/3 + 1 }
