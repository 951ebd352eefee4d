// Package nodes calls servers that stand in for one another. Start with [New] and [Client.Call]: a call that
// one node does not answer goes to the next node, and is tried again until Options.Patience ends, so the
// server may do it twice. A Client is safe for concurrent use. Its errors are a *Failure or wrap Options.Err,
// and hold no key.
package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/internal/secret"
)

// Options shape a Client. Nodes, Patience and Err are required.
type Options struct {
	Nodes       []string      // base URLs
	Scheme, Key string        // of the header Authorization; without a Key none is sent, and no error holds it
	Patience    time.Duration // how long a call is tried again while no node answers it
	HTTP        *http.Client  // nil means one of its own
	Err         error         // is wrapped by every failure of a server, or of the way to it
	// Refusal reads the body of an answer that is an error; "" for what it does not tell.
	Refusal func(body []byte) (kind, reason string)
	// Passes says of an answer that is an error whether another try may succeed, beside
	// those of status 429, 502, 503 and 504; nil means no other.
	Passes func(f *Failure) bool
}

// Client calls one node after the other until one answers. It is safe for concurrent use.
type Client struct {
	o    Options
	next atomic.Uint32 // the node that the next call begins with
}

// New makes a Client. It calls nobody, and fails for nodes that are no base URLs and for a key that is none.
func New(o Options) (*Client, error) {
	if len(o.Nodes) == 0 {
		return nil, errors.New("no node; give one like http://127.0.0.1:8080")
	}
	if o.Key = strings.TrimSpace(o.Key); !secret.Plain(o.Key) {
		return nil, errors.New("a key that is none: it holds a blank, a line break or a letter beyond ASCII")
	}
	for _, n := range o.Nodes {
		u, err := url.Parse(n)
		switch {
		case err == nil && u.User != nil, strings.Contains(n, "@"): // a password may hold what ends a host
			return nil, errors.New("a node with a user or a password in its URL; give an API key")
		case err != nil:
			return nil, errors.New("a node that is no URL; use one like http://host:8080")
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
			return nil, fmt.Errorf("node %q; use a URL like http://host:8080", secret.URL(n))
		}
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{
			// A redirection would carry texts, and the key, to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
				TLSHandshakeTimeout: 10 * time.Second,
				MaxIdleConnsPerHost: 64,
				IdleConnTimeout:     90 * time.Second,
				DisableCompression:  true, // which takes longer than the way between two machines of a cluster
			},
		}
	}
	o.HTTP = secret.Client(o.HTTP)
	return &Client{o: o}, nil
}

// Close gives up connections that nobody uses.
func (c *Client) Close() { c.o.HTTP.CloseIdleConnections() }

// Failure is an error that a server gave.
type Failure struct {
	Status int
	Kind   string // what the server calls it, or the name of the status
	Reason string
	Where  string
	Err    error // Options.Err
}

// Error implements error.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %v: status %d: %s: %s", f.Where, f.Err, f.Status, f.Kind, f.Reason)
}

// Unwrap returns Options.Err.
func (f *Failure) Unwrap() error { return f.Err }

// Status is that of an error of a server, 0 for another error.
func Status(err error) int {
	var f *Failure
	if errors.As(err, &f) {
		return f.Status
	}
	return 0
}

// Bounds of answers and of calls.
const (
	largestAnswer = 1 << 30
	oneCall       = time.Minute // that a node has to answer
	longestWait   = 2 * time.Second
	firstWait     = 50 * time.Millisecond
)

// Decoder is an answer that reads itself, faster than encoding/json does.
type Decoder interface{ Decode(answer []byte) error }

// Call sends in as JSON, bytes as lines of JSON, and decodes the answer into out, nil for an
// answer that nobody reads. A node that does not answer, or answers 429, 502, 503 or 504, is followed
// by the next, and by itself again, until patience ends. So what in asks for may be done twice.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	kind := "application/json"
	switch v := in.(type) {
	case nil:
	case []byte:
		body, kind = v, "application/x-ndjson"
	default:
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%w: %v", c.o.Err, err)
		}
	}
	first := c.next.Add(1)
	return c.Retry(ctx, func(try int) (again bool, err error) {
		for i := range c.o.Nodes { // another node may answer at once
			node := c.o.Nodes[(int(first%uint32(len(c.o.Nodes)))+try+i)%len(c.o.Nodes)]
			if again, err = c.once(ctx, method, strings.TrimSuffix(node, "/")+path, kind, body, out); !again || ctx.Err() != nil {
				break
			}
		}
		return again, err
	})
}

// Retry is Retry with the client's patience.
func (c *Client) Retry(ctx context.Context, do func(try int) (again bool, err error)) error {
	return Retry(ctx, c.o.Patience, do)
}

// Retry calls do, with the number of the try from 0, until it succeeds, says that no other
// try can, or patience ends. It waits in between. An end of ctx is its error.
func Retry(ctx context.Context, patience time.Duration, do func(try int) (again bool, err error)) error {
	began, wait := time.Now(), firstWait
	for try := 0; ; try++ {
		again, err := do(try)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !again:
			return err
		case time.Since(began) > patience:
			return fmt.Errorf("%w; gave up after %d tries in %s", err, try+1, time.Since(began).Round(time.Second))
		}
		t := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		wait = min(2*wait, longestWait)
	}
}

// once makes one call. again says that another one may succeed.
func (c *Client) once(ctx context.Context, method, to, kind string, body []byte, out any) (again bool, err error) {
	where := method + " " + to
	failed := func(err error) error {
		return secret.Error(fmt.Errorf("%s: %w: %w", where, c.o.Err, err), c.o.Key)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, oneCall, fmt.Errorf("no answer within %s", oneCall))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return false, failed(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "lexsem")
	if c.o.Key != "" {
		req.Header.Set("Authorization", c.o.Scheme+" "+c.o.Key)
	}
	res, err := c.o.HTTP.Do(req)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the URL is named once
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return true, failed(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, largestAnswer+1))
	switch {
	case err != nil:
		return true, failed(fmt.Errorf("the answer breaks off: %w", err))
	case len(data) > largestAnswer:
		return false, failed(fmt.Errorf("an answer of more than %d bytes", largestAnswer))
	case res.StatusCode/100 != 2:
		f := &Failure{Status: res.StatusCode, Kind: http.StatusText(res.StatusCode), Where: where, Err: c.o.Err}
		if kind, reason := c.o.Refusal(data); kind != "" || reason != "" {
			f.Reason = Printable(secret.Hide(reason, c.o.Key))
			if kind != "" {
				f.Kind = Printable(secret.Hide(kind, c.o.Key))
			}
		}
		if f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden {
			f.Reason += "; give an API key that may do this"
		}
		return f.Status == 429 || f.Status == 502 || f.Status == 503 || f.Status == 504 || c.o.Passes != nil && c.o.Passes(f), f
	}
	if out == nil {
		return false, nil
	}
	if d, ok := out.(Decoder); ok {
		err = d.Decode(data)
	} else {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return false, failed(fmt.Errorf("the answer is not what it should be: %w", err))
	}
	return false, nil
}

// Printable is what of a server's words may stand in an error.
func Printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > 500 {
		s = strings.ToValidUTF8(s[:500], "") + "…"
	}
	return s
}
