// Package process encodes by a program of the user's own, in any language. Start with [New], which starts
// the program; tools/process/lexsem_encoder.py is one for models of sentence-transformers, transformers and PyLate.
//
// The program reads one JSON object a line and answers each with one JSON object a line:
//
//	{"op": "info"}  →  {"model": "my-model", "dim": 384, "vocab": 30522, "max_tokens": 256}
//	{"op": "encode", "role": "query", "need": ["dense", "tokens"], "texts": ["…", "…"]}  →
//	    {"vectors": [[…], […]], "tokens": [{"ids": […], "special": […], "offsets": [[0, 3], …], "truncated": 0}, …]}
//	{"op": …}  →  {"error": "what is wrong"}
//
// Only model and dim are required. A program without a tokenizer leaves out vocab and tokens. Offsets count
// characters of the text; special tokens have [0, 0]. If need names "hidden", "states" has one list a text,
// the states of its tokens one after another; if it names "logits", "scores" has one list a text. They are
// requested only if info has "hidden": true or "logits": true. All other output of the program must go to its
// standard error.
//
// The Encoder is safe for concurrent use; calls wait for one another. A program that ends is restarted, once
// for each batch. A batch that takes longer than Options.Timeout ends the program and is an error.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/lexsem/lexsem/encoder"
)

// Options are the options of an encoder. Only Command is required.
type Options struct {
	// Command is the program with its arguments.
	Command []string
	// BatchTexts is the maximum number of texts of one request. 0 means 64.
	BatchTexts int
	// Timeout bounds the start and each request. 0 means ten minutes.
	Timeout time.Duration
	// Stderr, if not nil, gets the standard error of the program.
	Stderr io.Writer
}

// info is the program's description of its model.
type info struct {
	Model         string `json:"model"`
	Dim           int    `json:"dim"`
	Vocab         int    `json:"vocab"`
	MaxTokens     int    `json:"max_tokens"`
	QueryPrefix   string `json:"query_prefix"`
	PassagePrefix string `json:"passage_prefix"`
	Hidden        bool   `json:"hidden"`
	Logits        bool   `json:"logits"`
}

type request struct {
	Op    string   `json:"op"`
	Role  string   `json:"role,omitempty"`
	Need  []string `json:"need,omitempty"`
	Texts []string `json:"texts,omitempty"`
}

type answer struct {
	info
	Error   string      `json:"error"`
	Vectors [][]float32 `json:"vectors"`
	Tokens  []tokens    `json:"tokens"`
	States  [][]float32 `json:"states"`
	Scores  [][]float32 `json:"scores"`
}

type tokens struct {
	IDs       []int32    `json:"ids"`
	Special   []bool     `json:"special"`
	Offsets   [][2]int32 `json:"offsets"`
	Truncated int        `json:"truncated"`
}

// New starts the program and asks it for its model, and for the vectors of encoder.ProbeTexts. A program that
// does not start or does not answer is encoder.ErrUnavailable. A program that answers wrongly is
// encoder.ErrContract.
func New(ctx context.Context, o Options) (encoder.Encoder, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, fmt.Errorf("%w: no program; write exec:COMMAND, for example \"exec:python3 encoder.py\"", encoder.ErrUnavailable)
	}
	if o.BatchTexts < 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("%w: batches of %d texts and %s a request; use positive numbers", encoder.ErrUnavailable, o.BatchTexts, o.Timeout)
	}
	o.BatchTexts = cmp.Or(o.BatchTexts, 64)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	p := &program{o: o, turn: make(chan struct{}, 1)}
	a, err := p.ask(ctx, request{Op: "info"})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	e := &model{program: p, info: a.info}
	if e.info.Model == "" || e.info.Dim < 1 || e.info.Vocab < 0 || e.info.Vocab > math.MaxInt32 || e.info.MaxTokens < 0 {
		err = fmt.Errorf("%w: %s tells model %q, dim %d, vocab %d and max_tokens %d; it must give a name and a dimension from 1", encoder.ErrContract, o.Command[0], e.info.Model, e.info.Dim, e.info.Vocab, e.info.MaxTokens)
		return nil, errors.Join(err, p.close())
	}
	out, err := e.Encode(ctx, encoder.Passage, encoder.Texts(encoder.ProbeTexts[:]...), encoder.NeedDense)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	for i := range out {
		e.probe[i] = out[i].Dense
	}
	return e, nil
}

