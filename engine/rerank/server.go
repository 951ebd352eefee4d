package rerank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/internal/rest"
)

// ErrServer is wrapped if a server cannot be reached, refuses a call, or sends a wrong response.
var ErrServer = errors.New("rerank server")

// KeyVariable is the default environment variable for the key.
const KeyVariable = "RERANK_API_KEY"

// Options are the options of a Server. Only URL is required.
type Options struct {
	// URL is the address of the endpoint, such as https://api.jina.ai/v1/rerank. If it has no path,
	// /rerank is appended.
	URL string
	// Model is the model's name on the server. "" leaves the choice to the server.
	Model string
	// Shape is the format of requests and responses. "" means Cohere if Model is set, else TEI, whose
	// servers each have one model.
	Shape Shape
	// Key is the API key. If it is empty, the key comes from the environment variable KeyEnv; "" means
	// KeyVariable. Without a key none is sent.
	Key, KeyEnv string
	// BatchTexts is the maximum number of texts per call. 0 means 1,000 for Cohere and 32 for TEI, the
	// default limits of these servers. Texts of different calls are scored independently, which is
	// right for every server that scores one text at a time.
	BatchTexts int
	// Concurrency is the maximum number of concurrent calls over all searches. 0 means 8.
	Concurrency int
	// Retries is how often a call is repeated that got status 429 or 5xx, or no answer. 0 means 3, a
	// negative value means never.
	Retries int
	// Timeout bounds one attempt. 0 means 30 s.
	Timeout time.Duration
	// HTTP makes the calls. nil means a client that follows no redirects.
	HTTP *http.Client
}

// Server is a reranker on a server. It is safe for concurrent use.
type Server struct {
	o     Options
	shape shape
	post  rest.Client
	calls chan struct{} // holds a value for each call in progress
}

// New returns the reranker of a server. It does not contact the server: a wrong key or a missing
// server is an error of Rerank, which wraps ErrServer. Invalid options are an error that names them.
func New(o Options) (*Server, error) {
	if o.Shape == "" {
		o.Shape = TEI
		if o.Model != "" {
			o.Shape = Cohere
		}
	}
	s := &Server{o: o}
	switch o.Shape {
	case Cohere:
		s.shape = cohereShape
	case TEI:
		s.shape = teiShape
	default:
		return nil, fmt.Errorf("rerank: shape %q; use %s or %s", o.Shape, Cohere, TEI)
	}
	if o.BatchTexts < 0 || o.Concurrency < 0 || o.Concurrency > 1024 || o.Timeout < 0 {
		return nil, fmt.Errorf("rerank: batches of %d texts, %d calls at a time, %s a call; use positive numbers, at most 1,024 calls",
			o.BatchTexts, o.Concurrency, o.Timeout)
	}
	if o.Shape == TEI && o.Model != "" {
		return nil, fmt.Errorf("rerank: model %q for a server of shape %s, which has one model alone; leave it out, or use shape %s", o.Model, TEI, Cohere)
	}
	url, err := endpoint(o.URL)
	if err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	key, hint, err := rest.Key(o.Key, o.KeyEnv, KeyVariable, "rerank")
	if err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	s.o.BatchTexts = cmp.Or(o.BatchTexts, s.shape.batch)
	s.calls = make(chan struct{}, cmp.Or(o.Concurrency, 8))
	s.post = rest.Client{
		Err: ErrServer, URLs: []string{url}, Key: key, KeyHint: hint,
		Nobody: "check the address, and that the server runs", Retries: cmp.Or(o.Retries, 3), Timeout: cmp.Or(o.Timeout, 30*time.Second),
		HTTP: o.HTTP, Refusal: refusal,
	}
	return s, nil
}

// endpoint returns the URL to which requests are posted.
func endpoint(url string) (string, error) {
	whole, err := rest.CheckURL(url, "")
	if err != nil {
		return "", err
	}
	_, address, _ := strings.Cut(whole, "://")
	if _, path, _ := strings.Cut(address, "/"); path == "" {
		return rest.CheckURL(url, "rerank")
	}
	return url, nil // with the slash that may stand at its end
}

// Name returns the model, or the address if no model is set.
func (s *Server) Name() string { return cmp.Or(s.o.Model, s.post.URLs[0]) }

// Rerank implements engine.Reranker by concurrent calls of up to Options.BatchTexts texts. The first
// failure cancels the others.
func (s *Server) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	out := make([]float64, len(texts))
	g, ctx := errgroup.WithContext(ctx)
	for from := 0; from < len(texts); {
		select {
		case s.calls <- struct{}{}:
		case <-ctx.Done():
			if err := g.Wait(); err != nil {
				return nil, err
			}
			return nil, ctx.Err()
		}
		at, to := from, min(from+s.o.BatchTexts, len(texts))
		g.Go(func() error {
			defer func() { <-s.calls }()
			return s.call(ctx, out[at:to], query, texts[at:to])
		})
		from = to
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// call makes one call.
func (s *Server) call(ctx context.Context, out []float64, query string, texts []string) error {
	limit := int64(1 << 20) // of an answer, in which some servers send the texts back
	sent := make([]string, len(texts))
	for i, t := range texts {
		if sent[i] = t; t == "" {
			sent[i] = " " // servers refuse a text of nothing
		}
		limit += 6*int64(len(t)) + 1024
	}
	answer := s.shape.answer()
	if err := s.post.Post(ctx, s.shape.request(s.o.Model, query, sent), answer, limit); err != nil {
		return err
	}
	if err := place(out, answer.scores()); err != nil {
		return fmt.Errorf("%w: POST %s: %w", ErrServer, s.post.URLs[0], err)
	}
	return nil
}

// place puts scores at their indices; each index must occur once.
func place(out []float64, scores []scored) error {
	if len(scores) != len(out) {
		return fmt.Errorf("the answer has %d scores for %d texts", len(scores), len(out))
	}
	taken := make([]bool, len(out))
	for i, s := range scores {
		switch {
		case s.index == nil || s.score == nil:
			return fmt.Errorf("result %d of the answer has no index or no score", i)
		case *s.index < 0 || *s.index >= len(out) || taken[*s.index]:
			return fmt.Errorf("result %d of the answer is said to be that of text %d, of %d, or is there twice", i, *s.index, len(out))
		}
		taken[*s.index] = true
		out[*s.index] = *s.score
	}
	return nil
}