// model is the encoder.
type model struct {
	program *program
	info    info
	probe   [4][]float32

	mu     sync.Mutex
	failed error // of Tokenize, which cannot tell; the next Encode does
}

// Encode implements encoder.Encoder.
func (e *model) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if err := e.program.err(ctx); err != nil {
		return nil, err
	}
	switch {
	case need&encoder.NeedHidden != 0 && !e.info.Hidden:
		return nil, fmt.Errorf("encoder %s: %w; leave out llr and token states, or let its program say \"hidden\": true and answer \"states\"", e.info.Model, encoder.ErrNoHidden)
	case need&encoder.NeedLogits != 0 && !e.info.Logits:
		return nil, fmt.Errorf("encoder %s: %w; leave out mlm, or let its program say \"logits\": true and answer \"scores\"", e.info.Model, encoder.ErrNoLogits)
	}
	e.mu.Lock()
	err := e.failed
	e.failed = nil
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, fmt.Errorf("encoder %s: %w", e.info.Model, err)
	}
	out := make([]encoder.Output, 0, len(texts))
	for at := 0; at < len(texts); at += e.program.o.BatchTexts {
		part, err := e.batch(ctx, role, texts[at:min(at+e.program.o.BatchTexts, len(texts))], need)
		if err != nil {
			return nil, fmt.Errorf("encoder %s: %w", e.info.Model, err)
		}
		out = append(out, part...)
	}
	return out, nil
}

func (e *model) batch(ctx context.Context, role encoder.Role, texts []string, need encoder.Need) ([]encoder.Output, error) {
	r := request{Op: "encode", Role: role.String(), Texts: texts}
	for n, name := range map[encoder.Need]string{encoder.NeedDense: "dense", encoder.NeedHidden: "hidden", encoder.NeedLogits: "logits"} {
		if need&n != 0 {
			r.Need = append(r.Need, name)
		}
	}
	if e.info.Vocab > 0 {
		r.Need = append(r.Need, "tokens")
	}
	out := make([]encoder.Output, len(texts))
	if len(r.Need) == 0 {
		return out, nil
	}
	a, err := e.program.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	for what, n := range map[string]struct{ got, want int }{
		"vectors": {len(a.Vectors), wanted(need&encoder.NeedDense != 0, len(texts))}, "tokens": {len(a.Tokens), wanted(e.info.Vocab > 0, len(texts))},
		"states": {len(a.States), wanted(need&encoder.NeedHidden != 0, len(texts))}, "scores": {len(a.Scores), wanted(need&encoder.NeedLogits != 0, len(texts))},
	} {
		if n.got < n.want {
			return nil, fmt.Errorf("%w: %d texts have %d %s in the answer; give one a text", encoder.ErrContract, n.want, n.got, what)
		}
	}
	for i := range out {
		if err := e.take(&out[i], a, i, texts[i], need); err != nil {
			return nil, &encoder.TextError{Text: i, Err: err}
		}
	}
	return out, nil
}

func wanted(is bool, n int) int {
	if is {
		return n
	}
	return 0
}

// take checks one text of an answer, and copies it.
func (e *model) take(out *encoder.Output, a *answer, i int, text string, need encoder.Need) error {
	if e.info.Vocab > 0 {
		var err error
		if out.Tokens, err = a.Tokens[i].of(text, e.info.Vocab); err != nil {
			return err
		}
	}
	if need&encoder.NeedDense != 0 {
		if err := encoder.CheckDense(a.Vectors[i], e.info.Dim); err != nil {
			return err
		}
		out.Dense = scaled(a.Vectors[i])
	}
	if need&encoder.NeedHidden != 0 {
		if got, want := len(a.States[i]), len(out.Tokens.IDs)*e.info.Dim; got != want {
			return fmt.Errorf("%w: %d numbers of token states, want %d: dim for each token", encoder.ErrContract, got, want)
		}
		out.Hidden = a.States[i]
	}
	if need&encoder.NeedLogits != 0 {
		if got := len(a.Scores[i]); got != e.info.Vocab {
			return fmt.Errorf("%w: %d logits for a vocabulary of %d", encoder.ErrContract, got, e.info.Vocab)
		}
		out.Logits = a.Scores[i]
	}
	return nil
}

// scaled returns v scaled to length 1.
func scaled(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i, x := range v {
		v[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return v
}

// of converts the tokens of a text, whose offsets count characters.
func (t tokens) of(text string, vocab int) (encoder.Tokens, error) {
	n := len(t.IDs)
	if len(t.Special) != n || len(t.Offsets) != n || t.Truncated < 0 {
		return encoder.Tokens{}, fmt.Errorf("%w: %d token ids, %d special and %d offsets; give as many of each", encoder.ErrContract, n, len(t.Special), len(t.Offsets))
	}
	var bytes []int32 // where each character begins, and the end
	for at := range text {
		bytes = append(bytes, int32(at))
	}
	bytes = append(bytes, int32(len(text)))
	out := encoder.Tokens{IDs: t.IDs, Special: t.Special, Truncated: t.Truncated, Offsets: make([]encoder.Span, n)}
	for i, o := range t.Offsets {
		if t.IDs[i] < 0 || int(t.IDs[i]) >= vocab {
			return encoder.Tokens{}, fmt.Errorf("%w: token id %d of a vocabulary of %d", encoder.ErrContract, t.IDs[i], vocab)
		}
		if o[0] < 0 || o[0] > o[1] || int(o[1]) >= len(bytes) {
			return encoder.Tokens{}, fmt.Errorf("%w: a token from character %d to %d of a text of %d", encoder.ErrContract, o[0], o[1], len(bytes)-1)
		}
		if o[0] < o[1] {
			out.Offsets[i] = encoder.Span{Start: bytes[o[0]], End: bytes[o[1]]}
		}
	}
	return out, nil
}

// Tokenize implements encoder.Encoder. A failure is returned by the next Encode.
func (e *model) Tokenize(role encoder.Role, text string) encoder.Tokens {
	if e.info.Vocab == 0 {
		return encoder.Tokens{}
	}
	out, err := e.batch(context.Background(), role, []string{text}, 0)
	if err != nil {
		e.mu.Lock()
		e.failed = fmt.Errorf("encoder %s: reading the tokens of a text: %w", e.info.Model, err)
		e.mu.Unlock()
		return encoder.Tokens{}
	}
	return out[0].Tokens
}

// Dim implements encoder.Encoder.
func (e *model) Dim() int { return e.info.Dim }

// VocabSize implements encoder.Encoder.
func (e *model) VocabSize() int { return e.info.Vocab }

// Fingerprint implements encoder.Encoder.
func (e *model) Fingerprint() encoder.Fingerprint {
	fp := encoder.Fingerprint{Model: e.info.Model, Precision: "fp32", MaxTokens: e.info.MaxTokens, Dim: e.info.Dim, VocabSize: e.info.Vocab,
		QueryPrefix: e.info.QueryPrefix, PassagePrefix: e.info.PassagePrefix, Probe: e.probe}
	if e.info.Vocab > 0 {
		fp.Tokenizer = "of " + e.info.Model
	}
	return fp
}

// Close implements encoder.Encoder: it ends the program. A second call returns encoder.ErrClosed.
func (e *model) Close() error { return e.program.close() }
